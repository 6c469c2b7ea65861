import { assert, assertEquals, assertNotEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { argumentsDigest, canonicalJson, type JsonValue } from "../../src/event/mod.ts";
import { json } from "./arbitraries.ts";

Deno.test("canonicalJson() writes the sample of RFC 8785 §3.2.2 and §3.2.3", () => {
  const sample = JSON.parse(`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
    "literals": [null, true, false]
  }`);
  assertStrictEquals(
    canonicalJson(sample),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

Deno.test("canonicalJson() sorts keys by UTF-16 code units, as the sample of RFC 8785 §3.2.3 does", () => {
  const sample = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  };
  assertEquals(Object.values(JSON.parse(canonicalJson(sample)) as Record<string, string>).length, 7);
  const order = [...canonicalJson(sample).matchAll(/:"([^"]*)"/g)].map((match) => match[1]);
  assertEquals(order, [
    "Carriage Return",
    "One",
    "Control",
    "Latin Small Letter O With Diaeresis",
    "Euro Sign",
    "Emoji: Grinning Face",
    "Hebrew Letter Dalet With Dagesh",
  ]);
});

Deno.test("canonicalJson() writes the numbers of RFC 8785 appendix B", () => {
  const cases: [string, string | null][] = [
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["7fffffffffffffff", null],
    ["7ff0000000000000", null],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ];
  for (const [bits, expected] of cases) {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt(`0x${bits}`));
    const value = view.getFloat64(0);
    if (expected === null) assertThrows(() => canonicalJson(value), RangeError, "found");
    else assertStrictEquals(canonicalJson(value), expected, bits);
  }
});

Deno.test("canonicalJson() means the same value, and does not depend on the order of keys", () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value);
      assertStrictEquals(canonicalJson(JSON.parse(text)), text);
      assertStrictEquals(canonicalJson(reversed(value)), text);
    }),
    { seed: 11, numRuns: 300 },
  );
});

Deno.test("canonicalJson() keeps lone surrogates as escapes, where the RFC would refuse them", () => {
  assertStrictEquals(canonicalJson({ "\ud83d": "\udc33x" }), '{"\\ud83d":"\\udc33x"}');
});

Deno.test("argumentsDigest() is the SHA-256 of the canonical text", async () => {
  assertStrictEquals(
    await argumentsDigest("{}"),
    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
  );
  assertStrictEquals(
    await argumentsDigest('{"b":1.0,"a":[true]}'),
    "708747538ba81fd60b5aac8c646370de5e24abf70ab1872f67458a5a4f3af05d",
  );
});

Deno.test("argumentsDigest() is the same for every spelling of the same arguments", async () => {
  const same = [
    ["", "{}", " {\n} "],
    ['{"a":1,"b":"é"}', '{ "b": "\\u00e9", "a": 1.0 }', '{"b":"é","a":1e0}'],
    ["[1]", "[ 1.0 ]"],
  ];
  for (const [first, ...others] of same) {
    for (const other of others) {
      assertStrictEquals(await argumentsDigest(other), await argumentsDigest(first as string));
    }
  }
});

Deno.test("argumentsDigest() differs for different arguments, and takes text that has no canonical form as it is", async () => {
  const deep = "[".repeat(5000) + "]".repeat(5000);
  const texts = ["{}", " ", "{", '{"a":1}', '{"a":"1"}', '{"a":1e400}', '{"a":1e401}', "null", '"\ud800"', deep];
  const digests = await Promise.all(texts.map(argumentsDigest));
  assertEquals(new Set(digests).size, texts.length);
  for (const digest of digests) assert(/^[0-9a-f]{64}$/.test(digest));
  assertNotEquals(digests[5], digests[6]);
});

function reversed(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member as JsonValue)]));
}
