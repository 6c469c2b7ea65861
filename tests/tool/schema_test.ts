import { assert, assertEquals, assertMatch, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { z } from "zod";
import { type JsonObject, type JsonValue, snapshotJson } from "../../src/event/mod.ts";
import { CHECK_STEPS_MAX, UNIQUE_ITEMS_MAX } from "../../src/tool/json_schema.ts";
import { SCHEMA_DEPTH_MAX } from "../../src/tool/json_schema_shape.ts";
import { type CheckedValue, compileSchema, SCHEMA_SIZE_MAX, type SchemaDeclaration } from "../../src/tool/schema.ts";
import { PROBLEMS_MAX, problemsText } from "../../src/tool/schema_problem.ts";

const WHAT = 'the arguments of "pay"';

const PAYMENT = {
  type: "object",
  properties: {
    to: { type: "string", minLength: 1 },
    amount: { type: "number", exclusiveMinimum: 0 },
    currency: { enum: ["EUR", "USD"], default: "EUR" },
    lines: { type: "array", items: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } },
  },
  required: ["to", "amount"],
} as const satisfies JsonObject;

const zodPayment = z.object({
  to: z.string().min(1),
  amount: z.number().gt(0),
  currency: z.enum(["EUR", "USD"]).default("EUR"),
  lines: z.array(z.object({ text: z.string() })).optional(),
});

/** The paths of what is wrong, or none. */
async function paths(schema: SchemaDeclaration, value: unknown): Promise<string[]> {
  const found = await compileSchema(schema, WHAT).check(value);
  return found.ok ? [] : found.problems.map(({ path }) => path).sort();
}

async function text(schema: SchemaDeclaration, value: unknown): Promise<string> {
  const found = await compileSchema(schema, WHAT).check(value);
  return found.ok ? "" : problemsText(found.problems);
}

function refuses(schema: unknown, ...found: string[]): void {
  const error = assertThrows(() => compileSchema(schema as JsonObject, WHAT), TypeError);
  assertStringIncludes(error.message, `Cannot use ${WHAT} as a schema: `);
  for (const part of found) assertStringIncludes(error.message, part);
}

for (const [kind, schema] of [["a plain JSON Schema", PAYMENT], ["zod", zodPayment]] as const) {
  Deno.test(`check() names each violating path, when arguments violate ${kind} (exec/T10)`, async () => {
    assertEquals(
      await paths(schema, { to: "", amount: -1, currency: "XXX", lines: [{ text: "a" }, {}, { text: 7 }] }),
      [
        "/amount",
        "/currency",
        "/lines/1/text",
        "/lines/2/text",
        "/to",
      ],
    );
    assertEquals(await paths(schema, {}), ["/amount", "/to"]);
    for (const value of ["{oops", null, 7, [1]]) assertEquals(await paths(schema, value), [""]);
  });

  Deno.test(`check() accepts extra keys and omitted optionals, with ${kind} (exec/T10)`, async () => {
    const given = snapshotJson({ to: "ann", amount: 1, more: { x: 1 } }, "arguments");
    const found = await compileSchema(schema, WHAT).check(given);
    assert(found.ok);
    assertEquals((found.value as JsonObject).to, "ann");
    // What was given, and so what is logged, is as it was: no default came into it.
    assertEquals(given, { to: "ann", amount: 1, more: { x: 1 } });
  });
}

Deno.test("check() gives back the very value with a JSON Schema, and the validator's own with zod", async () => {
  const given = { to: "ann", amount: 1 };
  const plain = await compileSchema(PAYMENT, WHAT).check(given);
  assert(plain.ok);
  assertStrictEquals(plain.value, given as JsonValue);
  const checked = await compileSchema(zodPayment, WHAT).check(given);
  assertEquals(checked, { ok: true, value: { to: "ann", amount: 1, currency: "EUR" } });
});

