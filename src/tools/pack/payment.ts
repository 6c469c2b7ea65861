/**
 * Paying at a bank that keeps keys.
 *
 * @module
 */
import type { Tool } from "../../tool/mod.ts";
import { type KeyedTarget, keyedTool } from "./keyed_target.ts";

/** What a bank is asked to do. */
export interface Payment {
  readonly to: string;
  readonly amount: number;
}

/**
 * Makes the tool `pay`.
 *
 * @example
 * ```ts
 * import type { KeyedTarget } from "./keyed_target.ts";
 * import { payTool } from "./payment.ts";
 *
 * const bank: KeyedTarget<unknown> = {
 *   perform: () => Promise.resolve({ state: "done", receipt: "paid" }),
 *   close: () => Promise.resolve({ state: "closed" }),
 * };
 * if (payTool(bank).effectOf({ to: "alice", amount: 10 }) !== "keyed") throw new Error("unreachable");
 * ```
 */
export function payTool(bank: KeyedTarget<Payment>): Tool {
  return keyedTool({
    name: "pay",
    description: "Pays an amount to somebody.",
    parameters: {
      type: "object",
      properties: { to: { type: "string" }, amount: { type: "number", exclusiveMinimum: 0 } },
      required: ["to", "amount"],
    },
    reason: ({ to, amount }) => `pay ${amount} to ${JSON.stringify(to)}`,
    target: bank,
  });
}
