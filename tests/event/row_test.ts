import { assert, assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CorruptLogError, UnsupportedFormatError } from "../../src/errors.ts";
import {
  encodeRow,
  isRequiredUnknown,
  parseRow,
  readRow,
  RowFault,
  rowLooksLikeTurnEnd,
  type SessionEvent,
  shapeProblem,
} from "../../src/event/mod.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { draft, json, seq, sourceSeqs, text, time } from "./arbitraries.ts";

const good = { type: "turn/start", seq: 3, time: 5, data: { turn: 1 } };
const surface = {
  type: "user/message",
  seq: 30,
  time: 5,
  data: { id: "m", role: "user", content: [], source: { kind: "user" } },
  surfaceOp: "append",
};
const system = {
  type: "system/message",
  seq: 3,
  time: 5,
  data: {
    turn: 1,
    step: 1,
    message: { id: "s", role: "system", content: [], source: { kind: "plugin", plugin: "p" } },
  },
  surfaceOp: "append",
};

/** Text of a row with members replaced; undefined takes one away. */
function line(change: Record<string, unknown>, base: object = good): string {
  return JSON.stringify({ ...base, ...change });
}

function faultOf(text: string): RowFault {
  const fault = readRow(text);
  assertInstanceOf(fault, RowFault, text);
  return fault;
}

Deno.test("parseRow() refuses every row that does not decode with one clear error", () => {
  const cases: [string, string][] = [
    ["", "Cannot read row: found a blank line"],
    [" \r", "Cannot read row: found a blank line"],
    ["{", "Cannot read row: found text that is not valid JSON"],
    ["\ufeff" + line({}), "Cannot read row: found text that is not valid JSON"],
    ["null", "Cannot read row: found null, expected an event"],
    ["[]", "Cannot read row: found an array of 0, expected an event"],
    ["true", "Cannot read row: found true, expected an event"],
    ["12", "Cannot read row: found 12, expected an event"],
    ["{}", "Cannot read row: found type = nothing, expected a string"],
    [line({ type: 1 }), "Cannot read event 3: found type = 1, expected a string"],
    [line({ seq: undefined }), 'Cannot read row ("turn/start"): found seq = nothing, expected a count'],
    [line({ seq: -1 }), 'Cannot read row ("turn/start"): found seq = -1, expected a count'],
    [line({ seq: 1.5 }), 'Cannot read row ("turn/start"): found seq = 1.5, expected a count'],
    [line({ seq: "3" }), 'Cannot read row ("turn/start"): found seq = "3", expected a count'],
    [line({}).replace('"seq":3', '"seq":-0'), 'Cannot read row ("turn/start"): found seq = -0, expected a count'],
    [line({ time: undefined }), 'Cannot read event 3 ("turn/start"): found time = nothing, expected an integer'],
    [line({ time: 1.5 }), "found time = 1.5, expected an integer"],
    [line({ time: null }), "found time = null, expected an integer"],
    [line({}).replace('"time":5', '"time":-0'), "found time = -0, expected an integer"],
    [line({ data: undefined }), 'Cannot read event 3 ("turn/start"): found no data'],
    [line({ ignorable: false }), "found ignorable = false, expected true or nothing"],
    [line({ ignorable: null }), "found ignorable = null, expected true or nothing"],
    [line({ ignorable: "true" }), 'found ignorable = "true", expected true or nothing'],
    [line({ extra: 1 }), 'found the unknown field "extra"'],
    [line({ seq0: 1 }), 'found the unknown field "seq0"'],
    ['{"__proto__":{},' + line({}).slice(1), 'found the unknown field "__proto__"'],
    [line({ extra: 1 }, surface), 'Cannot read event 30 ("user/message"): found the unknown field "extra"'],
    [line({ surfaceOp: null }, surface), 'found surfaceOp = null, expected "append" or a replacement'],
    [line({ surfaceOp: "prepend" }, surface), 'found surfaceOp = "prepend", expected "append" or a replacement'],
    [line({ surfaceOp: {} }, surface), "found surfaceOp = an object, expected"],
    [line({ surfaceOp: { op: "replace", start: 1, end: 2 } }, surface), "found surfaceOp = an object, expected"],
    [line({ surfaceOp: { op: "replace", startSeq: 1 } }, surface), "found surfaceOp = an object, expected"],
    [line({ surfaceOp: { op: "replace", startSeq: -1, endSeq: 2 } }, surface), "found surfaceOp = an object, expected"],
    [line({ surfaceOp: { op: "cut", startSeq: 1, endSeq: 2 } }, surface), "found surfaceOp = an object, expected"],
    [
      line({ surfaceOp: { op: "replace", startSeq: 1, endSeq: 2, x: 1 } }, surface),
      "found surfaceOp = an object, expected",
    ],
    [line({ sourceEventSeqs: [] }, surface), "found an empty list (in sourceEventSeqs)"],
    [line({ sourceEventSeqs: null }, surface), "found null, expected a list (in sourceEventSeqs)"],
    [line({ sourceEventSeqs: [30] }, surface), "found seq 30, which is not before the event itself"],
    [line({ sourceEventSeqs: [[3, 1]] }, surface), "found a range that runs from 3 down to 1"],
    [line({ sourceEventSeqs: [1, 1] }, surface), "found the same seq twice"],
    [line({ ignorable: false, type: "future/thing" }), 'Cannot read event 3 ("future/thing"): found ignorable = false'],
    [line({ ignorable: true, data: undefined, type: "future/thing" }), "found no data"],
  ];
  for (const [text, message] of cases) {
    const error = assertThrows(() => parseRow(text), CorruptLogError, message);
    assertStrictEquals(error.code, "CORRUPT_LOG");
    assertStrictEquals(faultOf(text).kind, "issue", text);
  }
});

