import { assert, assertEquals } from "@std/assert";
import { parseLegacyHeader } from "../../../src/journal/legacy/mod.ts";
import type { LegacyEvent } from "../../../src/journal/legacy/types.ts";
import { ATTEMPT_EVENTS_MAX, ATTEMPT_UNITS_MAX, V1ToV2 } from "../../../src/journal/legacy/v1_to_v2.ts";
import { OldLines, userMessage } from "./old_lines.ts";
import { refusalOf, rowsOf } from "./support.ts";

const TEXT = [{ type: "text", text: "ab" }];

function migrated(log: OldLines): LegacyEvent[] {
  const [header, ...lines] = log.lines;
  const stage = new V1ToV2(parseLegacyHeader(header!));
  const events = rowsOf(lines, 1).flatMap((row) => stage.push(row));
  events.push(...stage.end());
  events.forEach(({ seq }, index) => assertEquals(seq, index));
  return events;
}

const types = (log: OldLines) => migrated(log).map(({ type }) => type);
const reasonOf = (log: OldLines, code = "UNSUPPORTED_FORMAT") => {
  const [found, message] = refusalOf(() => migrated(log));
  assertEquals(found, code, message);
  return message;
};

/** A log in the middle of the first step. */
function inStep(more: Readonly<Record<string, unknown>> = {}): OldLines {
  const log = new OldLines(1, more);
  log.startStep(1, 1);
  return log;
}

Deno.test("V1ToV2 moves the chunks an answer names into it: packed rows as they are, deltas packed, the rest whole", () => {
  const log = inStep();
  const start = log.addChunk(1, 1, { type: "block-start", index: 0, blockType: "text" });
  const packed = log.addTexts(1, 1, ["a", "b"]);
  const delta = log.addChunk(1, 1, { type: "text-delta", index: 0, text: "c" });
  const finish = log.addChunk(1, 1, { type: "finish", reason: { kind: "stop" } });
  log.assistant(1, 1, "a", TEXT, { sourceEventSeqs: [start, ...packed, delta, finish] });
  const message = migrated(log).at(-1)!;
  assertEquals([message.type, message.seq, message.sourceEventSeqs], ["assistant/message", 2, undefined]);
  assertEquals((message.data as { stream: unknown }).stream, [
    { type: "chunk", time: 2002, chunk: { type: "block-start", index: 0, blockType: "text" } },
    { type: "text-chunks", time0: 2003, index: 0, dt: [1, 1], texts: ["a", "b", "c"] },
    { type: "chunk", time: 2006, chunk: { type: "finish", reason: { kind: "stop" } } },
  ]);
});

Deno.test("V1ToV2 keeps apart what one record cannot hold, and keeps tool calls without an id whole unless a row packed them", () => {
  const log = inStep();
  const call = (id: string, more: object) => ({ type: "tool-call-delta", index: 0, id, ...more, argumentsDelta: "x" });
  const seqs = [
    log.addChunk(1, 1, call("c", { name: "n" })),
    log.addChunk(1, 1, call("c", {})),
    log.addChunk(1, 1, call("c", {})),
    log.addChunk(1, 1, call("", {})),
    log.addChunk(1, 1, call("d", { name: "" })),
    log.addChunk(1, 1, { type: "text-delta", index: 1, text: "t", extra: 1 }),
    log.addChunk(1, 1, { type: "reasoning-delta", index: 2, text: "r" }),
    log.addChunk(1, 1, { type: "reasoning-delta", index: 3, text: "r" }),
  ];
  log.assistant(1, 1, "a", TEXT, { sourceEventSeqs: seqs });
  const { stream } = migrated(log).at(-1)!.data as { stream: { type: string; index?: number; args?: string[] }[] };
  assertEquals(stream.map(({ type, args }) => [type, args?.length ?? null]), [
    ["tool-call-chunks", 1],
    ["tool-call-chunks", 2],
    ["chunk", null],
    ["chunk", null],
    ["chunk", null],
    ["reasoning-chunks", null],
    ["reasoning-chunks", null],
  ]);
});

Deno.test("V1ToV2 keeps chunks that no answer names as an attempt where the last of them stood", () => {
  for (const end of ["step/end", "llm/retry", "llm/retry-started", "end", "next step", "finish"]) {
    const log = inStep();
    log.addTexts(1, 1, ["a"]);
    log.add("todo/write", { todos: [] });
    log.addTexts(1, 1, ["b"], 1);
    if (end === "finish") log.addChunk(1, 1, { type: "finish", reason: { kind: "stop" } });
    log.add("plan/mode", { active: true });
    if (end === "step/end") log.add("step/end", { turn: 1, step: 1 });
    else if (end === "next step") log.addTexts(1, 2, ["c"]);
    else if (end === "finish") log.addTexts(1, 1, ["c"]);
    else if (end !== "end") log.add(end, { retryId: "r", turn: 1, step: 1, retry: 1 });
    const events = migrated(log);
    const tail = end === "end" ? [] : end === "next step" || end === "finish" ? ["assistant/attempt"] : [end];
    assertEquals(
      events.slice(2).map(({ type }) => type),
      ["todo/write", "assistant/attempt", "plan/mode", ...tail],
      end,
    );
    assertEquals(events[3]!.time, end === "finish" ? 2005 : 2004);
  }
});

