/**
 * How a call ended, as the model and the log read it.
 *
 * @see execution §3.5, §3.6
 * @module
 */
import { HoldfastError } from "../errors.ts";
import {
  type Block,
  freezeJson,
  type JsonValue,
  type Message,
  type ResultError,
  snapshotJson,
  snapshotOf,
} from "../event/mod.ts";

/** The tool does not exist. */
export const UNKNOWN_TOOL = "UNKNOWN_TOOL";
/** The arguments are not what the tool takes. */
export const INVALID_ARGS = "INVALID_ARGS";
/** The body gave back something that cannot be logged. It has run. */
export const INVALID_TOOL_OUTPUT = "INVALID_TOOL_OUTPUT";
/** The turn was cancelled after the body began. */
export const ABORTED = "ABORTED";
/** The turn was cancelled before the body began: it never ran. */
export const ABORTED_BEFORE_DISPATCH = "ABORTED_BEFORE_DISPATCH";

/** The largest result that is logged, as JSON, in UTF-16 units. */
export const OUTPUT_SIZE_MAX: number = 8 * 1024 * 1024;

/** The largest result that a body may give back, as JSON, in UTF-16 units: a reviewer may keep a part of it elsewhere. */
export const RETURNED_SIZE_MAX: number = 128 * 1024 * 1024;

/** What a body gives back: a text, or blocks with facts for the log beside them. */
export type ToolOutput = string | { readonly content: readonly Block[]; readonly meta?: JsonValue };

/** How one call ended. Deeply frozen. */
export interface ToolOutcome {
  /** Whether it failed. */
  readonly isError: boolean;
  /** What the model reads. Of a failure one text, `Error: ` and the message. */
  readonly content: readonly Block[];
  /** Of a failure that has a code. */
  readonly error?: ResultError;
  /** Facts for whoever shows the call. Logged, and never sent to the model. */
  readonly meta?: JsonValue;
  /** What the body returned, of a success of a tool with an output schema. Never logged. */
  readonly value?: JsonValue;
  /** Messages for the model's next step. */
  readonly additionalContexts?: readonly Message[];
  /** A success after which the turn ends with this step. */
  readonly concludesTurn?: true;
}

/**
 * A failure that a tool reports with a stable code. The code is logged; the message is what the model reads.
 *
 * @example
 * ```ts
 * import { failure, ToolError } from "./outcome.ts";
 *
 * if (failure(new ToolError("QUOTA", "no calls left")).error?.code !== "QUOTA") throw new Error("unreachable");
 * ```
 */
export class ToolError extends Error {
  /** Logged beside the result; what a host can act on. */
  readonly code: string;

