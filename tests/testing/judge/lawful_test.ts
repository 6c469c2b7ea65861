import { assertEquals, assertThrows } from "@std/assert";
import type { LabTrace } from "../../../src/testing/judge/mod.ts";
import { casesNotRun, fixturesDir } from "../../support/fixtures.ts";
import { callSeqOf, dispatched, paid, SCENARIOS, unknownBefore } from "./scenarios.ts";
import { bytesOf, type EventObject, joined, judge, LOG, Story, traceOf, withFile } from "./story.ts";
import { repeated } from "./violations.ts";

for (const [name, plan] of Object.entries(SCENARIOS)) {
  for (const compression of ["none", "zstd"] as const) {
    Deno.test(`judge() finds nothing in ${name} (${compression})`, () => {
      assertEquals(judge(traceOf({ ...plan(), compression })), []);
    });
  }
}

const unknown = { c1: { class: "outcome_unknown" } } as const;

function unknownCloser(s: Story): void {
  s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(s, "c1"));
  s.closeTurn();
}

Deno.test("judge() lets a person be wrong about what happened", () => {
  const story = unknownBefore();
  story.verdict("c1", callSeqOf(story, "c1"), "happened", "person");
  const reports = { c1: { class: "outcome_unknown", verdict: "happened", by: "person" } } as const;
  assertEquals(judge(traceOf({ story: story.flush(), deaths: [3], reports, repair: (s) => s.closeTurn() })), []);
});

Deno.test("judge() lets an opaque call take effect again that a person allowed, whichever of the two arrived first", () => {
  const trace = repeated({ isGranted: true });
  assertEquals(judge(trace), []);
  assertEquals(judge({ ...trace, effects: trace.effects.toReversed() }), []);
});

Deno.test("judge() compares what a body was given with what was recorded, not its text", () => {
  const plan = { story: dispatched(), reports: unknown, repair: unknownCloser };
  assertEquals(judge(traceOf({ ...plan, effects: [{ callId: "c1", arguments: '{ "to": "c1" }' }] })), []);
});

Deno.test("judge() takes for unknown what was begun and is not settled, and nothing else", () => {
  const trace = traceOf({ story: dispatched(), reports: unknown, repair: unknownCloser });
  assertEquals(judge({ ...trace, unresolved: [{ by: "the resume", callSeqs: [callSeqOf(dispatched(), "c1")] }] }), []);
  const whole = traceOf({ story: paid(), effects: [{ callId: "c1" }] });
  assertEquals(judge({ ...whole, unresolved: [{ by: "the resume", callSeqs: [] }] }), []);
  const readOnly = traceOf({ story: dispatched("none"), reports: unknown, repair: unknownCloser });
  assertEquals(judge({ ...readOnly, unresolved: [{ by: "the resume", callSeqs: [] }] }), []);
});

Deno.test("judge() finds nothing in a damaged log that is refused and left as it is, and in what salvage makes of it", () => {
  for (const compression of ["none", "zstd"] as const) {
    const trace = traceOf({ story: paid(), effects: [{ callId: "c1" }], compression });
    const bytes = trace.image.get(trace.log)!;
    const wrong = new TextEncoder().encode('{"type":"?"}\n{"type":"turn/end","seq":99,"time":1,"data":{}}\n');
    const image = withFile(
      trace.image,
      trace.log,
      joined([bytes, compression === "zstd" ? new Uint8Array(64) : wrong]),
    );
    const copy = new Story("s2");
    copy.rows.push(...paid().rows);
    copy.add("log/salvaged", { version: 1 }, { ignorable: true });
    const salvaged = { log: LOG, files: new Map([[LOG, bytesOf(copy.flush(), "none")]]), wentOn: true };
    const refused: LabTrace = {
      ...trace,
      image,
      recovered: image,
      recoveredAgain: [],
      liveness: { refused: "CORRUPT_LOG" },
      salvaged,
    };
    assertEquals(judge(refused), [], compression);
  }
});

Deno.test("judge() takes a log whose first byte is not there yet for one that was never published", () => {
  const trace = traceOf({ story: paid(), flushed: 0, compression: "zstd" });
  for (const claim of [new Uint8Array(0), trace.image.get(trace.log)!.with(0, 0)]) {
    const image = withFile(trace.image, trace.log, claim);
    const absent: LabTrace = {
      ...trace,
      medium: "opfs",
      image,
      recovered: undefined,
      recoveredAgain: [],
      requests: [],
      liveness: "went-on",
    };
    assertEquals(judge(absent), []);
    assertEquals(judge({ ...absent, liveness: { refused: "NOT_FOUND" } }), []);
  }
});

Deno.test("judge() asks nothing of a log whose name the medium had not made durable, and all of any other", () => {
  const gone: LabTrace = {
    ...traceOf({ story: dispatched(), effects: [{ callId: "c1" }] }),
    ...{ medium: "opfs", image: new Map(), recovered: undefined, recoveredAgain: [], requests: [] },
  };
  assertEquals(judge({ ...gone, isNameDurable: false }), []);
  assertEquals(judge(gone).map(({ checker }) => checker), ["durable-intent", "acknowledged-kept"]);
});