Deno.test("V1ToV2 keeps the order of what stands between the chunks of a settled answer and behind them", () => {
  const log = inStep();
  const first = log.addTexts(1, 1, ["a"]);
  log.add("todo/write", { todos: [] });
  const second = log.addTexts(1, 1, ["b"]);
  log.add("plan/mode", { active: true });
  log.assistant(1, 1, "a", TEXT, { sourceEventSeqs: [...first, ...second] });
  assertEquals(types(log).slice(2), ["todo/write", "plan/mode", "assistant/message"]);
});

Deno.test("V1ToV2 treats an answer without chunks as one, and refuses an answer whose chunks are not certain", () => {
  const none = inStep();
  none.assistant(1, 1, "a", TEXT, {});
  assertEquals((migrated(none).at(-1)!.data as { stream: unknown }).stream, []);

  const empty = inStep();
  empty.addTexts(1, 1, ["a"]);
  empty.assistant(1, 1, "a", TEXT, { sourceEventSeqs: [] });
  assertEquals(types(empty).slice(2), ["assistant/attempt", "assistant/message"]);

  const silent = inStep();
  silent.addTexts(1, 1, ["a"]);
  silent.assistant(1, 1, "a", TEXT, {});
  assert(reasonOf(silent).includes("nothing says"));

  for (const wrong of [[2], [2, 3, 1], [3, 2], [2, 3, 0], [0, 1]]) {
    const log = inStep();
    log.addTexts(1, 1, ["a", "b"]);
    log.assistant(1, 1, "a", TEXT, { sourceEventSeqs: wrong });
    assert(reasonOf(log).includes("not the chunks"), wrong.join());
  }
});

Deno.test("V1ToV2 renumbers every reference", () => {
  const log = inStep();
  const chunks = log.addTexts(1, 1, ["a", "b", "c"]);
  log.assistant(1, 1, "a", TEXT, { sourceEventSeqs: chunks });
  const said = log.user("u1");
  const other = log.user("u2");
  const run = log.add("command/run", { commandId: "c", name: "n", source: { kind: "user" } });
  log.add("command/done", { commandId: "c", kind: "success", sourceEventSeq: run });
  log.add("session/title", { title: "t", messageSeqs: [said, other], source: { kind: "provider" } });
  log.add("compaction/prune", {
    shadowedRange: { start: said, end: other },
    shadowedSeqs: [said, other],
    shadowedTokenCount: 1,
  });
  log.add("user/message", userMessage("u3", "x"), {
    sourceEventSeqs: [said, other],
    surfaceOp: { op: "replace", start: said, end: other },
  });
  const events = migrated(log);
  const at = said - chunks.length;
  assertEquals(
    events.slice(-4).map(({ type, data, sourceEventSeqs, surfaceOp }) =>
      type === "user/message" ? { sourceEventSeqs, surfaceOp } : data
    ),
    [
      { commandId: "c", kind: "success", sourceEventSeq: at + 2 },
      { title: "t", messageSeqs: [at, at + 1], source: { kind: "provider" } },
      { shadowedRange: { start: at, end: at + 1 }, shadowedSeqs: [at, at + 1], shadowedTokenCount: 1 },
      { sourceEventSeqs: [at, at + 1], surfaceOp: { op: "replace", start: at, end: at + 1 } },
    ],
  );
});

Deno.test("V1ToV2 refuses a reference to a chunk, which goes away", () => {
  const source = inStep();
  const [chunk] = source.addTexts(1, 1, ["a"]);
  source.add("step/end", { turn: 1, step: 1 });
  source.add("user/message", userMessage("u", "x"), { surfaceOp: "append", sourceEventSeqs: [chunk] });
  assert(reasonOf(source).includes(`names seq ${chunk}`));

  const replaced = inStep();
  replaced.addTexts(1, 1, ["a"]);
  replaced.add("step/end", { turn: 1, step: 1 });
  const surfaceOp = { op: "replace", start: 2, end: 2 };
  replaced.add("user/message", userMessage("u", "x"), { surfaceOp, sourceEventSeqs: [2] });
  assert(reasonOf(replaced).includes("seq 2"));
});

