import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type CompactionError, compactSpan } from "../../src/compaction/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { deriveMessages, pairingProblem } from "../../src/fold/mod.ts";
import type { Session } from "../../src/session/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import {
  answerOf,
  callStep,
  compact,
  endTurn,
  heldSummariser,
  newSession,
  openTurn,
  refusing,
  reopened,
  say,
  shorten,
  TARGET,
  typesOf,
} from "./bracket_support.ts";

const LONG = "a sentence that is long enough to be worth a summary of it, and then some more. ".repeat(12);

const seqsOf = (session: Session) => session.folds.surface.nodes.toArray().map(({ seq }) => seq);
const codeOf = async (promise: Promise<unknown>) =>
  (await promise.then(() => ({ code: "none" }), (error) => error) as CompactionError).code;
const last = <Item>(items: readonly Item[], count: number) => items.slice(-count);

/** Four prompts between turns. */
async function fourPrompts(store?: FakeStore) {
  const session = await newSession(store);
  const seqs = [1, 2, 3, 4].map((n) => say(session, `${n} ${LONG}`)) as [number, number, number, number];
  return { session, seqs };
}

Deno.test("compaction/C-15: start, summary, replacement and end, the last three side by side", async () => {
  const session = await newSession();
  openTurn(session);
  const first = say(session, LONG);
  say(session, LONG);
  const [, result] = callStep(session, "c1", LONG);
  say(session, "the newest");
  const nodes = seqsOf(session);
  await compact(session, first, result, { owner: "turn", stability: "surface" });
  const { events } = await session.history();
  const [start, summary, replacement, end] = last(events, 4);
  assertEquals(last(events, 4).map(({ type }) => type), [
    "compaction/start",
    "compaction/summary",
    "user/message",
    "compaction/end",
  ]);
  assert(isEvent(start!, "compaction/start") && isEvent(summary!, "compaction/summary"));
  assert(isEvent(replacement!, "user/message") && isEvent(end!, "compaction/end"));
  const { compactionId } = start.data;
  assertEquals(start.data, { compactionId, turn: 1 });
  assertEquals(end.data, { compactionId, turn: 1 });
  const shadowed = nodes.slice(0, 4);
  assertEquals(summary.data.shadowedSeqs, shadowed);
  assertEquals(summary.data.shadowedRange, { start: first, end: result });
  assertEquals(replacement.surfaceOp, { op: "replace", startSeq: first, endSeq: result });
  assertEquals(replacement.sourceEventSeqs, [start.seq, summary.seq, ...shadowed]);
  assertEquals(replacement.data.source, { kind: "plugin", plugin: "compact", compactionId });
  assertEquals(seqsOf(session), [replacement.seq, nodes[4]!]);
});

Deno.test("a command that asked is named by every event of its bracket", async () => {
  const { session, seqs: [a, b] } = await fourPrompts();
  await compact(session, a, b, { commandId: "k7" });
  const { events } = await session.history();
  const named = events.filter(({ data }) => JSON.stringify(data).includes('"sourceCommandId":"k7"'));
  assertEquals(named.map(({ type }) => type), [
    "compaction/start",
    "compaction/summary",
    "user/message",
    "compaction/end",
  ]);
});

Deno.test("compaction/C-21: a close that the log refuses leaves a blocking orphan, and nothing is flushed", async () => {
  for (const failure of ["the end", "the summariser"]) {
    const store = new FakeStore();
    const { session, seqs: [a, b] } = await fourPrompts(store);
    const heal = refusing(session, ({ type }) => type === "compaction/end");
    const calls = store.calls.length;
    const summarise = failure === "the end" ? undefined : () => Promise.reject(new Error("no model"));
    assertEquals(await codeOf(compact(session, a, b, { isFlushed: true, ...(summarise && { summarise }) })), "commit");
    assertEquals(store.calls.length, calls);
    const kinds = (await typesOf(session)).filter((type) => type.startsWith("compaction/"));
    assertEquals(kinds.at(-1), failure === "the end" ? "compaction/summary" : "compaction/start");
    heal();
    const held = heldSummariser();
    const again = seqsOf(session);
    assertEquals(await codeOf(compact(session, again[0]!, again[1]!, held)), "busy");
    assertEquals(held.requests.length, 0);
  }
});

Deno.test("an error never ends a bracket whose replacement has landed", async () => {
  const { session, seqs: [a, b] } = await fourPrompts();
  let refused = 0;
  refusing(session, ({ type }) => type === "compaction/end" && refused++ === 0);
  assertEquals(await codeOf(compact(session, a, b)), "commit");
  assertEquals((await typesOf(session)).at(-1), "user/message");
});

