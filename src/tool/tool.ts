/**
 * What a tool is: a name the model knows, what it may do to the world, what must be asked first, and a body.
 *
 * @module
 */
import type { Block, EffectClass, JsonObject, JsonValue, ToolSchema } from "../event/mod.ts";
import type { HookedCall, ToolCall } from "./call.ts";
import type { ToolOutcome, ToolOutput } from "./outcome.ts";
import type { EffectLookup, LookupAnswer } from "./lookup.ts";
import { type CheckedValue, type CompiledSchema, compileSchema, type SchemaDeclaration } from "./schema.ts";
import { unawaited } from "./strangers.ts";

/** The longest time a tool may give itself, in milliseconds: what a timer can hold. */
export const TIMEOUT_MS_MAX = 2_147_483_647;
/** How often a failed body without effect may be run again. */
export const RETRIES_MAX = 10;

/** What happens before a call may run. A question is always asked before the barrier, never inside a body. */
export type Permission =
  | { readonly decision: "allow" }
  /** A person is asked, with this reason. */
  | { readonly decision: "ask"; readonly reason?: string }
  /** The model reads the reason as the error. */
  | { readonly decision: "deny"; readonly reason: string };

/** What every tool says about itself. `Args` is what its checked arguments are. */
export interface ToolTraits<Parameters extends SchemaDeclaration = JsonObject, Args = CheckedValue<Parameters>> {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** For the model: what it does, and when to call it. */
  readonly description: string;
  /**
   * What the arguments must be: a JSON Schema, or a schema of a validator that follows Standard Schema. Arguments that are not
   * end the call with `INVALID_ARGS`, every wrong path named, before anybody is asked. Unknown members are let be.
   */
  readonly parameters: Parameters;
  /** Default "opaque". A function that throws counts as "opaque". */
  readonly effect?: EffectClass | ((args: Args) => EffectClass);
  /** Default: what has no effect runs, everything else asks. One that throws refuses the call with that error. */
  readonly permission?: (args: Args, effect: EffectClass) => Permission | Promise<Permission>;
  /**
   * How long the body may take, in milliseconds. Then its signal aborts, and whatever it still returns, the call ends with
   * `TOOL_TIMEOUT`. The body is waited for all the same. Of a tool with an effect the outcome is then unknown. Default: no limit.
   */
  readonly timeoutMs?: number;
  /**
   * How often a body that failed without a code is run again, after 250 ms, 500 ms and so on; at most RETRIES_MAX. Only calls
   * whose effect is "none" are ever repeated: everything else is repeated by the model or by nobody. Default 0.
   */
  readonly retries?: number;
  /**
   * Whether this call may run beside others of its kind. Only exactly `true` counts. It is given the parsed arguments before
   * they are checked; what it throws counts as no.
   */
  readonly isConcurrencySafe?: (args: JsonValue) => boolean;
  /** The last change of what the model reads, also of failures. Default: none. */
  readonly finalizeContent?: (
    call: HookedCall,
    outcome: ToolOutcome,
  ) => string | readonly Block[] | Promise<string | readonly Block[]>;
}

/** How a tool is written down whose body returns what the model reads. */
export interface ToolDefinition<Parameters extends SchemaDeclaration = JsonObject> extends ToolTraits<Parameters> {
  /** Not here: see {@linkcode ValueToolDefinition}. */
  readonly output?: undefined;
  /**
   * The body. With a JSON Schema, `args` is the parsed JSON, deeply frozen, or the model's raw text when that is not JSON; with a
   * validator, what it made of it.
   *
   * A {@linkcode ToolError} keeps its code in the log; any other error only its message. A body that cannot tell whether its
   * effect happened throws one with the code `TOOL_OUTCOME_UNKNOWN`; one that learns that nothing under its key can take effect
   * any more, `TOOL_NOT_STARTED`: an equal call then gets a new key.
   */
  readonly execute: (args: CheckedValue<Parameters>, call: ToolCall) => ToolOutput | Promise<ToolOutput>;
  /**
   * Finds out what became of a call whose outcome is unknown: asked when the session is resumed, at most once each time, for at
   * most RECONCILE_TIMEOUT_MS. It must not bring the effect about. What it throws is undecidable. Default: nobody can tell.
   */
  readonly reconcile?: (
    lookup: EffectLookup<CheckedValue<Parameters>>,
  ) => LookupAnswer<ToolOutput> | Promise<LookupAnswer<ToolOutput>>;
}