Deno.test("parseRow() refuses what version 3 must never hold, wherever the row stands", () => {
  const corrupt: [string, string][] = [
    [line({ type: "request/header", data: null }), "found data = null, expected an object"],
    [line({ type: "request/header", data: [] }), "found data = an array of 0, expected an object"],
    ['{"type":"request/header"}', "found data = nothing, expected an object"],
    [line({ data: 1 }, system), "found data = 1, expected an object"],
    [line({ data: { ...system.data, extra: 1 } }, system), 'found the unknown field "extra" in data'],
    [line({ data: { ...system.data, turn: 0 } }, system), "found data.turn = 0, expected a number from 1"],
    [line({ data: { ...system.data, step: "1" } }, system), 'found data.step = "1", expected a number from 1'],
    ['{"type":"system/message","data":{}}', "found data.turn = nothing, expected a number from 1"],
    [systemLine({ role: "user" }), 'found data.message.role = "user", expected "system"'],
    [systemLine({ id: "" }), 'found data.message.id = "", expected a non-empty string'],
    [systemLine({ content: "hi" }), 'found data.message.content = "hi", expected a list of blocks'],
    [systemLine({ extra: 1 }), 'found the unknown field "extra" in data.message'],
    [systemLine({ source: { kind: "user" } }), 'found data.message.source.kind = "user", expected "plugin"'],
    [systemLine({ source: { kind: "plugin", plugin: "" } }), 'found data.message.source.plugin = "", expected'],
    [
      systemLine({ source: { kind: "plugin", plugin: "p", x: 1 } }),
      'found the unknown field "x" in data.message.source',
    ],
  ];
  for (const [text, message] of corrupt) {
    assertThrows(() => parseRow(text), CorruptLogError, message);
    assertStrictEquals(faultOf(text).kind, "corrupt", text);
  }

  const unsupported: [string, string][] = [
    [
      line({ type: "request/header", data: { header: { system: "x" } } }),
      "found a system prompt in the request header",
    ],
    ['{"type":"request/header","data":{"header":{"system":null}}}', "found a system prompt in the request header"],
    [line({ type: "tool/code-dispatch" }), "found an event as only older versions write it"],
    ['{"type":"tool/code-dispatch-start"}', "found an event as only older versions write it"],
  ];
  for (const [text, message] of unsupported) {
    const error = assertThrows(() => parseRow(text), UnsupportedFormatError, message);
    assertEquals([error.code, error.type], ["UNSUPPORTED_FORMAT", faultOf(text).type]);
    assertStrictEquals(faultOf(text).kind, "unsupported", text);
  }
  assertStrictEquals(parseRow(line({ type: "tool/code-dispatch", ignorable: true })).type, "tool/code-dispatch");
});

function systemLine(message: Record<string, unknown>): string {
  return line({ data: { ...system.data, message: { ...system.data.message, ...message } } }, system);
}

Deno.test("readRow() names a gap before it expands anything, and only when it knows what to expect", () => {
  const bomb =
    '{"type":"user/message","seq":9007199254740991,"time":1,"data":{},"sourceEventSeqs":[[0,9007199254740000]]}';
  const fault = readRow(bomb, 4);
  assertInstanceOf(fault, RowFault);
  assertEquals([fault.kind, fault.problem], ["issue", "seq 9007199254740991, expected 4"]);
  assertThrows(() => parseRow(bomb), CorruptLogError, "seqs (in sourceEventSeqs)");
  assertEquals(readRow(line({}), 3), { ...good });
});

Deno.test("RowFault.toError() carries the place the caller knows", () => {
  const fault = faultOf(line({ time: 1.5 }));
  const error = fault.toError({ offsetBytes: 77 });
  assertInstanceOf(error, CorruptLogError);
  assertEquals([error.offsetBytes, error.seq], [77, 3]);
  assertInstanceOf(faultOf("{").toError().cause, SyntaxError);
});

Deno.test("rowLooksLikeTurnEnd() counts a bare object, and no other row", () => {
  for (const text of ['{"type":"turn/end"}', line({ type: "turn/end", data: {} }), line({ type: "turn/end", x: 1 })]) {
    assert(rowLooksLikeTurnEnd(text), text);
  }
  for (const text of ['[{"type":"turn/end"}]', "null", "", '"turn/end"', '{"type":"turn/end"', line({})]) {
    assert(!rowLooksLikeTurnEnd(text), text);
  }
});