  /**
   * Makes a failure with a code of the tool's own.
   *
   * @param options.name how the log names the kind of error; default "ToolError"
   */
  constructor(code: string, message: string, options: { readonly name?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.name = options.name ?? "ToolError";
  }
}

/**
 * The outcome of a body that returned.
 *
 * @example
 * ```ts
 * import { success } from "./outcome.ts";
 *
 * if (success("done").content.length !== 1) throw new Error("unreachable");
 * if (success({ content: [{ type: "nothing" } as never] }).error?.code !== "INVALID_TOOL_OUTPUT") throw new Error("unreachable");
 * ```
 */
export function success(output: ToolOutput): ToolOutcome {
  try {
    const { content, meta } = typeof output === "string" ? { content: [text(output)], meta: undefined } : output;
    const blocks = snapshotOf(content, "the content of a result");
    const problem = contentProblem(blocks);
    if (problem !== null) return failureOf(INVALID_TOOL_OUTPUT, "ToolError", problem);
    const kept = meta === undefined ? {} : { meta: snapshotJson(meta, "the meta of a result") };
    if (isOver({ content: blocks, ...kept }, RETURNED_SIZE_MAX)) {
      return failureOf(
        INVALID_TOOL_OUTPUT,
        "ToolError",
        `the tool ran; its result is over ${RETURNED_SIZE_MAX} characters`,
      );
    }
    return Object.freeze({ isError: false, content: blocks, ...kept });
  } catch (error) {
    return failureOf(
      INVALID_TOOL_OUTPUT,
      "ToolError",
      `the tool ran; its result cannot be logged: ${messageOf(error)}`,
    );
  }
}

/**
 * Whether a result is larger than so many UTF-16 units, as JSON.
 *
 * @example
 * ```ts
 * import { isOver } from "./outcome.ts";
 *
 * if (isOver({ content: [{ type: "text", text: "done" }] }, 1000)) throw new Error("unreachable");
 * if (!isOver({ content: [{ type: "text", text: "\n".repeat(600) }] }, 1000)) throw new Error("unreachable");
 * ```
 */
export function isOver({ content, meta }: Pick<ToolOutcome, "content" | "meta">, sizeMax: number): boolean {
  let units = 0;
  let isText = meta === undefined;
  for (const block of content) {
    if (block.type === "text") units += block.text.length;
    else isText = false;
  }
  if (units > sizeMax) return true;
  // Most results need not be turned into JSON to be measured: a unit becomes six at most.
  if (isText && (units + content.length * BLOCK_UNITS_MAX) * 6 <= sizeMax) return false;
  return JSON.stringify([content, meta ?? null]).length > sizeMax;
}

/**
 * The outcome of a call that failed with whatever was thrown.
 *
 * @example
 * ```ts
 * import { failure } from "./outcome.ts";
 *
 * if (failure("odd").content[0]?.type !== "text") throw new Error("unreachable");
 * ```
 */
export function failure(error: unknown): ToolOutcome {
  const coded = codeOf(error);
  if (coded !== null) return failureOf(coded.code, coded.name, messageOf(error));
  return freezeJson({ isError: true, content: [text(`Error: ${messageOf(error)}`)] });
}

/** Name and code of an error of ours; `null` for any other. Never throws: what is thrown can be a proxy that does. */
function codeOf(error: unknown): ResultError | null {
  try {
    if (!(error instanceof ToolError || error instanceof HoldfastError)) return null;
    const { code, name } = error;
    return typeof code === "string" ? { name: String(name), code } : null;
  } catch {
    return null;
  }
}

/**
 * The outcome of a call that failed with a code of ours.
 *
 * @example
 * ```ts
 * import { failureOf, UNKNOWN_TOOL } from "./outcome.ts";
 *
 * if (!failureOf(UNKNOWN_TOOL, "UnknownToolError", "no such tool").isError) throw new Error("unreachable");
 * ```
 */
export function failureOf(code: string, name: string, message: string): ToolOutcome {
  return freezeJson({ isError: true, content: [text(`Error: ${message}`)], error: { name, code } });
}

/**
 * The turn was cancelled before the body began. The text is the format's.
 *
 * @example
 * ```ts
 * import { abortedBeforeDispatch } from "./outcome.ts";
 *
 * if (abortedBeforeDispatch().error?.code !== "ABORTED_BEFORE_DISPATCH") throw new Error("unreachable");
 * ```
 */
export function abortedBeforeDispatch(): ToolOutcome {
  return failureOf(ABORTED_BEFORE_DISPATCH, "AbortError", "tool call aborted before dispatch");
}

/**
 * What an error says, through its causes. Never throws, whatever it is given.
 *
 * @example
 * ```ts
 * import { messageOf } from "./outcome.ts";
 *
 * const error = new Error("cannot send", { cause: new Error("no route") });
 * if (messageOf(error) !== "cannot send: no route") throw new Error("unreachable");
 * ```
 */
export function messageOf(error: unknown): string {
  const parts: string[] = [];
  try {
    let current = error;
    for (let depth = 0; depth < CAUSES_MAX && current !== undefined && current !== null; depth++) {
      const part = current instanceof Error ? String(current.message) || current.name : String(current);
      // Wrappers often repeat what they wrap.
      if (!parts.some((earlier) => earlier.includes(part))) parts.push(part);
      current = current instanceof Error ? current.cause : undefined;
    }
  } catch {
    // A thrown value whose getters throw: what was read before is all there is.
  }
  const message = parts.join(": ");
  return message === "" ? "unknown error" : message.slice(0, MESSAGE_SIZE_MAX);
}

/** More than the JSON of a text block has around its text. */
const BLOCK_UNITS_MAX = 32;

const CAUSES_MAX = 8;
const MESSAGE_SIZE_MAX = 16_384;

function text(value: string): Block {
  return { type: "text", text: value };
}

/** Says what is wrong with blocks that a tool or a hook gave; `null` when they can be logged. */
function contentProblem(content: unknown): string | null {
  if (!Array.isArray(content)) return "the tool ran; its result has no array of blocks";
  for (const [index, block] of content.entries()) {
    const isText = block?.type === "text" && typeof block.text === "string";
    const isAttachment = (block?.type === "image" || block?.type === "file") && typeof block.attachment === "object";
    if (!isText && !isAttachment) return `the tool ran; block ${index} of its result is neither text nor attachment`;
  }
  return null;
}
