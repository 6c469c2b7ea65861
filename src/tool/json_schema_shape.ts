/**
 * Whether a JSON Schema is one that can be checked against, and checked in bounded time.
 *
 * A schema comes from whoever wrote a tool, or from a server of tools: it is looked at once, when the tool is defined, so that
 * a mistake in it is not found by a model in the middle of a turn.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-validation
 * @module
 */
import { pointerToken } from "./schema_problem.ts";

/** How deep a schema may nest, and how many schemas may apply to one value inside each other. */
export const SCHEMA_DEPTH_MAX = 100;

/** A schema that is a set of keywords, as opposed to true and false. */
export type SchemaNode = Record<string, unknown>;

type Check = (value: unknown) => string | null;

const TYPES: readonly unknown[] = ["null", "boolean", "number", "integer", "string", "array", "object"];

/** Keywords with a value of their own; what follows them, such as a name, is data. */
const VALUES: Readonly<Record<string, Check>> = {
  $ref: aString,
  $id: aString,
  id: aString,
  $anchor: aString,
  format: aString,
  type: (value) => {
    const types = Array.isArray(value) ? value : [value];
    return types.length > 0 && types.every((type) => TYPES.includes(type))
      ? null
      : "the name of a type, or a list of them";
  },
  enum: (value) => Array.isArray(value) ? null : "a list",
  required: strings,
  dependentRequired: (value) =>
    isNode(value) && Object.values(value).every((list) => strings(list) === null) ? null : "lists of names",
  pattern: regularExpression,
  uniqueItems: aBoolean,
  multipleOf: (value) => typeof value === "number" && value > 0 ? null : "a number above 0",
  minimum: aNumber,
  maximum: aNumber,
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
};

/** Keywords whose value is one schema, and whether it applies to the same value as the schema it stands in. */
const SCHEMAS: Readonly<Record<string, boolean>> = {
  not: true,
  if: true,
  then: true,
  else: true,
  items: false,
  additionalItems: false,
  unevaluatedItems: false,
  contains: false,
  additionalProperties: false,
  unevaluatedProperties: false,
  propertyNames: false,
};

/** Keywords whose value is a list of schemas. */
const LISTS: Readonly<Record<string, boolean>> = { allOf: true, anyOf: true, oneOf: true, prefixItems: false };

/** Keywords whose value is schemas by name. */
const MAPS: Readonly<Record<string, boolean>> = {
  properties: false,
  patternProperties: false,
  $defs: false,
  definitions: false,
  dependentSchemas: true,
  dependencies: true,
};

/** What the checker would pass over in silence, so that a value could not be trusted. */
const UNSUPPORTED: readonly string[] = ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

const BOUNDS: readonly string[] = ["exclusiveMinimum", "exclusiveMaximum"];

/** Keywords that hold data. */
const DATA: readonly string[] = ["$schema", "const"];

/**
 * Checks each schema in `root` and takes away every keyword that is not known here: notes to the reader, and names that mean
 * something to the checker only.
 *
 * @param isDraft4 an exclusive bound is true or false beside the bound; in all later drafts it is the bound
 * @returns those that are sets of keywords, or what is wrong, to be read after "found "
 */
export function tidySchema(root: SchemaNode, isDraft4: boolean): ReadonlySet<SchemaNode> | string {
  const nodes = new Set<SchemaNode>();
  const open: { readonly schema: unknown; readonly path: string; readonly depth: number }[] = [
    { schema: root, path: "#", depth: 0 },
  ];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { schema, path, depth } = place;
    if (typeof schema === "boolean") continue;
    if (!isNode(schema)) return `${show(schema)} at ${path}, where a schema belongs`;
    if (depth > SCHEMA_DEPTH_MAX) return `a schema that nests deeper than ${SCHEMA_DEPTH_MAX} levels`;
    nodes.add(schema);
    for (const [key, value] of Object.entries(schema)) {
      if (!isKnown(key) || (key === "id" && !isDraft4)) {
        delete schema[key];
        continue;
      }
      const wanted = wantedInstead(key, value, isDraft4);
      if (wanted !== null) return `${show(value)} at ${path}${pointerToken(key)}, where ${wanted} belongs`;
      for (const child of childrenOf(key, value, `${path}${pointerToken(key)}`)) {
        open.push({ ...child, depth: depth + 1 });
      }
    }
  }
  return nodes;
}

/**
 * Follows the references of tidy schemas.
 *
 * @param resolve what the `$ref` of a schema points at
 * @returns what is wrong, to be read after "found ", or null
 */