/** How a tool is written down whose body returns a value that is checked and then rendered for the model. */
export interface ValueToolDefinition<Parameters extends SchemaDeclaration, Output extends SchemaDeclaration>
  extends ToolTraits<Parameters> {
  /** What the body returns, and how the model reads it. */
  readonly output: OutputDefinition<CheckedValue<Parameters>, Output>;
  /** As in {@linkcode ToolDefinition}. A value that is not lossless JSON or violates the schema is `INVALID_TOOL_OUTPUT`. */
  readonly execute: (
    args: CheckedValue<Parameters>,
    call: ToolCall,
  ) => GivenValue<Output> | Promise<GivenValue<Output>>;
  /** As in {@linkcode ToolDefinition}. The result it recovers is checked and rendered as if the body had returned it. */
  readonly reconcile?: (
    lookup: EffectLookup<CheckedValue<Parameters>>,
  ) => LookupAnswer<GivenValue<Output>> | Promise<LookupAnswer<GivenValue<Output>>>;
}

/** What a body returns, and how a model reads it. */
export interface OutputDefinition<Args, Output extends SchemaDeclaration> {
  /** What the value must be: a JSON Schema, or a schema of a validator that follows Standard Schema. */
  readonly schema: Output;
  /** What the model reads. */
  readonly render: (args: Args, value: CheckedValue<Output>) => string | readonly Block[];
  /** Facts for whoever shows the call, logged as `meta`. */
  readonly presentationMeta?: (args: Args, value: CheckedValue<Output>) => JsonValue;
}

/** What may be given to a schema: what its validator takes, or, with a plain JSON Schema, anything. */
export type GivenValue<Declaration> = Declaration extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input } ? Input : unknown
  : unknown;

/** A tool, checked and frozen. Its functions are strangers: whoever calls them contains them. */
export interface Tool extends ToolSchema {
  /** What a call with these checked arguments may do to the world. Never throws. */
  readonly effectOf: (args: JsonValue) => EffectClass;
  /** What the tool says about such a call. */
  readonly permissionFor: (args: JsonValue, effect: EffectClass) => Permission | Promise<Permission>;
  /** The body, bare: no check, no policy, no record. `callTool` runs a tool outside of a session. */
  readonly execute: (args: JsonValue, call: ToolCall) => unknown;
  /** See {@linkcode ToolDefinition.reconcile}; `null` when nobody can tell. */
  readonly reconcile: ((lookup: EffectLookup<JsonValue>) => unknown) | null;
  /** Whether arguments are what the tool takes, and what its schema makes of them. */
  readonly checkArguments: CompiledSchema<unknown>["check"];
  /** `null` when the body returns what the model reads. */
  readonly output: CompiledOutput | null;
  /** `null` = no limit. */
  readonly timeoutMs: number | null;
  /** See {@linkcode ToolTraits.retries}. */
  readonly retries: number;
  /** See {@linkcode ToolTraits.isConcurrencySafe}; `null` = never. */
  readonly isConcurrencySafe: ((args: JsonValue) => unknown) | null;
  /** See {@linkcode ToolTraits.finalizeContent}; `null` = no change. */
  readonly finalizeContent: ToolTraits["finalizeContent"] | null;
}

/** How a value is checked and rendered. */
export interface CompiledOutput {
  /** Whether a value is what the tool declares. */
  readonly check: CompiledSchema<unknown>["check"];
  /** See {@linkcode OutputDefinition.render}. */
  readonly render: (args: JsonValue, value: JsonValue) => unknown;
  /** See {@linkcode OutputDefinition.presentationMeta}; `null` = none. */
  readonly presentationMeta: ((args: JsonValue, value: JsonValue) => unknown) | null;
}

