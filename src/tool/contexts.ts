/**
 * Additional contexts: what a tool or a hook wants the model to read at its next step, beside the results.
 *
 * @module
 */
import { type Block, checkAppendable, type Message, type MessageSource } from "../event/mod.ts";
import type { Random } from "../runtime/runtime.ts";
import { newMessageId } from "./ids.ts";

/** How many messages one call may add. */
export const CONTEXTS_MAX = 64;

/** A message for the model's next step, beside the results. */
export type AdditionalContext = string | {
  readonly content: string | readonly Block[];
  /** Default: the plugin "holdfast". */
  readonly source?: MessageSource;
};

/**
 * The message that a context becomes, deeply frozen.
 *
 * @throws {TypeError} when it could not be logged
 *
 * @example
 * ```ts
 * import { contextMessage } from "./contexts.ts";
 *
 * const message = contextMessage("the disk is nearly full", { bytes: (size) => new Uint8Array(size) });
 * if (message.role !== "user" || message.source.kind !== "plugin") throw new Error("unreachable");
 * ```
 */
export function contextMessage(context: AdditionalContext, random: Random): Message {
  const { content, source } = typeof context === "string" ? { content: context, source: undefined } : context;
  const message = {
    role: "user",
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    source: source ?? { kind: "plugin", plugin: "holdfast", form: "context" },
    id: newMessageId(random),
  };
  return checkAppendable({ type: "user/message", data: message, surfaceOp: "append" }, 0, 0).data as unknown as Message;
}

/**
 * The messages of a whole list.
 *
 * @throws {TypeError} when it is no list, or one could not be logged
 * @throws {RangeError} over CONTEXTS_MAX
 *
 * @example
 * ```ts
 * import { contextMessages } from "./contexts.ts";
 *
 * if (contextMessages(undefined, { bytes: (size) => new Uint8Array(size) }).length !== 0) throw new Error("unreachable");
 * ```
 */
export function contextMessages(contexts: readonly AdditionalContext[] | undefined, random: Random): Message[] {
  if (contexts === undefined) return [];
  if (!Array.isArray(contexts)) throw new TypeError("Cannot add contexts: found no list");
  checkCount(contexts.length);
  return contexts.map((context) => contextMessage(context, random));
}

/**
 * @throws {RangeError} over CONTEXTS_MAX
 *
 * @example
 * ```ts
 * import { checkCount } from "./contexts.ts";
 *
 * checkCount(1);
 * ```
 */
export function checkCount(count: number): void {
  if (count > CONTEXTS_MAX) throw new RangeError(`Cannot add contexts: one call may add ${CONTEXTS_MAX}`);
}
