import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  replayStream,
  shapeProblem,
  type StreamChunk,
  type StreamRecord,
  StreamRecorder,
} from "../../src/event/mod.ts";
import { casesNotRun, fixturesDir, ownFixturesDir } from "../support/fixtures.ts";
import { text } from "./arbitraries.ts";
import { everyRecord } from "./samples.ts";

function record(chunks: readonly { chunk: StreamChunk; time: number }[]): readonly StreamRecord[] {
  const recorder = new StreamRecorder();
  for (const { chunk, time } of chunks) recorder.add(chunk, time);
  return recorder.records;
}

const say = (text: string, index = 0): StreamChunk => ({ type: "text-delta", index, text });
const call = (id: string, argumentsDelta: string, name?: string): StreamChunk => ({
  type: "tool-call-delta",
  index: 0,
  id,
  argumentsDelta,
  ...(name === undefined ? {} : { name }),
});

Deno.test("StreamRecorder packs a single delta already, in the format's key order", () => {
  assertStrictEquals(
    JSON.stringify(record([{ chunk: say("a"), time: 5 }, { chunk: call("c", "{", "echo"), time: 6 }])),
    '[{"type":"text-chunks","time0":5,"index":0,"dt":[],"texts":["a"]},' +
      '{"type":"tool-call-chunks","time0":6,"index":0,"dt":[],"id":"c","name":"echo","args":["{"]}]',
  );
});

Deno.test("StreamRecorder joins deltas of one kind, index, id and name, and keeps time going backwards", () => {
  const records = record([
    { chunk: say("a"), time: 10 },
    { chunk: say(""), time: 7 },
    { chunk: say("b", 1), time: 8 },
    { chunk: { type: "reasoning-delta", index: 1, text: "r" }, time: 8 },
    { chunk: call("c", "1", "echo"), time: 9 },
    { chunk: call("c", "2"), time: 9 },
    { chunk: call("c", "3"), time: 11 },
    { chunk: call("d", "4"), time: 12 },
  ]);
  assertEquals(records as unknown, [
    { type: "text-chunks", time0: 10, index: 0, dt: [-3], texts: ["a", ""] },
    { type: "text-chunks", time0: 8, index: 1, dt: [], texts: ["b"] },
    { type: "reasoning-chunks", time0: 8, index: 1, dt: [], texts: ["r"] },
    { type: "tool-call-chunks", time0: 9, index: 0, dt: [], id: "c", name: "echo", args: ["1"] },
    { type: "tool-call-chunks", time0: 9, index: 0, dt: [2], id: "c", args: ["2", "3"] },
    { type: "tool-call-chunks", time0: 12, index: 0, dt: [], id: "d", args: ["4"] },
  ]);
});

Deno.test("StreamRecorder keeps whole what the packed form has no place for", () => {
  const chunks: StreamChunk[] = [
    call("", "x"),
    call("c", "x", ""),
    { type: "block-start", index: 0, blockType: "text" },
    Object.assign(say("a"), { extra: 1 }),
    { type: "finish", reason: { kind: "stop" } },
  ];
  const records = record(chunks.map((chunk) => ({ chunk, time: 3 })));
  assertEquals(records, chunks.map((chunk): StreamRecord => ({ type: "chunk", time: 3, chunk })));
});

Deno.test("StreamRecorder starts a new record when the gap is no safe integer", () => {
  const far = Number.MAX_SAFE_INTEGER;
  const chunks = [{ chunk: say("a"), time: -far }, { chunk: say("b"), time: far }, { chunk: say("c"), time: far - 1 }];
  assertEquals(record(chunks).length, 2);
  assertEquals(replayStream(record(chunks)), chunks);
});

Deno.test("StreamRecorder refuses what the log could not hold, and records nothing of it", () => {
  const recorder = new StreamRecorder();
  const cases: [unknown, number, string][] = [
    [null, 1, "found chunk = null, expected an object"],
    [{ type: "text-delta", index: 0 }, 1, "found chunk.text = nothing, expected a string"],
    [say("a"), 1.5, "found time 1.5, expected an integer"],
    [say("a"), NaN, "found time NaN, expected an integer"],
    [{ type: "future", data: undefined }, 1, "lossless JSON"],
    [{ type: "finish", reason: { kind: "stop" }, replayState: { at: -0 } }, 1, "lossless JSON"],
  ];
  for (const [chunk, time, message] of cases) {
    assertThrows(() => recorder.add(chunk as StreamChunk, time), TypeError, message);
  }
  assertEquals(recorder.records, []);
});

