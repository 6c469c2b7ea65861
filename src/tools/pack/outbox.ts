/**
 * Sending mail through an outbox: a list of letters, one for each key, from which somebody else posts.
 *
 * The effect is the entry in the list: whoever posts takes each entry once. A key is closed by an entry that says "never".
 *
 * @module
 */
import type { Tool } from "../../tool/mod.ts";
import { type KeyedTarget, keyedTool } from "./keyed_target.ts";

/** What is posted. */
export interface Letter {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Makes the tool `send_mail`.
 *
 * @example
 * ```ts
 * import type { KeyedTarget } from "./keyed_target.ts";
 * import { sendMailTool } from "./outbox.ts";
 *
 * const outbox: KeyedTarget<unknown> = {
 *   perform: () => Promise.resolve({ state: "done", receipt: "queued" }),
 *   close: () => Promise.resolve({ state: "closed" }),
 * };
 * if (sendMailTool(outbox).reconcile === null) throw new Error("unreachable");
 * ```
 */
export function sendMailTool(outbox: KeyedTarget<Letter>): Tool {
  return keyedTool({
    name: "send_mail",
    description: "Sends one e-mail.",
    parameters: {
      type: "object",
      properties: { to: { type: "string" }, subject: { type: "string" }, text: { type: "string" } },
      required: ["to", "subject", "text"],
    },
    reason: ({ to, subject }) => `send mail to ${JSON.stringify(to)}: ${JSON.stringify(subject)}`,
    target: outbox,
  });
}