Deno.test("check() names what is wrong with an output, when it violates its schema (exec/T11)", async () => {
  const output = { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] };
  const { check } = compileSchema(output, 'the output of "count"');
  assertEquals(await check({ rows: 1.5 }), {
    ok: false,
    problems: [{ path: "/rows", message: 'Instance type "number" is invalid. Expected "integer"' }],
  });
  for (const value of [undefined, 1n, () => {}]) {
    const found = await check(value);
    assert(!found.ok);
    assertMatch(problemsText(found.problems), /^cannot be checked: Instances of/);
  }
});

Deno.test("check() says what is missing, too much, or in none of the choices", async () => {
  const schema = {
    type: "object",
    properties: {
      "a/b": { type: "object", required: ["x~y"] },
      kind: { anyOf: [{ const: "one" }, { type: "number" }] },
    },
    required: ["kind"],
    additionalProperties: false,
  };
  assertEquals(await text(schema, {}), "/kind: is missing");
  assertEquals(await text(schema, { kind: 1, "é e": 1 }), "/é e: is not allowed");
  assertEquals(await text(schema, { kind: 1, "a/b": {} }), "/a~1b/x~0y: is missing");
  assertMatch(await text(schema, { kind: "two" }), /^\/kind: Instance does not match any subschemas; \/kind: .*"one"/);
});

Deno.test("check() waits for a validator, and takes one that throws for a problem of the value", async () => {
  const slow = z.string().refine((value) => Promise.resolve(value === "good"), "not good");
  assertEquals(await paths(slow, "good"), []);
  assertEquals(await text(slow, "bad"), "not good");
  const broken = z.string().transform(() => {
    throw new Error("out of order");
  });
  assertEquals(await text(broken, "x"), "cannot be checked: out of order");
});