Deno.test("V1ToV2 marks the end of inherited events: at the cut, in the end-seed that stands there, or at the end", () => {
  const build = (seedLength: number, hasMark: boolean) => {
    const log = inStep({ seedLength });
    log.endTurn(1, 1);
    if (hasMark) log.add("session/end-seed", {});
    log.add("plan/mode", { active: true });
    return log;
  };
  const marks = (log: OldLines) => migrated(log).filter(({ type }) => type === "session/end-seed");
  assertEquals(marks(build(4, true)).map(({ seq, time, data }) => [seq, time, data]), [[4, 2004, { inherited: true }]]);
  assertEquals(marks(build(4, false)).map(({ seq, time, data }) => [seq, time, data]), [[4, 2003, {
    inherited: true,
  }]]);
  assertEquals(marks(build(5, false)).map(({ seq, time, data }) => [seq, time, data]), [[5, 2004, {
    inherited: true,
  }]]);
  assertEquals(marks(build(0, false)).map(({ seq, time }) => [seq, time]), [[0, 1000]]);
  // Behind the cut a mark of the process is one of its own.
  assertEquals(marks(build(3, true)).map(({ seq, data }) => [seq, data]), [[3, { inherited: true }], [5, {}]]);
  assert(reasonOf(build(6, false)).includes("6 events were inherited, and there are 5"));
});

Deno.test("V1ToV2 refuses a cut inside of an answer", () => {
  for (const seedLength of [3, 4, 5]) {
    const log = inStep({ seedLength });
    const chunks = log.addTexts(1, 1, ["a", "b"]);
    const more = log.addTexts(1, 1, ["c"]);
    log.assistant(1, 1, "a", TEXT, { sourceEventSeqs: [...chunks, ...more] });
    assert(reasonOf(log).includes("in the middle of an answer"), String(seedLength));
  }
});

Deno.test("V1ToV2 ends a turn that a dying process left open only where the next one came from the inbox", () => {
  const build = (inserted: unknown[], target: string, turn: number, closeStep: boolean) => {
    const log = inStep();
    if (closeStep) log.add("step/end", { turn: 1, step: 1 });
    log.add("agent/inbox/spliced", { target, start: 0, inserted });
    log.add("turn/start", { turn });
    return log;
  };
  const message = userMessage("u", "x");
  const events = migrated(build([message], "next-turn", 2, true));
  assertEquals(events.slice(-3).map(({ type, time }) => [type, time]), [
    ["agent/inbox/spliced", 2003],
    ["turn/end", 2004],
    ["turn/start", 2004],
  ]);
  assertEquals(events.at(-2)!.data, { turn: 1, reason: { kind: "interrupted" } });
  for (
    const log of [
      build([], "next-turn", 2, true),
      build([message], "next-step", 2, true),
      build([message], "next-turn", 3, true),
      build([message], "next-turn", 2, false),
    ]
  ) assert(reasonOf(log).includes("turn 1 has no end"));
});

Deno.test("V1ToV2 splits a message that changes the goal", () => {
  const log = inStep();
  const change = { kind: "goal/change", version: 1, operation: "set" };
  const seq = log.add("user/message", userMessage("u", "x", { kind: "goal", change }), { surfaceOp: "append" });
  log.add("user/message", userMessage("v", "y"), { surfaceOp: "append", sourceEventSeqs: [seq] });
  const events = migrated(log).slice(2);
  assertEquals(events.map(({ type, data, sourceEventSeqs }) => ({ type, data, sourceEventSeqs })), [
    { type: "goal/change", data: change, sourceEventSeqs: undefined },
    {
      type: "user/message",
      data: userMessage("u", "x", { kind: "plugin", plugin: "goal" }),
      sourceEventSeqs: undefined,
    },
    { type: "user/message", data: userMessage("v", "y"), sourceEventSeqs: [3] },
  ] as never);
});

Deno.test("V1ToV2 refuses an answer of more than it may hold", () => {
  const long = inStep();
  long.addTexts(1, 1, ["a"]);
  for (let count = 0; count <= ATTEMPT_EVENTS_MAX; count++) long.add("plan/mode", { active: true });
  assert(reasonOf(long).includes(`more than ${ATTEMPT_EVENTS_MAX} events`));

  const wide = inStep();
  const stage = new V1ToV2(parseLegacyHeader(wide.lines[0]!));
  const part = "x".repeat(1 << 20);
  let seq = 0;
  const [code, message] = refusalOf(() => {
    for (; seq <= ATTEMPT_UNITS_MAX / part.length; seq++) {
      const record = { type: "text-chunks", time0: 1, index: 0, dt: [], texts: [part] } as const;
      stage.push({ kind: "run", firstSeq: seq, count: 1, turn: 1, step: 1, record });
    }
  });
  assertEquals(code, "UNSUPPORTED_FORMAT");
  assert(message.includes(`more than ${ATTEMPT_UNITS_MAX} characters`), message);
});