Deno.test("judge() lets a lookup answer otherwise the next time, and nothing else change", () => {
  const lawful = traceOf({ story: dispatched(), effects: [{ callId: "c1" }], reports: unknown, repair: unknownCloser });
  const settled = traceOf({
    ...{ story: dispatched(), effects: [{ callId: "c1" }] },
    repair(s) {
      s.verdict("c1", callSeqOf(s, "c1"), "undecidable");
      s.verdict("c1", callSeqOf(s, "c1"), "happened");
      s.settled("c1", callSeqOf(s, "c1"));
      s.closeTurn();
    },
  });
  const story = new Story();
  story.rows.push(...eventsOf(lawful.recovered!.get(LOG)!));
  story.verdict("c1", callSeqOf(story, "c1"), "happened");
  story.notice("c1 happened");
  const reopened = withFile(lawful.recovered!, LOG, bytesOf(story.flush(), "none"));
  const again: LabTrace["recoveredAgain"] = [
    { kind: "crashed", how: "a crash between the verdict and the closer", files: settled.recovered! },
    { kind: "reopened", how: "opened again", files: reopened },
  ];
  assertEquals(judge({ ...lawful, recoveredAgain: again }), []);
});

Deno.test("judge() judges two crashes of one run with the events and the steps of both", () => {
  // The first process died with an event in memory, whose seq the second one gave to another.
  const first = dispatched();
  const lost = first.copy();
  lost.add("todo/write", { todos: [] });
  const second = first.copy();
  unknownCloser(second);
  second.flush().endSeed().flush().policy().begin("again");
  const trace = traceOf({
    story: second,
    deaths: [2],
    effects: [{ callId: "c1" }],
    reports: unknown,
    repair: (s) => s.closeTurn(),
  });
  const batch = { incarnation: 0, seqFrom: first.rows.length, rows: lost.rows.slice(first.rows.length) };
  const appended = [...trace.appended.slice(0, 2), batch, ...trace.appended.slice(2)];
  assertEquals(judge({ ...trace, appended }), []);
  // Had it been the other way round, the second one's events would be nobody's.
  const turned = judge({ ...trace, appended: [...trace.appended, batch], acknowledgedThroughSeq: 6 });
  assertEquals(turned.map(({ checker }) => checker), ["nothing-invented"]);
});

Deno.test("judge() refuses a trace whose batches no log could come of", () => {
  const trace = traceOf({ story: paid() });
  const gap = trace.appended.filter((_, index) => index !== 1);
  assertThrows(() => judge({ ...trace, appended: gap }), RangeError, "process 0 appended from seq 7, and 4 is next");
  assertThrows(() => judge({ ...trace, acknowledgedThroughSeq: 99 }), RangeError, "seq 99 was acknowledged");
});

Deno.test("judge() finds nothing in what a v3 repair added to each prefix of a log, and something when a closer is gone", () => {
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(9, "prefixes of a v3 session with their closers");
  let changed = 0;
  for (let prefix = 0; prefix <= 16; prefix += 2) {
    const name = `${folder}/dsh/derived/v3-crash/prefix-${String(prefix).padStart(2, "0")}.json`;
    const { header, afterRepairFileLines, ...made } = JSON.parse(Deno.readTextFileSync(name));
    const [stored, closers]: [number, number] = [made.stored, made.closers.length];
    assertEquals(afterRepairFileLines.length, 1 + stored + closers, name);
    const log = `--root--/${header.id}/session.v3.jsonl`;
    const fileOf = (lines: string[]) =>
      new Map([[log, new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""))]]);
    const trace: LabTrace = {
      ...traceOf({ story: new Story(), flushed: 0 }),
      ...{ log, image: fileOf(afterRepairFileLines.slice(0, 1 + stored)), recovered: fileOf(afterRepairFileLines) },
      appended: [{
        incarnation: 0,
        seqFrom: 0,
        rows: afterRepairFileLines.slice(1, 1 + stored).map((line: string) => JSON.parse(line)),
      }],
      ...{ acknowledgedThroughSeq: stored - 1, recoveredAgain: [], requests: [] },
    };
    assertEquals(judge(trace), [], name);
    if (closers === 0) continue;
    const short = judge({ ...trace, recovered: fileOf(afterRepairFileLines.toSpliced(1 + stored, 1)) });
    assertEquals(short.length > 0, true, name);
    changed++;
  }
  assertEquals(changed > 4, true, `${changed} prefixes had closers`);
});

function eventsOf(bytes: Uint8Array): EventObject[] {
  return new TextDecoder().decode(bytes).trimEnd().split("\n").slice(1).map((line) => JSON.parse(line));
}
