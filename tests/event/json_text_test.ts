import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { checkAppendable, encodeRow, jsonText, parseRow } from "../../src/event/mod.ts";

Deno.test("jsonText() writes what JSON.stringify writes, for whatever that writes losslessly", () => {
  const check = (value: unknown) => {
    assertEquals(jsonText(value), JSON.stringify(value));
    assertEquals(jsonText(value, 2), JSON.stringify(value, null, 2));
  };
  for (
    const value of [null, true, 0, 1e21, 1.5, "", "ä\n\u2028", [], {}, [[]], [{}], { a: [] }, { a: undefined, b: 1 }, [
      undefined,
    ]]
  ) {
    check(value);
  }
  check(JSON.parse('{"__proto__":{"a":1},"2":1,"1":2}'));
  const lossless = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("-0"));
  const noZero = lossless.map((value) => JSON.parse(JSON.stringify(value)));
  fc.assert(fc.property(noZero, check), { seed: 1, numRuns: 300 });
});

Deno.test("jsonText() keeps −0 and numbers beyond the doubles, and nests as deep as it is", () => {
  const value = JSON.parse('{"a":[-0,1e400,-1e400]}');
  const { a } = JSON.parse(jsonText(value));
  assert(Object.is(a[0], -0));
  assertEquals(a.slice(1), [Infinity, -Infinity]);
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  assertEquals(jsonText(JSON.parse(deep)), deep);
});

Deno.test("encodeRow() changes nothing of what another program wrote, and compresses sources in both ways of writing", () => {
  const odd =
    '{"type":"odd/thing","seq":9,"time":1,"data":{"a":[-0,1e999,"\\ud800"]},"ignorable":true,"sourceEventSeqs":[1,2,3,4]}';
  assertEquals(encodeRow(parseRow(odd)), odd);
  const message = { id: "m", role: "user", content: [{ type: "text", text: "\u202eß" }], source: { kind: "user" } };
  const draft = { type: "user/message", data: message, surfaceOp: "append", sourceEventSeqs: [1, 2, 3, 4, 8] } as const;
  const appended = checkAppendable(draft, 9, 1);
  const row = encodeRow(appended);
  assertEquals(JSON.parse(row).sourceEventSeqs, [[1, 4], 8]);
  assertEquals(encodeRow(parseRow(row)), row);
  assertEquals(parseRow(row), appended);
});
