/**
 * The schemas of a tool: what its arguments and its output must be.
 *
 * A tool declares either a schema of a validator that follows Standard Schema and writes itself down as JSON Schema (1.1), or a
 * plain JSON Schema.
 *
 * @see https://standardschema.dev
 * @module
 */
import { freezeJson, type JsonObject, type JsonValue } from "../event/mod.ts";
import { jsonSchemaCheck } from "./json_schema.ts";
import { isNode, type SchemaNode } from "./json_schema_shape.ts";
import { messageOf } from "./outcome.ts";
import { boundedProblems, pointerToken, type SchemaProblem } from "./schema_problem.ts";
import type { StandardIssue, StandardSchema } from "./standard_schema.ts";

/** The largest schema, as JSON, in UTF-16 units. A larger one is refused when the tool is defined. */
export const SCHEMA_SIZE_MAX = 256 * 1024;

/** The draft that validators are asked to write themselves down in. */
const TARGET = "draft-2020-12";

/** How a tool declares a schema. */
export type SchemaDeclaration<Output = unknown> = JsonObject | StandardSchema<unknown, Output>;

/** What a value is after checking: what the validator makes of it, or, with a plain JSON Schema, the value it was. */
export type CheckedValue<Declaration> = Declaration extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output } ? Output : JsonValue
  : JsonValue;

/** The value, or everything that is wrong with it. */
export type SchemaCheck<Output> =
  | { readonly ok: true; readonly value: Output }
  /** At least one, at most PROBLEMS_MAX. */
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/** A schema that is ready to check. */
export interface CompiledSchema<Output = JsonValue> {
  /** As the model is told, deeply frozen. */
  readonly jsonSchema: JsonObject;
  /**
   * Checks a value. Never rejects: a validator that throws counts as a problem of the value.
   *
   * Members that the schema does not speak of are accepted, and so is what it allows to be left out. A plain JSON Schema gives
   * back the very value it was given. A validator may give back another one (defaults, conversions): the log holds what was given,
   * and the body gets what came back.
   */
  readonly check: (value: unknown) => Promise<SchemaCheck<Output>>;
}

/**
 * Makes a declared schema ready to check.
 *
 * @param what how messages name it, such as `the arguments of "pay"`
 * @throws {TypeError} when the schema is broken, too large, never done, or cannot say itself as JSON Schema
 *
 * @example
 * ```ts
 * import { compileSchema } from "./schema.ts";
 *
 * const { check } = compileSchema({ type: "object", properties: { to: { type: "string" } } }, 'the arguments of "pay"');
 * const found = await check({ to: 7, more: true });
 * if (found.ok || found.problems.length !== 1 || found.problems[0]?.path !== "/to") throw new Error("unreachable");
 * ```
 */
export function compileSchema<Declaration extends SchemaDeclaration>(
  declaration: Declaration,
  what: string,
): CompiledSchema<CheckedValue<Declaration>> {
  const compiled = isStandard(declaration) ? ofValidator(declaration, what) : ofJsonSchema(declaration, what);
  return Object.freeze(compiled) as CompiledSchema<CheckedValue<Declaration>>;
}

/** Some validators' schemas are functions. */
function isStandard(declaration: unknown): declaration is StandardSchema {
  return (typeof declaration === "object" || typeof declaration === "function") && declaration !== null &&
    "~standard" in declaration;
}

function ofJsonSchema(declaration: unknown, what: string): CompiledSchema<unknown> {
  const jsonSchema = freezeJson(copyOf(declaration, what)) as JsonObject;
  const problemsOf = jsonSchemaCheck(copyOf(declaration, what), what);
  return {
    jsonSchema,
    check: (value) => Promise.resolve(verdict(value, problemsOf(value))),
  };
}

function ofValidator({ "~standard": standard }: StandardSchema, what: string): CompiledSchema<unknown> {
  if (standard?.version !== 1 || typeof standard.validate !== "function") {
    throw new TypeError(`Cannot use ${what} as a schema: it does not follow Standard Schema 1`);
  }
  if (typeof standard.jsonSchema?.input !== "function") {
    throw new TypeError(
      `Cannot use ${what} as a schema: this schema of ${standard.vendor} cannot say itself as JSON Schema (Standard Schema 1.1); ` +
        "declare a plain JSON Schema instead",
    );
  }
  let written: unknown;
  try {
    written = standard.jsonSchema.input({ target: TARGET });
  } catch (error) {
    const message = `Cannot use ${what} as a schema: ${standard.vendor} cannot write it as JSON Schema: ${
      messageOf(error)
    }`;
    throw new TypeError(message, { cause: error });
  }
  // Some providers refuse parameters that name their draft.
  const { $schema: _, ...jsonSchema } = copyOf(written, what);
  return {
    jsonSchema: freezeJson(jsonSchema) as JsonObject,
    async check(value) {
      try {
        const result = await standard.validate(value);
        if (result.issues === undefined) return { ok: true, value: result.value };
        const problems = [...result.issues].map(problemOf);
        return verdict(value, problems.length > 0 ? problems : [{ path: "", message: "is invalid" }]);
      } catch (error) {
        return verdict(value, [{ path: "", message: `cannot be checked: ${messageOf(error)}` }]);
      }
    },
  };
}

function verdict(value: unknown, problems: readonly SchemaProblem[]): SchemaCheck<unknown> {
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems: boundedProblems(problems) };
}

function problemOf({ path, message }: StandardIssue): SchemaProblem {
  const keys = (path ?? []).map((part) => typeof part === "object" && part !== null ? part.key : part);
  return { path: keys.map(pointerToken).join(""), message: String(message) };
}

/** A copy of ours, as JSON has it: members that are undefined or functions are left out, getters are read now. */
function copyOf(schema: unknown, what: string): SchemaNode {
  let text: string | undefined;
  try {
    text = JSON.stringify(schema);
  } catch (error) {
    throw new TypeError(`Cannot use ${what} as a schema: it is not JSON: ${messageOf(error)}`, { cause: error });
  }
  if (text !== undefined && text.length > SCHEMA_SIZE_MAX) {
    throw new TypeError(`Cannot use ${what} as a schema: it is over ${SCHEMA_SIZE_MAX} characters`);
  }
  const copy: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isNode(copy)) {
    throw new TypeError(`Cannot use ${what} as a schema: found ${text ?? typeof schema}, wanted an object`);
  }
  return copy;
}
