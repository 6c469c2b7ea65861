/**
 * A target that keeps keys: it does a thing at most once for each key, and it can close a key for ever.
 *
 * Closing is what makes "absent" a promise. A lookup that finds nothing proves nothing while a request may still be under way; but
 * a request that finds its key closed is refused, however late it comes.
 *
 * @see architecture "Order at resume"
 * @module
 */
import type { EffectClass, JsonObject, JsonValue } from "../../event/mod.ts";
import {
  defineTool,
  type LookupAnswer,
  messageOf,
  neverHappens,
  outcomeUnknown,
  type Tool,
  ToolError,
  type ToolOutput,
} from "../../tool/mod.ts";
import { neverSent } from "../never_sent.ts";

/** What a target says of a key. */
export type KeyState =
  /** It is done, now or before. The receipt says what was done. */
  | { readonly state: "done"; readonly receipt: string }
  /** Nothing was done under this key, and nothing ever will be. */
  | { readonly state: "closed" };

/** What a target says to an order. */
export type OrderAnswer =
  | KeyState
  /** It was looked at and not done; the key stays open. */
  | { readonly state: "refused"; readonly reason: string };

/** A target that keeps keys. `Order` is what it is asked to do. */
export interface KeyedTarget<Order> {
  /**
   * Does it, unless it was done under this key before.
   *
   * @throws whatever kept the answer away: it may have been done
   */
  perform(key: string, order: Order, signal: AbortSignal): Promise<OrderAnswer>;
  /**
   * Closes the key if nothing was done under it; the target decides that in one step with `perform`. `unknown` when it cannot
   * tell.
   *
   * @throws whatever kept the answer away: the key may be closed
   */
  close(key: string, order: Order, signal: AbortSignal): Promise<KeyState | { readonly state: "unknown" }>;
}

/** A tool over such a target. */
export interface KeyedToolOptions<Order> {
  /** See `ToolTraits`. */
  readonly name: string;
  /** For the model. */
  readonly description: string;
  /** A JSON Schema that takes nothing but an `Order`. */
  readonly parameters: JsonObject;
  /** Default "keyed": the target deduplicates. */
  readonly effect?: EffectClass;
  /** For the person who is asked. */
  readonly reason: (order: Order) => string;
  /** Who does it. */
  readonly target: KeyedTarget<Order>;
}

/** Code of an order that the target looked at and did not carry out. */
export const REFUSED_BY_TARGET = "REFUSED_BY_TARGET";

/**
 * Makes a tool that can always say what became of a call, for as long as its target answers.
 *
 * @throws as `defineTool`
 *
 * @example
 * ```ts
 * import { keyedTool, type KeyedTarget } from "./keyed_target.ts";
 *
 * function lampTool(target: KeyedTarget<unknown>) {
 *   return keyedTool({ name: "lamp", description: "Lights it.", parameters: {}, reason: () => "light the lamp", target });
 * }
 * ```
 */
export function keyedTool<Order>(options: KeyedToolOptions<Order>): Tool {
  const { name, description, parameters, effect = "keyed", reason, target } = options;
  // The schema was checked: what it takes is an order.
  const orderIn = (args: JsonValue) => args as Order;
  return defineTool({
    name,
    description,
    parameters,
    effect,
    permission: (args) => ({ decision: "ask", reason: reason(orderIn(args)) }),
    execute: async (args, { effectKey, signal }) => {
      let answer: OrderAnswer;
      try {
        answer = await target.perform(effectKey, orderIn(args), signal);
      } catch (error) {
        if (error instanceof ToolError || neverSent(error)) throw error;
        throw outcomeUnknown(`no answer came (${messageOf(error)}); it may have been done all the same`, error);
      }
      switch (answer.state) {
        case "done":
          return answer.receipt;
        case "refused":
          throw new ToolError(REFUSED_BY_TARGET, answer.reason);
        case "closed":
          throw neverHappens(
            "nothing was done: the key of this call was closed when its outcome was looked up; call it again",
          );
      }
    },
    reconcile: async ({ effectKey, args, signal }): Promise<LookupAnswer<ToolOutput>> => {
      const found = await target.close(effectKey, orderIn(args), signal);
      switch (found.state) {
        case "done":
          return { verdict: "happened", result: found.receipt };
        case "closed":
          return { verdict: "absent", note: "the key is closed at the target" };
        case "unknown":
          return { verdict: "undecidable", note: "the target cannot tell" };
      }
    },
  });
}
