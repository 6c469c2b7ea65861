/**
 * Arguments: from the model's raw text to what a body can rely on.
 *
 * @module
 */
import { type JsonValue, snapshotJson } from "../event/mod.ts";
import { failure, INVALID_ARGS, ToolError, type ToolOutcome } from "./outcome.ts";

/**
 * Parses the raw text of a call: empty is `{}`, JSON is parsed and deeply frozen, anything else stays the text it is.
 *
 * @throws {ToolError} with `INVALID_ARGS` when the JSON does not survive a round trip (−0, 1e999, nesting without end)
 *
 * @example
 * ```ts
 * import { parseArguments } from "./arguments.ts";
 *
 * if (JSON.stringify(parseArguments("")) !== "{}") throw new Error("unreachable");
 * if (parseArguments("{oops") !== "{oops") throw new Error("unreachable");
 * ```
 */
export function parseArguments(raw: string): JsonValue {
  if (raw === "") return Object.freeze({});
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch {
    return raw;
  }
  try {
    return snapshotJson(value, "the arguments");
  } catch (error) {
    throw new ToolError(INVALID_ARGS, `the arguments are not lossless JSON`, { cause: error });
  }
}

/** Arguments that were read, once, or the outcome of a call whose arguments cannot be. */
export type GivenArguments =
  /** Deeply frozen, and as text for the log. */
  | { readonly ok: true; readonly value: JsonValue; readonly text: string }
  | { readonly ok: false; readonly outcome: ToolOutcome };

/**
 * Reads the raw text of a call, as {@linkcode parseArguments} does.
 *
 * @example
 * ```ts
 * import { givenText } from "./arguments.ts";
 *
 * if (givenText('{"n":-0}').ok) throw new Error("unreachable");
 * ```
 */
export function givenText(text: string): GivenArguments {
  try {
    return { ok: true, value: parseArguments(text), text };
  } catch (error) {
    return { ok: false, outcome: failure(error) };
  }
}

/**
 * Reads arguments that are values: a frozen copy, each member read once. Nothing at all is `{}`.
 *
 * @example
 * ```ts
 * import { givenValue } from "./arguments.ts";
 *
 * const given = givenValue({ to: "alice" });
 * if (!given.ok || given.text !== '{"to":"alice"}') throw new Error("unreachable");
 * ```
 */
export function givenValue(args: unknown): GivenArguments {
  try {
    const value = snapshotJson(args ?? {}, "the arguments");
    return { ok: true, value, text: JSON.stringify(value) };
  } catch (error) {
    const refused = new ToolError(INVALID_ARGS, "the arguments are not lossless JSON", { cause: error });
    return { ok: false, outcome: failure(refused) };
  }
}

/** The type of one argument; `?` = may be left out. */
export type ArgumentType = "string" | "string?" | "number?" | "object?";

/** What an argument of a type is, once read. */
export type ArgumentValue<Type extends ArgumentType> = Type extends "string" ? string
  : Type extends "string?" ? string | undefined
  : Type extends "number?" ? number | undefined
  : { readonly [key: string]: JsonValue | undefined } | undefined;

/**
 * Reads the named arguments, checked. Further keys are let be.
 *
 * @throws {ToolError} with `INVALID_ARGS`, naming every argument that is missing or of another type
 *
 * @example
 * ```ts
 * import { readArguments } from "./arguments.ts";
 *
 * const { path } = readArguments({ path: "a.txt", more: 1 }, { path: "string", depth: "number?" });
 * if (path !== "a.txt") throw new Error("unreachable");
 * ```
 */
export function readArguments<Shape extends Readonly<Record<string, ArgumentType>>>(
  args: JsonValue,
  shape: Shape,
): { readonly [Name in keyof Shape]: ArgumentValue<Shape[Name]> } {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new ToolError(INVALID_ARGS, `invalid arguments: expected an object, found ${described(args)}`);
  }
  const given = args as Readonly<Record<string, JsonValue | undefined>>;
  const found: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, type] of Object.entries(shape)) {
    // Own keys only: a name like "constructor" must not find what every object has.
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const isMissing = value === undefined || (value === null && type.endsWith("?"));
    if (isMissing && type.endsWith("?")) continue;
    const wanted = type.replace("?", "");
    const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
    if (kind !== wanted) {
      problems.push(
        `${name} must be ${wanted === "object" ? "an" : "a"} ${wanted}, found ${
          isMissing ? "nothing" : described(value)
        }`,
      );
    } else found[name] = value;
  }
  if (problems.length > 0) throw new ToolError(INVALID_ARGS, `invalid arguments: ${problems.join("; ")}`);
  return found as { [Name in keyof Shape]: ArgumentValue<Shape[Name]> };
}

function described(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > 80 ? `${json.slice(0, 80)}…` : json;
}