const EFFECT_CLASSES: readonly unknown[] = ["none", "idempotent", "keyed", "opaque"];

/**
 * Makes a tool from its definition.
 *
 * @throws {TypeError} when the name is not one a provider takes, or a schema is broken
 * @throws {RangeError} when `timeoutMs` or `retries` is out of its range
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
 * if (echo.effectOf({}) !== "none") throw new Error("unreachable");
 *
 * const count = defineTool({
 *   name: "count",
 *   description: "Counts the words.",
 *   parameters: { type: "string" },
 *   output: { schema: { type: "integer" }, render: (_args, value) => `${value} words` },
 *   effect: "none",
 *   execute: (text) => String(text).split(" ").length,
 * });
 * if (count.output === null) throw new Error("unreachable");
 * ```
 */
export function defineTool<Parameters extends SchemaDeclaration, Output extends SchemaDeclaration>(
  definition: ValueToolDefinition<Parameters, Output>,
): Tool;
/** Makes a tool whose body returns what the model reads. */
export function defineTool<Parameters extends SchemaDeclaration>(definition: ToolDefinition<Parameters>): Tool;
export function defineTool(definition: AnyDefinition): Tool {
  const { name, description, effect = "opaque", permission = defaultPermission, execute, output } = definition;
  const { timeoutMs = null, retries = 0, isConcurrencySafe = null, finalizeContent = null, reconcile = null } =
    definition;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`Cannot define tool "${name}": a name is 1 to 64 of A-Z a-z 0-9 _ -`);
  }
  if (timeoutMs !== null && !(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX)) {
    throw new RangeError(
      `Cannot define tool "${name}": timeoutMs is ${timeoutMs}, not above 0 and at most ${TIMEOUT_MS_MAX}`,
    );
  }
  if (!Number.isInteger(retries) || retries < 0 || retries > RETRIES_MAX) {
    throw new RangeError(
      `Cannot define tool "${name}": retries is ${retries}, not an integer from 0 to ${RETRIES_MAX}`,
    );
  }
  const parameters = compileSchema(definition.parameters, `the parameters of tool "${name}"`);
  return Object.freeze({
    name,
    description,
    parameters: parameters.jsonSchema,
    effectOf: (args: JsonValue) => effectClass(effect, args),
    permissionFor: permission,
    execute,
    reconcile,
    checkArguments: parameters.check,
    output: output === undefined ? null : compiledOutput(output, name),
    // Rounded up: a timer takes whole milliseconds.
    timeoutMs: timeoutMs === null ? null : Math.ceil(timeoutMs),
    retries,
    isConcurrencySafe,
    finalizeContent,
  });
}

// deno-lint-ignore no-explicit-any -- the types of a definition are for whoever writes it; from here on arguments are JSON
type AnyOutput = OutputDefinition<any, any>;

// deno-lint-ignore no-explicit-any -- as above
type AnyFunction = any;

// deno-lint-ignore no-explicit-any -- as above
type AnyDefinition = ToolTraits<any, any> & {
  readonly output?: AnyOutput;
  readonly execute: AnyFunction;
  readonly reconcile?: AnyFunction;
};

function compiledOutput({ schema, render, presentationMeta }: AnyOutput, name: string): CompiledOutput {
  const { check } = compileSchema(schema, `the output of tool "${name}"`);
  return Object.freeze({ check, render, presentationMeta: presentationMeta ?? null });
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
export function defaultPermission(_args: unknown, effect: EffectClass): Permission {
  return effect === "none" ? { decision: "allow" } : { decision: "ask" };
}

function effectClass(effect: EffectClass | ((args: JsonValue) => EffectClass), args: JsonValue): EffectClass {
  let found: EffectClass | undefined;
  try {
    found = typeof effect === "function" ? unawaited(effect(args)) : effect;
  } catch {
    // What cannot say what it does is treated as if it could do anything.
  }
  return EFFECT_CLASSES.includes(found) ? found! : "opaque";
}