Deno.test("check() reads the paths and issues of any validator", async () => {
  const issues: unknown[] = [];
  // Like arktype's, this schema is a function.
  const schema = Object.assign(() => {}, {
    "~standard": {
      version: 1 as const,
      vendor: "mine",
      validate: () => ({ issues }) as never,
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  });
  issues.push({ message: "one", path: ["a", { key: 0 }, "b/c"] }, { message: "two" });
  assertEquals(await text(schema, {}), "/a/0/b~1c: one; two");
  issues.length = 0;
  assertEquals(await text(schema, {}), "is invalid");
});

Deno.test("check() names no more than PROBLEMS_MAX problems, each once and short", async () => {
  const { check } = compileSchema({ type: "array", items: { type: "string", enum: ["x".repeat(1000)] } }, WHAT);
  const found = await check(Array(500).fill("y"));
  assert(!found.ok);
  assertEquals(found.problems.length, PROBLEMS_MAX);
  assertEquals(found.problems.at(-1), { path: "", message: `${500 - PROBLEMS_MAX + 1} more problems` });
  assert(problemsText(found.problems).length < PROBLEMS_MAX * 400);
  assertEquals((await paths({ allOf: [{ type: "string" }, { type: "string" }] }, 1)).length, 1);
});

Deno.test("compileSchema() tells the model the schema as it was declared, and freezes it", () => {
  const declared = { ...PAYMENT, description: "Pays.", "x-order": 1, title: undefined };
  const { jsonSchema } = compileSchema(declared, WHAT);
  assertEquals(jsonSchema, JSON.parse(JSON.stringify(declared)));
  assert(Object.isFrozen(jsonSchema) && Object.isFrozen(jsonSchema.properties));
  assertEquals(Object.keys(PAYMENT.properties.to), ["type", "minLength"]);
  assert(!Object.isFrozen(declared));

  const ofZod = compileSchema(zodPayment, WHAT).jsonSchema;
  assertEquals(Object.keys(ofZod), ["type", "properties", "required"]);
  // What the model must send: the default may be left out.
  assertEquals(ofZod.required, ["to", "amount"]);
});

Deno.test("compileSchema() takes what zod writes for one of its own, and every draft", async () => {
  assertEquals(await paths(z.toJSONSchema(zodPayment) as JsonObject, { to: "" }), ["/amount", "/to"]);
  const bound = (draft: string, rest: JsonObject) => ({ $schema: `http://json-schema.org/${draft}/schema#`, ...rest });
  for (const draft of ["draft-06", "draft-07", "draft/2019-09", "draft/2020-12"]) {
    assertEquals(await paths(bound(draft, { exclusiveMinimum: 3 }), 3), [""]);
    refuses(bound(draft, { exclusiveMinimum: true }), "/exclusiveMinimum, where a number belongs");
  }
  assertEquals(await paths(bound("draft-04", { minimum: 3, exclusiveMinimum: true }), 3), [""]);
  refuses(bound("draft-04", { exclusiveMinimum: 3 }), "where true or false belongs");
  assertEquals(await paths(bound("draft-07", { items: [{ type: "string" }] }), [1]), ["/0"]);
  const dependencies = { dependencies: { a: ["b"], c: { required: ["d"] } } };
  assertEquals(await paths(bound("draft-07", dependencies), { a: 1, c: 1 }), ["", "", "/d"]);
  refuses({ $schema: "http://example.com/mine" }, "which is no known draft");
  refuses({ $schema: 7 }, "which is no known draft");
});

Deno.test("compileSchema() refuses, when the schema is broken, and says where", () => {
  for (
    const [schema, found] of [
      [{ type: "strnig" }, '"strnig" at #/type, where the name of a type'],
      [{ type: [] }, "#/type"],
      [{ properties: { a: { type: "x" } } }, "#/properties/a/type"],
      [{ properties: ["a"] }, "#/properties, where an object of schemas belongs"],
      [{ properties: { a: "string" } }, '"string" at #/properties/a, where a schema belongs'],
      [{ required: "a" }, "#/required, where a list of names belongs"],
      [{ properties: { a: { required: true } } }, "#/properties/a/required"],
      [{ enum: "a" }, "#/enum"],
      [{ items: { pattern: "(" } }, "#/items/pattern, where a regular expression belongs"],
      [{ patternProperties: { "(": true } }, 'a regular expression instead of "("'],
      [{ allOf: [] }, "#/allOf, where a list of schemas belongs"],
      [{ anyOf: { type: "string" } }, "#/anyOf"],
      [{ oneOf: [{ minLength: -1 }] }, "#/oneOf/0/minLength, where a whole number"],
      [{ not: 1 }, "1 at #/not, where a schema belongs"],
      [{ not: [true] }, "#/not, where one schema belongs"],
      [{ multipleOf: 0 }, "#/multipleOf"],
      [{ uniqueItems: "yes" }, "#/uniqueItems"],
      [{ dependentRequired: { a: "b" } }, "#/dependentRequired"],
      [{ dependencies: { a: [1] } }, "#/dependencies"],
      [{ $ref: 7 }, "#/$ref, where a string belongs"],
      [{ $ref: "#/$defs/gone" }, 'the reference "#/$defs/gone"'],
      [{ $ref: "https://example.com/elsewhere" }, "points at no schema in this one"],
      [{ dependencies: { allOf: { type: "string" } }, not: { $ref: "#/dependencies" } }, '"#/dependencies"'],
      [{ $dynamicRef: "#x" }, "#/$dynamicRef"],
      [{ items: { $recursiveRef: "#" } }, "#/items/$recursiveRef"],
      [
        { $defs: { a: { $id: "https://a.b/c" }, d: { $id: "https://a.b/c" } } },
        "its ids and references cannot be read",
      ],
      [[], "found [], wanted an object"],
      [undefined, "found undefined, wanted an object"],
      ["string", 'found "string", wanted an object'],
    ] as const
  ) refuses(schema, found);
});

Deno.test("compileSchema() refuses, when a validator cannot say itself as JSON Schema", () => {
  const standard = zodPayment["~standard"];
  refuses({ "~standard": { ...standard, version: 2 } }, "does not follow Standard Schema 1");
  refuses({ "~standard": null }, "does not follow Standard Schema 1");
  refuses(
    { "~standard": { version: 1, vendor: "small", validate: standard.validate } },
    "this schema of small cannot say",
  );
  refuses(z.object({ when: z.date() }), "zod cannot write it as JSON Schema: Date");
});

Deno.test("compileSchema() reads no keyword into notes, names and data", async () => {
  const schema = {
    properties: { $ref: { type: "string" }, id: { type: "string" }, type: { type: "string" }, __proto__x: true },
    examples: [{ $ref: "#/nowhere", id: 5 }],
    example: { id: "same", $ref: "http://[bad" },
    "x-more": { id: "same", type: "strnig" },
    default: { $ref: 5 },
    const: { $ref: "r", id: "i", type: "t" },
    id: "not a name in this draft",
    __absolute_ref__: "#/nowhere",
    __absolute_uri__: "mine",
  };
  assertEquals(await paths(schema, { $ref: "r", id: "i", type: "t" }), []);
  assertEquals(await paths({ properties: { type: { type: "string" } } }, { type: 1 }), ["/type"]);
});

Deno.test("compileSchema() refuses a schema that would never be done, and accepts one that goes into the value", async () => {
  for (
    const schema of [
      { $ref: "#" },
      {
        allOf: [{ $ref: "#/$defs/a" }],
        $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } },
      },
      { if: { $ref: "#" } },
      { dependentSchemas: { a: { $ref: "#" } } },
      { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } },
    ]
  ) refuses(schema, "refers to itself without going into the value");

  const tree = {
    $ref: "#/$defs/node",
    $defs: {
      node: {
        type: "object",
        properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        required: ["name"],
      },
    },
  };
  const leaf = { name: "a", children: [{ name: "b", children: [{ children: [] }] }] };
  assertEquals(await paths(tree, leaf), ["/children/0/children/0/name"]);
  const zodTree = z.object({
    name: z.string(),
    get children() {
      return z.array(zodTree);
    },
  });
  assertEquals(await paths(compileSchema(zodTree, WHAT).jsonSchema, leaf), ["/children/0/children/0/name"]);
});

