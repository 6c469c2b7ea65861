/**
 * What a tool is: a name the model knows, what it may do to the world, what must be asked first, and a body.
 *
 * @module
 */
import type { Block, EffectClass, JsonObject, JsonValue, ToolSchema } from "../event/mod.ts";

/** What happens before a call may run. A question is always asked before the barrier, never inside a body. */
export type Permission =
  | { readonly decision: "allow" }
  /** A person is asked, with this reason. */
  | { readonly decision: "ask"; readonly reason?: string }
  /** The model reads the reason as the error. */
  | { readonly decision: "deny"; readonly reason: string };

/** What a body knows about its call. */
export interface ToolCall {
  readonly sessionId: string;
  readonly turn: number;
  readonly step: number;
  /** Unique on the surface of the session. */
  readonly callId: string;
  /** seq of the durable `tool/call`. */
  readonly callSeq: number;
  /** 32 hex digits, durable before the body runs, the same for every repetition of this effect: what a target deduplicates by. */
  readonly effectKey: string;
  /** The class declared at dispatch. */
  readonly effect: EffectClass;
  /** seq of the original `tool/call`, when this call repeats one whose outcome is unknown. */
  readonly retryOf?: number;
  /** Aborts when the turn is cancelled. The body is waited for all the same. */
  readonly signal: AbortSignal;
}

/** What a body gives back: a text, or blocks with facts for the log beside them. */
export type ToolOutput = string | { readonly content: readonly Block[]; readonly meta?: JsonValue };

/** How a tool is written down. */
export interface ToolDefinition {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, for the model. The body checks them itself; {@linkcode readArguments} helps. */
  readonly parameters: JsonObject;
  /** Default "opaque". A function that throws counts as "opaque". */
  readonly effect?: EffectClass | ((args: JsonValue) => EffectClass);
  /** Default: what has no effect runs, everything else asks. One that throws refuses the call with that error. */
  readonly permission?: (args: JsonValue, effect: EffectClass) => Permission;
  /**
   * The body. `args` is the parsed JSON, deeply frozen, or the model's raw text when that is not JSON.
   *
   * A {@linkcode ToolError} keeps its code in the log; any other error only its message. A body that cannot tell whether its
   * effect happened throws one with the code `TOOL_OUTCOME_UNKNOWN`.
   */
  readonly execute: (args: JsonValue, call: ToolCall) => ToolOutput | Promise<ToolOutput>;
}

/** A tool, checked and frozen. */
export interface Tool extends ToolSchema {
  readonly effectOf: (args: JsonValue) => EffectClass;
  readonly permissionFor: (args: JsonValue, effect: EffectClass) => Permission;
  readonly execute: (args: JsonValue, call: ToolCall) => ToolOutput | Promise<ToolOutput>;
}

const EFFECT_CLASSES: readonly unknown[] = ["none", "idempotent", "keyed", "opaque"];

/**
 * Makes a tool from its definition.
 *
 * @throws {TypeError} when the name is not one a provider takes
 *
 * @example
 * ```ts
 * import { defineTool } from "./tool.ts";
 *
 * const echo = defineTool({
 *   name: "echo",
 *   description: "Says it again.",
 *   parameters: { type: "object", properties: { text: { type: "string" } } },
 *   effect: "none",
 *   execute: (args) => JSON.stringify(args),
 * });
 * if (echo.permissionFor({}, echo.effectOf({})).decision !== "allow") throw new Error("unreachable");
 * ```
 */
export function defineTool(definition: ToolDefinition): Tool {
  const { name, description, parameters, effect = "opaque", permission = defaultPermission, execute } = definition;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`Cannot define tool "${name}": a name is 1 to 64 of A-Z a-z 0-9 _ -`);
  }
  return Object.freeze({
    name,
    description,
    parameters,
    effectOf: (args: JsonValue) => effectClass(effect, args),
    permissionFor: permission,
    execute,
  });
}

/**
 * What has no effect runs, everything else asks.
 *
 * @example
 * ```ts
 * import { defaultPermission } from "./tool.ts";
 *
 * if (defaultPermission({}, "keyed").decision !== "ask") throw new Error("unreachable");
 * ```
 */
export function defaultPermission(_args: JsonValue, effect: EffectClass): Permission {
  return effect === "none" ? { decision: "allow" } : { decision: "ask" };
}

function effectClass(effect: ToolDefinition["effect"], args: JsonValue): EffectClass {
  let found: EffectClass | undefined;
  try {
    found = typeof effect === "function" ? effect(args) : effect;
  } catch {
    // What cannot say what it does is treated as if it could do anything.
  }
  return EFFECT_CLASSES.includes(found) ? found! : "opaque";
}
