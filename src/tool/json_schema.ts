/**
 * Checks values against a JSON Schema, in bounded time.
 *
 * @see https://json-schema.org; drafts 4, 6, 7, 2019-09 and 2020-12
 * @module
 */
import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from "@cfworker/json-schema";
import { linkProblem, type SchemaNode, tidySchema } from "./json_schema_shape.ts";
import { pointerToken, type SchemaProblem } from "./schema_problem.ts";

/** How many schemas are entered to find out whether a value fits. A value that needs more is refused. */
export const CHECK_STEPS_MAX = 250_000;

/** How many schemas are entered to name everything that is wrong. Beyond that, only what was found first is named. */
const NAMING_STEPS_MAX = 20_000;

/** The longest list of which all items can be compared with each other (`uniqueItems`). */
export const UNIQUE_ITEMS_MAX = 4096;

const DRAFTS: readonly (readonly [string, SchemaDraft])[] = [
  ["draft-04", "4"],
  // What draft 6 lacks, schemas of draft 6 do not use.
  ["draft-06", "7"],
  ["draft-07", "7"],
  ["draft/2019-09", "2019-09"],
  ["draft/2020-12", "2020-12"],
];

/**
 * Formats that are checked; all others are notes to the reader. "url" is left out on purpose: it is no format of the standard,
 * and the checker's expression for it takes exponential time on some texts.
 */
const FORMATS: readonly unknown[] = [
  "date",
  "time",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
  "uri",
  "uri-reference",
  "json-pointer",
  "regex",
];

/** Says that something else at the same or a deeper place is wrong, and nothing of its own. */
const WRAPPERS: readonly string[] = [
  "$ref",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "allOf",
  "if",
  "dependentSchemas",
];

/**
 * Prepares a JSON Schema for checking.
 *
 * Bounded are its nesting, its references, and the steps of each check. Not bounded is the time of a `pattern`: expressions that
 * take exponential time cannot be told from others, so a schema from somebody else may hold one.
 *
 * @param schema a private copy: it is changed
 * @returns finds what is wrong with a value: nothing, or at least one problem; at most a few thousand
 * @throws {TypeError} when the schema is broken, `Cannot use <what> as a schema: found <…>`
 *
 * @example
 * ```ts
 * import { jsonSchemaCheck } from "./json_schema.ts";
 *
 * const check = jsonSchemaCheck({ type: "object", required: ["to"] }, "the arguments");
 * if (check({})[0]?.path !== "/to" || check({ to: 1 }).length !== 0) throw new Error("unreachable");
 * ```
 */
export function jsonSchemaCheck(schema: SchemaNode, what: string): (value: unknown) => SchemaProblem[] {
  const draft = draftOf(schema, what);
  const nodes = tidySchema(schema, draft === "4");
  if (typeof nodes === "string") throw broken(what, `found ${nodes}`);
  const lookup = references(schema, what);
  const problem = linkProblem(nodes, (node) => lookup[(node as Schema).__absolute_ref__ ?? node.$ref as string]);
  if (problem !== null) throw broken(what, `found ${problem}`);
  const steps = new Steps();
  for (const node of nodes) {
    if (node.format !== undefined && !FORMATS.includes(node.format)) delete node.format;
    steps.countIn(node);
  }
  const comparesItems = [...nodes].some((node) => node.uniqueItems === true);

  /** @throws {RangeError} when it takes too many steps, or the value nests too deep for the stack */
  const units = (value: unknown, stepsMax: number, stopsEarly: boolean): OutputUnit[] => {
    steps.begin(stepsMax);
    return validate(value, schema, draft, lookup, stopsEarly).errors;
  };
  return (value) => {
    if (comparesItems) {
      const path = longListIn(value);
      if (path !== null) return [{ path, message: `has over ${UNIQUE_ITEMS_MAX} items, too many to compare` }];
    }
    let first: OutputUnit[];
    try {
      first = units(value, CHECK_STEPS_MAX, true);
      if (first.length === 0) return [];
    } catch (error) {
      return [{ path: "", message: `cannot be checked: ${whyNot(error)}` }];
    }
    try {
      return problemsOf(units(value, NAMING_STEPS_MAX, false));
    } catch {
      return problemsOf(first);
    }
  };
}

/** Counts how many schemas are entered: the checker asks each one that it enters for this keyword, which none of ours has. */
class Steps {
  #left = 0;

  countIn(node: SchemaNode): void {
    Object.defineProperty(node, "$recursiveAnchor", {
      get: () => {
        if (this.#left-- <= 0) throw new RangeError("it takes too many steps");
        return undefined;
      },
    });
  }

  begin(stepsMax: number): void {
    this.#left = stepsMax;
  }
}

function draftOf(schema: SchemaNode, what: string): SchemaDraft {
  const named = schema.$schema;
  if (named === undefined) return "2020-12";
  const found = DRAFTS.find(([part]) => typeof named === "string" && named.includes(`json-schema.org/${part}/schema`));
  if (found === undefined) {
    throw new TypeError(
      `Cannot use ${what} as a schema: found $schema ${JSON.stringify(named)}, which is no known draft`,
    );
  }
  return found[1];
}

function references(schema: SchemaNode, what: string): Record<string, Schema | boolean> {
  try {
    return dereference(schema as Schema);
  } catch (error) {
    throw broken(what, "its ids and references cannot be read", error);
  }
}

function broken(what: string, found: string, cause?: unknown): TypeError {
  return new TypeError(`Cannot use ${what} as a schema: ${found}`, { cause });
}

/** The first list that is too long to compare its items, or null. */
function longListIn(root: unknown): string | null {
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: root, path: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (Array.isArray(value) && value.length > UNIQUE_ITEMS_MAX) return path;
    if (typeof value !== "object" || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (typeof member === "object") open.push({ value: member, path: `${path}${pointerToken(key)}` });
    }
  }
  return null;
}

function whyNot(error: unknown): string {
  // The other RangeError is a stack that ran out.
  if (error instanceof RangeError) return error.message.includes("steps") ? error.message : "it nests too deep";
  return error instanceof Error ? error.message : String(error);
}

function problemsOf(units: readonly OutputUnit[]): SchemaProblem[] {
  const leaves = units.filter(({ keyword }) => !WRAPPERS.includes(keyword));
  return (leaves.length > 0 ? leaves : units).map(problemOf);
}

function problemOf({ keyword, instanceLocation, error }: OutputUnit): SchemaProblem {
  const path = plainPointer(instanceLocation);
  if (keyword === "false") return { path, message: "is not allowed" };
  // The name stands only in the text.
  const missing = keyword === "required" ? /property "(.*)"\.$/s.exec(error)?.[1] : undefined;
  if (missing !== undefined) return { path: `${path}${pointerToken(missing)}`, message: "is missing" };
  return { path, message: error.replace(/\.$/, "") };
}

/** `#/a%20b` → `/a b`: the checker writes pointers as URI fragments. */
function plainPointer(fragment: string): string {
  try {
    return decodeURI(fragment.slice(1));
  } catch {
    return fragment.slice(1);
  }
}