Deno.test("compaction/C-22: a live orphan blocks, and the summariser is not called", async () => {
  const { session, seqs: [a, b] } = await fourPrompts();
  session.append({ type: "compaction/start", data: { compactionId: "k0", turn: null } });
  const held = heldSummariser();
  const before = session.nextSeq;
  assertEquals(await codeOf(compact(session, a, b, held)), "busy");
  assertEquals([held.requests.length, session.nextSeq], [0, before]);
});

Deno.test("compaction/C-23: an orphan of an earlier lifecycle is ignored, and stays without an end", async () => {
  const store = new FakeStore();
  const { session, seqs: [a, b] } = await fourPrompts(store);
  session.append({ type: "compaction/start", data: { compactionId: "k0", turn: null } });
  await session.flush();
  const next = await reopened(store);
  await compact(next.session, a, b);
  const { events } = await next.session.history();
  const ids = events.filter(({ type }) => type.startsWith("compaction/")).map(({ type, data }) =>
    [type, (data as { compactionId: string }).compactionId === "k0"] as const
  );
  assertEquals(ids, [
    ["compaction/start", true],
    ["compaction/start", false],
    ["compaction/summary", false],
    ["compaction/end", false],
  ]);
});

Deno.test("compaction/C-27: a second compaction is busy while the first one waits, which then completes", async () => {
  const { session, seqs: [a, b, c] } = await fourPrompts();
  const held = heldSummariser();
  const first = compact(session, a, b, held);
  await held.called;
  const before = session.nextSeq;
  assertEquals(await codeOf(compact(session, b, c)), "busy");
  assertEquals(session.nextSeq, before);
  held.answer.resolve(answerOf("short"));
  assertEquals((await first).shadowedCount, 2);
});

Deno.test("compaction/C-29: what is said meanwhile stands behind, when only the span must stay", async () => {
  const { session, seqs: [a, , c, d] } = await fourPrompts();
  const held = heldSummariser();
  const done = compact(session, a, c, held);
  await held.called;
  const added = say(session, "meanwhile");
  held.answer.resolve(answerOf("short"));
  const { replacementSeq } = await done;
  assertEquals(seqsOf(session), [replacementSeq, d, added]);
});

Deno.test("compaction/C-30: a span that was rewritten meanwhile is left as it is", async () => {
  const store = new FakeStore();
  const session = await newSession(store);
  openTurn(session);
  const a = say(session, LONG);
  const [, b] = callStep(session, "c1", LONG);
  const c = say(session, LONG);
  say(session, "d");
  const held = heldSummariser();
  const done = compact(session, a, c, { ...held, owner: "turn", isFlushed: true });
  await held.called;
  shorten(session, b);
  const [, pruned] = [a, seqsOf(session)[2]!];
  held.answer.resolve(answerOf("short"));
  assertEquals(await codeOf(done), "changed");
  const { events } = await session.history();
  const end = events.at(-1)!;
  assert(isEvent(end, "compaction/end") && end.data.error !== undefined);
  assertEquals(store.events("s1").length, session.nextSeq);
  assert(seqsOf(session).includes(pruned));
  assert(!events.some(({ type }) => type === "compaction/summary"));
});

Deno.test("an automatic compaction comes to nothing when anything was added meanwhile", async () => {
  const session = await newSession();
  openTurn(session);
  const [a, b] = [say(session, LONG), say(session, LONG)];
  const held = heldSummariser();
  const done = compact(session, a, b, { ...held, owner: "turn", stability: "surface" });
  await held.called;
  say(session, "meanwhile");
  held.answer.resolve(answerOf("short"));
  assertEquals(await codeOf(done), "changed");
});

Deno.test("compaction/C-37: what the log refused says more than a flush that fails", async () => {
  const store = new FakeStore();
  const { session, seqs: [a, b] } = await fourPrompts(store);
  refusing(session, ({ type, surfaceOp }) => type === "user/message" && surfaceOp !== "append");
  store.failure = new Error("no disk");
  assertEquals(await codeOf(compact(session, a, b, { isFlushed: true })), "commit");
  assertEquals(last(await typesOf(session), 2), ["compaction/summary", "compaction/end"]);
  assertEquals(session.folds.brackets.compaction, null);
});

Deno.test("compaction/C-36: a flush that fails is told, and the bracket is closed and the surface replaced in memory", async () => {
  const store = new FakeStore();
  const { session, seqs: [a, b] } = await fourPrompts(store);
  store.failure = new Error("no disk");
  assertEquals(await codeOf(compact(session, a, b, { isFlushed: true })), "persistence");
  assertEquals(session.folds.brackets.compaction, null);
  assertEquals(session.folds.surface.replaceGeneration, 1);
});