Deno.test("compileSchema() refuses a schema that is too large or too deep", () => {
  refuses({ description: "x".repeat(SCHEMA_SIZE_MAX) }, `is over ${SCHEMA_SIZE_MAX} characters`);
  const nested = (levels: number): JsonObject => levels === 0 ? {} : { items: nested(levels - 1) };
  compileSchema(nested(SCHEMA_DEPTH_MAX), WHAT);
  refuses(nested(SCHEMA_DEPTH_MAX + 1), `nests deeper than ${SCHEMA_DEPTH_MAX} levels`);
  const loop: Record<string, unknown> = {};
  loop.items = loop;
  refuses(loop, "is not JSON");
  const chain = Object.fromEntries(
    Array.from({ length: SCHEMA_DEPTH_MAX + 2 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }]),
  );
  refuses(
    { $defs: { ...chain, [`d${SCHEMA_DEPTH_MAX + 2}`]: {} } },
    "schemas that apply to one value inside each other",
  );
});

Deno.test("check() ends, when a schema doubles the work at every step", async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, { allOf: [next, next] }];
    }),
  );
  const doubling = { $ref: "#/$defs/d0", $defs: { ...$defs, d40: { type: "string" } } };
  assertEquals(await text(doubling, "x"), "cannot be checked: it takes too many steps");
  const deeper = { properties: { a: { allOf: [{ $ref: "#" }, { $ref: "#" }] } } };
  let value: JsonObject = {};
  for (let level = 0; level < 40; level++) value = { a: value };
  assertEquals(await text(deeper, value), "cannot be checked: it takes too many steps");
  const enough = Array(CHECK_STEPS_MAX - 1).fill(1);
  assertEquals(await text({ items: { type: "number" } }, enough), "");
  assertEquals(await text({ items: { type: "number" } }, [...enough, 1]), "cannot be checked: it takes too many steps");
});

