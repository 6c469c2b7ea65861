/**
 * The parts of a request, checked against their schemas before a handler sees them.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "hono";
import { compileSchema, type JsonObject } from "../../mod.ts";
import { readJson } from "./body.ts";
import { BODY_SIZE_BYTES_MAX } from "./limits.ts";
import { Refusal } from "./problem.ts";
import type { Schema } from "./schemas.ts";
import type { Tenant } from "./tenant.ts";
import type { Clock } from "../../mod.ts";

/** What handlers find beside the request. */
export interface ServerEnv {
  Variables: {
    /** Whose request it is. */
    tenant: Tenant;
    clock: Clock;
    /** Whether new work is refused. */
    isDraining: () => boolean;
  };
}

/** What a middleware adds to the type of a route: the part under `Target` is checked. */
type Checked<Target extends string, Value> = MiddlewareHandler<
  ServerEnv,
  string,
  { in: { [key in Target]: Value }; out: { [key in Target]: Value } }
>;

/**
 * Reads and checks a JSON body.
 *
 * @example
 * ```ts
 * import { CANCEL } from "./schemas.ts";
 * import { jsonBody } from "./validate.ts";
 *
 * const middleware = jsonBody(CANCEL);
 * if (typeof middleware !== "function") throw new Error("unreachable");
 * ```
 */
export function jsonBody<Value>(schema: Schema<Value>): Checked<"json", Value> {
  const check = checkOf(schema, "the body");
  return async (c, next) => {
    const value = await readJson(c.req.raw, BODY_SIZE_BYTES_MAX, c.get("clock"));
    c.req.addValidatedData("json", await check(value) as object);
    await next();
  };
}

/**
 * Checks the query. A name that is there twice, or is not known, is refused.
 *
 * @example
 * ```ts
 * import { LIST_QUERY } from "./schemas.ts";
 * import { query } from "./validate.ts";
 *
 * const middleware = query(LIST_QUERY);
 * if (typeof middleware !== "function") throw new Error("unreachable");
 * ```
 */
export function query<Value>(schema: Schema<Value>): Checked<"query", Value> {
  const check = checkOf(schema, "the query");
  return async (c, next) => {
    const given = Object.entries(c.req.queries()).map((
      [name, values],
    ) => [name, values.length === 1 ? values[0] : values]);
    c.req.addValidatedData("query", await check(Object.fromEntries(given)) as object);
    await next();
  };
}

/**
 * A part of the path, or a header, that must fit a schema of a text.
 *
 * @throws {Refusal} `INVALID_REQUEST`
 *
 * @example
 * ```ts
 * import { ID } from "./schemas.ts";
 * import { textCheck } from "./validate.ts";
 *
 * const check = textCheck(ID, "the id");
 * if (await check("a") !== "a") throw new Error("unreachable");
 * ```
 */
export function textCheck(schema: JsonObject, what: string): (value: string | undefined) => Promise<string> {
  const check = checkOf<string>(schema, what);
  return (value) => check(value);
}

/**
 * A number of a query, in its range.
 *
 * @throws {Refusal} `INVALID_REQUEST`
 *
 * @example
 * ```ts
 * import { countOf } from "./validate.ts";
 *
 * if (countOf(undefined, "limit", { least: 1, most: 9, otherwise: 3 }) !== 3) throw new Error("unreachable");
 * ```
 */
export function countOf(
  text: string | undefined,
  name: string,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new Refusal(400, "INVALID_REQUEST", `Cannot use ${name} "${text}": wanted ${least} to ${most}`);
}

/** The tenant of a request, for handlers. */
export function tenantOf(c: Context<ServerEnv>): Tenant {
  return c.get("tenant");
}

function checkOf<Value>(schema: JsonObject, what: string): (value: unknown) => Promise<Value> {
  const { check } = compileSchema(schema, what);
  return async (value) => {
    const found = await check(value);
    if (found.ok) return value as Value;
    throw new Refusal(400, "INVALID_REQUEST", `Cannot use ${what}: it does not fit its schema`, {
      problems: found.problems,
    });
  };
}
