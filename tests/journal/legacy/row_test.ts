import { assert, assertEquals } from "@std/assert";
import { RowFault } from "../../../src/event/mod.ts";
import { PACKED_DELTAS_MAX } from "../../../src/journal/legacy/packed_row.ts";
import { encodeLegacyRow, legacyRowLooksLikeTurnEnd, readLegacyRow } from "../../../src/journal/legacy/mod.ts";

const TEXTS = {
  type: "text-chunks",
  seq0: 3,
  time0: 10,
  data: { turn: 1, step: 1, index: 0, dt: [-2], texts: ["a", ""] },
};
const CALL = {
  ...TEXTS,
  type: "tool-call-chunks",
  data: { turn: 1, step: 1, index: 0, dt: [], id: "", name: "", args: ["{}"] },
};
const read = (row: unknown, version: 0 | 1 | 2, seq?: number) => readLegacyRow(JSON.stringify(row), version, seq);
const problemOf = (row: unknown, version: 0 | 1 | 2, seq?: number) => {
  const read_ = read(row, version, seq);
  return read_ instanceof RowFault ? read_.problem : null;
};

Deno.test("readLegacyRow() reads packed rows of versions 0 and 1, of one member and more, empty ids included", () => {
  for (const version of [0, 1] as const) {
    for (const [row, count] of [[TEXTS, 2], [CALL, 1]] as const) {
      const run = read(row, version, 3);
      assert(!(run instanceof RowFault) && run.kind === "run");
      assertEquals([run.firstSeq, run.count], [3, count]);
      assertEquals(encodeLegacyRow(run, version), JSON.stringify(row));
    }
  }
});

Deno.test("readLegacyRow() gives an issue for a malformed packed row, whole row lost", () => {
  const data = TEXTS.data;
  const malformed: unknown[] = [
    { ...TEXTS, extra: 1 },
    { ...TEXTS, seq0: -1 },
    { ...TEXTS, time0: 1.5 },
    { ...TEXTS, time0: Number.MAX_SAFE_INTEGER, data: { ...data, dt: [1] } },
    { ...TEXTS, data: null },
    { ...TEXTS, data: { ...data, dt: [] } },
    { ...TEXTS, data: { ...data, dt: [0.5] } },
    { ...TEXTS, data: { ...data, dt: "x" } },
    { ...TEXTS, data: { ...data, texts: [] } },
    { ...TEXTS, data: { ...data, texts: ["a", 1] } },
    { ...TEXTS, data: { ...data, turn: "1" } },
    { ...TEXTS, data: { ...data, step: undefined } },
    { ...TEXTS, data: { ...data, id: "c" } },
    { ...CALL, data: { ...CALL.data, id: undefined } },
    { ...CALL, data: { ...CALL.data, name: 1 } },
    { ...CALL, data: { ...CALL.data, texts: [] } },
  ];
  for (const row of malformed) assert(problemOf(row, 0)?.startsWith("a malformed ") === true, JSON.stringify(row));
  assertEquals(problemOf(TEXTS, 0, 4), "seq 3, expected 4");
});

Deno.test("readLegacyRow() of versions 0 and 1 looks at the seq only; version 2 at the whole row", () => {
  const event = { type: "user/message", seq: 4, time: 1, data: {}, surfaceOp: "append", sourceEventSeqs: [[0, 2]] };
  const odd: unknown[] = [
    { ...event, extra: 1 },
    { ...event, time: 1.5 },
    { ...event, data: undefined },
    { ...event, ignorable: false },
    { ...event, surfaceOp: { op: "replace", startSeq: 1, endSeq: 1 } },
    { ...event, surfaceOp: { op: "replace", start: 1, end: 1, more: 1 } },
    { ...event, sourceEventSeqs: [4] },
    { ...event, sourceEventSeqs: [] },
  ];
  for (const row of odd) {
    assertEquals([problemOf(row, 0, 4), problemOf(row, 1, 4)], [null, null], JSON.stringify(row));
    assert(problemOf(row, 2, 4) !== null, JSON.stringify(row));
  }
  assert(problemOf({ ...event, type: 1 }, 2, 4) !== null);
  assertEquals(problemOf({ ...event, type: "future/x", extra: 1 }, 2, 4), null);
  for (const version of [0, 1, 2] as const) {
    assertEquals(problemOf(event, version, 5), "seq 4, expected 5");
    for (const row of [null, [], 1, "x", true]) assert(problemOf(row, version) !== null);
    assert(readLegacyRow(" ", version) instanceof RowFault);
    assert(readLegacyRow("{", version) instanceof RowFault);
  }
  // Version 2 expands pairs and compresses them again; the older ones keep what is written.
  const strict = read(event, 2, 4);
  assert(!(strict instanceof RowFault) && strict.kind === "event");
  assertEquals(strict.event.sourceEventSeqs, [0, 1, 2]);
  for (const version of [0, 2] as const) {
    const row = read(event, version, 4);
    assertEquals(row instanceof RowFault ? null : encodeLegacyRow(row, version), JSON.stringify(event));
  }
});

Deno.test("legacyRowLooksLikeTurnEnd() believes what a row says of itself", () => {
  const cases: [string, boolean][] = [
    ['{"type":"turn/end"}', true],
    ['{"type":"turn/end","seq":-1}', true],
    ['{"type":"turn/end","seq":4,"time":1,"data":{}}', true],
    ['[{"type":"turn/end"}]', false],
    ['{"type":"turn/start","seq":4}', false],
    ["null", false],
    [JSON.stringify(TEXTS), false],
  ];
  for (const [line, isTurnEnd] of cases) assertEquals(legacyRowLooksLikeTurnEnd(line), isTurnEnd, line);
});

Deno.test("readLegacyRow() refuses a packed row of more deltas than anybody writes, before they become events", () => {
  const row = (count: number) => {
    const texts = Array(count).fill("");
    return {
      type: "text-chunks",
      seq0: 0,
      time0: 0,
      data: { turn: 1, step: 1, index: 0, dt: Array(count - 1).fill(0), texts },
    };
  };
  assertEquals(problemOf(row(PACKED_DELTAS_MAX), 0), null);
  const fault = read(row(PACKED_DELTAS_MAX + 1), 0);
  assert(fault instanceof RowFault);
  assertEquals(fault.kind, "unsupported");
});