Deno.test("check() ends, when a value nests deep or its items must be compared", async () => {
  let value: JsonValue = {};
  for (let level = 0; level < 900; level++) value = { a: { a: value } };
  const found = await text({ properties: { a: { allOf: [{ allOf: [{ $ref: "#" }] }] } } }, value);
  assert(found === "" || found === "cannot be checked: it nests too deep", found);
  const unique = { properties: { "a/b": { uniqueItems: true } } };
  const many = Array.from({ length: UNIQUE_ITEMS_MAX + 1 }, (_, index) => index);
  assertEquals(await paths(unique, { "a/b": many }), ["/a~1b"]);
  assertEquals(await paths(unique, { "a/b": many.slice(1) }), []);
  assertEquals(await paths(unique, { "a/b": [1, { a: 1 }, { a: 1 }] }), ["/a~1b"]);
});

Deno.test("check() names what it found first, when naming everything would take too long", async () => {
  const found = await compileSchema({ items: { properties: { a: { type: "string" } } } }, WHAT)
    .check(Array.from({ length: 50_000 }, () => ({ a: 1 })));
  assert(!found.ok);
  assertEquals(found.problems.map(({ path }) => path), ["/0/a"]);
});

Deno.test("check() checks the formats that can be checked in time, and takes the others for notes", async () => {
  assertEquals(await paths({ format: "date-time" }, "yesterday"), [""]);
  assertEquals(await paths({ format: "uuid" }, "1"), [""]);
  assertEquals(await paths({ format: "constructor" }, "x"), []);
  assertEquals(await paths({ format: "__proto__" }, "x"), []);
  assertEquals(await paths({ format: "url" }, `http://${"a".repeat(40)}!`), []);
});

Deno.test("check() never rejects and never finds fault without naming it, whatever the value", async () => {
  const schemas = [PAYMENT, { not: {} }, { uniqueItems: true, contains: { type: "string" } }, {
    oneOf: [{ type: "object", minProperties: 1 }, { items: { multipleOf: 2 } }, { pattern: "^a" }],
    unevaluatedProperties: false,
    propertyNames: { maxLength: 3 },
  }].map((schema) => compileSchema(schema, WHAT));
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      for (const { check } of schemas) {
        const found = await check(value);
        assert(found.ok || found.problems.length > 0);
      }
    }),
    { seed: 1, numRuns: 300 },
  );
});

Deno.test("compileSchema() never throws anything but a TypeError, whatever the schema", () => {
  const keyword = fc.constantFrom(
    "type",
    "properties",
    "items",
    "$ref",
    "allOf",
    "required",
    "$id",
    "enum",
    "not",
    "format",
  );
  const schema = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("string", "#", "#/properties/a", "", "%", "//", true, 0, null),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(keyword, fc.constant("a")), tie("any"), { maxKeys: 4 }),
    ),
  })).any;
  fc.assert(
    fc.property(schema, (schema) => {
      try {
        compileSchema(schema as JsonObject, WHAT);
      } catch (error) {
        assert(error instanceof TypeError && error.message.startsWith("Cannot use"), String(error));
      }
    }),
    { seed: 1, numRuns: 2000 },
  );
});

/** Compiles only when a body is given what the validator makes, and JSON otherwise. */
function _isTyped(value: CheckedValue<typeof zodPayment>, plain: CheckedValue<typeof PAYMENT>): void {
  const currency: "EUR" | "USD" = value.currency;
  const json: JsonValue = plain;
  // @ts-expect-error: JSON has no member of its own
  void [currency, json, plain.to];
}