Deno.test("StreamRecorder.records is a frozen copy that later chunks do not change", () => {
  const recorder = new StreamRecorder();
  recorder.add(say("a"), 1);
  const before = recorder.records;
  recorder.add(say("b"), 2);
  assertEquals(before as unknown, [{ type: "text-chunks", time0: 1, index: 0, dt: [], texts: ["a"] }]);
  assertEquals(recorder.records as unknown, [{ type: "text-chunks", time0: 1, index: 0, dt: [1], texts: ["a", "b"] }]);
  assert(Object.isFrozen(before) && Object.isFrozen(before[0]));
});

Deno.test("replayStream() gives back every chunk with its time, whatever was recorded", () => {
  const index = fc.nat({ max: 2 });
  const chunk: fc.Arbitrary<StreamChunk> = fc.oneof(
    fc.record({ type: fc.constantFrom("text-delta" as const, "reasoning-delta" as const), index, text }),
    fc.record(
      {
        type: fc.constant("tool-call-delta" as const),
        index,
        id: fc.constantFrom("", "c", "d"),
        name: fc.constantFrom("", "echo"),
        argumentsDelta: text,
      },
      { requiredKeys: ["type", "index", "id", "argumentsDelta"] },
    ),
    fc.record({ type: fc.constant("block-start" as const), index, blockType: fc.constant("text") }),
  );
  const time = fc.integer({ min: -20, max: 20 });
  fc.assert(
    fc.property(fc.array(fc.record({ chunk, time }), { maxLength: 30 }), (chunks) => {
      const records = record(chunks);
      assertEquals(replayStream(records), chunks);
      assertStrictEquals(
        shapeProblem({ type: "assistant/attempt", seq: 0, data: { turn: 1, step: 1, stream: records } }),
        null,
      );
      // Recording what was replayed changes nothing, so a copy of a log has the same bytes.
      assertStrictEquals(JSON.stringify(record(replayStream(records))), JSON.stringify(records));
    }),
    { seed: 12, numRuns: 500 },
  );
  assertEquals(record(replayStream(everyRecord as unknown as StreamRecord[])) as unknown, everyRecord);
});

interface PackCase {
  readonly name: string;
  readonly events: readonly { type: string; seq: number; time: number; data: { chunk: StreamChunk } }[];
  readonly rows: readonly { type: string; seq0: number; time0: number; data: Record<string, unknown> }[];
}

Deno.test("StreamRecorder packs as the original packs rows, where both have the same rule", () => {
  // The row packer starts a new row at another step and at extra envelope keys, and wants three deltas; streams know neither.
  const isAboutRows = new Set(["stepChange", "extraEnvelope"]);
  const { pack } = JSON.parse(Deno.readTextFileSync(`${ownFixturesDir}/pack-cases.json`)) as { pack: PackCase[] };
  let compared = 0;
  for (const { name, events, rows } of pack) {
    const chunks = events.filter(({ type }) => type === "assistant/chunk")
      .map(({ time, data }) => ({ time, chunk: data.chunk }));
    assertEquals(replayStream(record(chunks)), chunks, name);
    if (isAboutRows.has(name)) continue;
    const expected = rows.filter(({ type }) => type.endsWith("-chunks")).map(({ type, time0, data }) => {
      const { turn: _turn, step: _step, ...packed } = data;
      return { type, time0, ...packed };
    });
    assertEquals(record(chunks) as unknown, expected, name);
    compared++;
  }
  assertStrictEquals(compared, 7);
});

Deno.test("StreamRecorder gives the embedded streams of the version-3 files back", () => {
  const files = ["v3/preview-follow-up-builder.session.v3.jsonl", "derived/migratable/session.v3.jsonl"];
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(files.length + 1, "embedded streams");
  const last = JSON.parse(Deno.readTextFileSync(`${folder}/dsh/derived/v3-crash/prefix-16.json`));
  const logs = files.map((file) => Deno.readTextFileSync(`${folder}/dsh/${file}`).trimEnd().split("\n"));
  let streams = 0;
  for (const line of [...logs, last.afterRepairFileLines].flat()) {
    const stream = JSON.parse(line).data?.stream;
    if (stream === undefined) continue;
    assertStrictEquals(JSON.stringify(record(replayStream(stream))), JSON.stringify(stream));
    streams++;
  }
  assert(streams >= 5, String(streams));
});