Deno.test("compaction/C-38: an aborted signal is thrown as it is, before anything is written", async () => {
  const { session, seqs: [a, b] } = await fourPrompts();
  const reason = { why: "enough" };
  const before = session.nextSeq;
  const thrown = await compact(session, a, b, { signal: AbortSignal.abort(reason) }).catch((error) => error);
  assertStrictEquals(thrown, reason);
  assertEquals(session.nextSeq, before);
});

Deno.test("compaction/C-39, compaction/C-40: an abort closes the bracket, waits for the flush, and throws its own reason", async () => {
  for (const moment of ["summary", "flush"]) {
    const store = new FakeStore();
    const { session, seqs: [a, b] } = await fourPrompts(store);
    const reason = { why: "enough" };
    const controller = new AbortController();
    const held = heldSummariser();
    const done = compact(session, a, b, { ...held, signal: controller.signal, isFlushed: true });
    let isSettled = false;
    done.then(() => isSettled = true, () => isSettled = true);
    await held.called;
    const release = store.hold();
    if (moment === "summary") controller.abort(reason);
    else held.answer.resolve(answerOf("short"));
    await settle();
    if (moment === "flush") controller.abort(reason);
    await settle();
    assertEquals(isSettled, false);
    release();
    assertStrictEquals(await done.catch((error) => error), reason);
    assertEquals((await typesOf(session)).at(-1), "compaction/end");
    assertEquals(session.folds.surface.replaceGeneration, moment === "summary" ? 0 : 1);
    assertEquals(store.events("s1").length, session.nextSeq);
  }
});

Deno.test("compaction/C-60: a range that is not there, reversed, pinned or cuts a pair, and a missing turn, are refused before anything is written", async () => {
  const session = await newSession();
  openTurn(session);
  session.append({ type: "step/start", data: { turn: 1, step: 1 } });
  const source = { kind: "plugin", plugin: "holdfast" };
  const message = { id: "sys", role: "system" as const, content: [{ type: "text" as const, text: "be kind" }], source };
  const pinned =
    session.append({ type: "system/message", data: { turn: 1, step: 1, message }, surfaceOp: "append" }).seq;
  session.append({ type: "step/end", data: { turn: 1, step: 1 } });
  const a = say(session, LONG);
  const [call, result] = callStep(session, "c1", LONG);
  const b = say(session, LONG);
  const before = session.nextSeq;
  const held = heldSummariser();
  const options = { ...held, owner: "turn" } as const;
  for (const [start, end] of [[a, call], [result, b], [b, a], [a, 999], [1, b], [pinned, b]]) {
    await assertRejects(() => compact(session, start!, end!, options), RangeError, "Cannot compact seq");
  }
  endTurn(session);
  await assertRejects(() => compact(session, a, b, options), TypeError, "no turn is open");
  openTurn(session);
  assertEquals(await codeOf(compact(session, a, b, held)), "busy");
  assertEquals([session.nextSeq, held.requests.length], [before + 2, 0]);
});

Deno.test("compaction/C-67: an earlier checkpoint is merged: afterwards there is one, at the head", async () => {
  const { session, seqs: [a, b, c, d] } = await fourPrompts();
  const { replacementSeq } = await compact(session, a, b);
  const held = heldSummariser();
  const done = compact(session, replacementSeq, c, held);
  assert(JSON.stringify((await held.called).messages[0]).includes("compacted-summary"));
  held.answer.resolve(answerOf("merged"));
  assertEquals(seqsOf(session).at(-1), d);
  const second = await done;
  assertEquals(seqsOf(session), [second.replacementSeq, d]);
  const checkpoints = deriveMessages(session.folds.surface).filter(({ source }) => source.plugin === "compact");
  assertEquals(checkpoints.length, 1);
  assertEquals(pairingProblem(session.folds.surface.nodes), null);
});

Deno.test("the start of a compaction names a turn when, and only when, one is open", async () => {
  const { session, seqs: [a, b] } = await fourPrompts();
  await compact(session, a, b);
  openTurn(session);
  const [c, d] = seqsOf(session) as [number, number];
  await compactSpan(session, {
    ...{ startSeq: c, endSeq: d, owner: "turn", stability: "surface", target: TARGET, isFlushed: false },
    summarise: () => Promise.resolve(answerOf("short")),
    signal: new AbortController().signal,
  });
  const { events } = await session.history();
  const turns = events.flatMap((event) => isEvent(event, "compaction/start") ? [event.data.turn] : []);
  assertEquals(turns, [null, 1]);
});