Deno.test("parseRow() tolerates what the original tolerates", () => {
  assertEquals(parseRow(line({}) + "\r"), { ...good });
  assertEquals(parseRow('{"type":"turn/start","seq":3.0,"time":2e0,"data":{"turn":1}}'), { ...good, time: 2 });
  assertStrictEquals(parseRow(line({ time: -1 })).time, -1);
  assertEquals(parseRow(line({ data: { x: "\ud800" } })).data, { x: "\ud800" });
  // A number that overflows inside an opaque payload passes the scan.
  assertEquals(parseRow(line({ type: "plan/mode", data: 1 }).replace('"data":1', '"data":{"n":1e400}')).data, {
    n: Infinity,
  });
});

Deno.test("field/A18: an unknown event without ignorable comes back opaque and is told apart", () => {
  const text = line({ type: "future/thing", data: [1, { deep: true }], surfaceOp: { any: 1 }, other: null });
  const event = parseRow(text);
  assert(isRequiredUnknown(event));
  assertStrictEquals(shapeProblem(event), null);
  assertStrictEquals(encodeRow(event), text);
  for (const after of [line({}), line({}, surface)]) assert(!isRequiredUnknown(parseRow(after)));
});

Deno.test("field/A08: an unknown ignorable event keeps its seq and counts like any other", () => {
  const kinds = fc.array(fc.boolean(), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(kinds, text, json, (areUnknown, name, data) => {
      const lines = areUnknown.map((isUnknown, index) =>
        isUnknown
          ? line({ type: `future/${name}`, ignorable: true, seq: index, data, sourceEventSeqs: [0, 1, 2, "x"], x: 1 })
          : line({ seq: index })
      );
      let nextSeq = 0;
      for (const row of lines) {
        const event = readRow(row, nextSeq);
        assert(!(event instanceof RowFault));
        assertStrictEquals(encodeRow(event), row);
        nextSeq = event.seq + 1;
      }
      assertStrictEquals(nextSeq, lines.length);
    }),
    { seed: 5, numRuns: 200 },
  );
});

Deno.test("encodeRow() undoes parseRow(), and parseRow() encodeRow(), for any event", () => {
  fc.assert(
    fc.property(draft, seq, time, fc.boolean(), (sample, seq, time, isCloser) => {
      const { type, data, ignorable, surfaceOp, sourceEventSeqs } = sample;
      // Both key orders that writers use.
      const tail = isCloser ? { surfaceOp, sourceEventSeqs } : { sourceEventSeqs, surfaceOp };
      const event = JSON.parse(JSON.stringify({ type, seq, time, data, ignorable, ...tail })) as SessionEvent;
      const row = encodeRow(event);
      assert(!row.includes("\n"));
      const back = parseRow(row);
      assertStrictEquals(JSON.stringify(back), JSON.stringify(event));
      assertStrictEquals(encodeRow(back), row);
    }),
    { seed: 6, numRuns: 1000 },
  );
});

Deno.test("encodeRow() compresses sourceEventSeqs in place and leaves the event alone", () => {
  const event = parseRow(line({ sourceEventSeqs: [1, 2, 3, 4, 9], surfaceOp: "append" }, surface));
  const row = encodeRow(event);
  assert(row.endsWith('"surfaceOp":"append","sourceEventSeqs":[[1,4],9]}'), row);
  assertEquals(event.sourceEventSeqs, [1, 2, 3, 4, 9]);
  assertEquals(parseRow(row), event);
});

Deno.test("parseRow() expands what encodeRow() compressed, for any list", () => {
  fc.assert(
    fc.property(sourceSeqs, (seqs) => {
      const event = parseRow(line({ sourceEventSeqs: seqs }, surface));
      assertEquals(parseRow(encodeRow(event)).sourceEventSeqs, seqs);
    }),
    { seed: 7, numRuns: 300 },
  );
});

Deno.test("parseRow() and shapeProblem() accept the events of the version-3 files, and encodeRow() gives the lines back", () => {
  const files = ["v3/preview-follow-up-builder.session.v3.jsonl", "derived/migratable/session.v3.jsonl"];
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(files.length + 17, "rows of version-3 files");
  const logs = files.map((file) => Deno.readTextFileSync(`${folder}/dsh/${file}`).trimEnd().split("\n"));
  for (const entry of Deno.readDirSync(`${folder}/dsh/derived/v3-crash`)) {
    if (!entry.name.startsWith("prefix-")) continue;
    logs.push(JSON.parse(Deno.readTextFileSync(`${folder}/dsh/derived/v3-crash/${entry.name}`)).afterRepairFileLines);
  }
  assert(logs.length > 10);
  for (const [, ...rows] of logs) {
    rows.forEach((row, index) => {
      const event = parseRow(row);
      assertStrictEquals(event.seq, index);
      assertStrictEquals(shapeProblem(event), null);
      assertStrictEquals(encodeRow(event), row);
    });
  }
});