export function linkProblem(
  nodes: ReadonlySet<SchemaNode>,
  resolve: (node: SchemaNode) => unknown,
): string | null {
  /** Each schema and those that apply to the same value as it does. */
  const applied = new Map<SchemaNode, readonly SchemaNode[]>();
  for (const node of nodes) {
    const inPlace = Object.entries(node).flatMap(([key, value]) => childrenOf(key, value, ""))
      .filter(({ isInPlace }) => isInPlace).map(({ schema }) => schema);
    if (node.$ref !== undefined) {
      const target = resolve(node);
      const isSchema = typeof target === "boolean" || (isNode(target) && nodes.has(target));
      if (!isSchema) return `the reference ${show(node.$ref)}, which points at no schema in this one`;
      inPlace.push(target);
    }
    applied.set(node, inPlace.filter(isNode));
  }
  return loopProblem(applied);
}

interface Child {
  readonly schema: unknown;
  readonly path: string;
  readonly isInPlace: boolean;
}

/** The schemas that a keyword holds. */
function childrenOf(key: string, value: unknown, path: string): Child[] {
  const listed = (isInPlace: boolean) =>
    (value as unknown[]).map((schema, index) => ({ schema, path: `${path}/${index}`, isInPlace }));
  // Before draft 2020-12, "items" may be a list.
  if (Object.hasOwn(SCHEMAS, key)) {
    return Array.isArray(value) ? listed(false) : [{ schema: value, path, isInPlace: SCHEMAS[key]! }];
  }
  if (Object.hasOwn(LISTS, key)) return listed(LISTS[key]!);
  if (!Object.hasOwn(MAPS, key)) return [];
  return Object.entries(value as SchemaNode)
    // "dependencies" also takes lists of names.
    .filter(([, schema]) => key !== "dependencies" || !Array.isArray(schema))
    .map(([name, schema]) => ({ schema, path: `${path}${pointerToken(name)}`, isInPlace: MAPS[key]! }));
}

function isKnown(key: string): boolean {
  return UNSUPPORTED.includes(key) || DATA.includes(key) || BOUNDS.includes(key) ||
    [VALUES, SCHEMAS, LISTS, MAPS].some((table) => Object.hasOwn(table, key));
}

/** What belongs at a keyword, when that is not what is there. */
function wantedInstead(key: string, value: unknown, isDraft4: boolean): string | null {
  if (UNSUPPORTED.includes(key)) return "a keyword that is checked here ($ref instead)";
  if (BOUNDS.includes(key)) return isDraft4 ? aBoolean(value) : aNumber(value);
  if (Object.hasOwn(VALUES, key)) return VALUES[key]!(value);
  if (Object.hasOwn(SCHEMAS, key)) return Array.isArray(value) && key !== "items" ? "one schema" : null;
  if (Object.hasOwn(LISTS, key)) return Array.isArray(value) && value.length > 0 ? null : "a list of schemas";
  if (!Object.hasOwn(MAPS, key)) return null;
  if (!isNode(value)) return "an object of schemas";
  if (key === "patternProperties") {
    const wrong = Object.keys(value).find((pattern) => regularExpression(pattern) !== null);
    if (wrong !== undefined) return `a regular expression instead of ${show(wrong)}`;
  }
  if (key === "dependencies") {
    const wrong = Object.values(value).some((list) => Array.isArray(list) && strings(list) !== null);
    if (wrong) return "schemas and lists of names";
  }
  return null;
}

/** A schema that applies to a value again and again without going into it would never be done. */
function loopProblem(applied: ReadonlyMap<SchemaNode, readonly SchemaNode[]>): string | null {
  /** How many schemas apply inside each other, itself included; 0 while that is being found out. */
  const heights = new Map<SchemaNode, number>();
  function heightOf(node: SchemaNode, above: number): number | string {
    const known = heights.get(node);
    if (known === 0) return "a schema that refers to itself without going into the value";
    if (known !== undefined && above + known <= SCHEMA_DEPTH_MAX) return known;
    if (above > SCHEMA_DEPTH_MAX) {
      return `more than ${SCHEMA_DEPTH_MAX} schemas that apply to one value inside each other`;
    }
    heights.set(node, 0);
    let height = 1;
    for (const inner of applied.get(node) ?? []) {
      const found = heightOf(inner, above + 1);
      if (typeof found === "string") return found;
      height = Math.max(height, 1 + found);
    }
    heights.set(node, height);
    return height;
  }
  for (const node of applied.keys()) {
    const found = heightOf(node, 0);
    if (typeof found === "string") return found;
  }
  return null;
}

/** Whether a value is a plain set of members. */
export function isNode(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function aString(value: unknown): string | null {
  return typeof value === "string" ? null : "a string";
}

function aBoolean(value: unknown): string | null {
  return typeof value === "boolean" ? null : "true or false";
}

function strings(value: unknown): string | null {
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? null : "a list of names";
}

function aNumber(value: unknown): string | null {
  return typeof value === "number" ? null : "a number";
}

function count(value: unknown): string | null {
  return Number.isInteger(value) && (value as number) >= 0 ? null : "a whole number from 0";
}

function regularExpression(value: unknown): string | null {
  try {
    if (typeof value === "string") new RegExp(value, "u");
    return aString(value);
  } catch {
    return "a regular expression";
  }
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
