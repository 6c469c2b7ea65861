import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { CompactionError } from "../../src/compaction/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { compactionsOf, logOf, stage, textOf, until, words } from "../compaction/compact_stage.ts";

const codeOf = async (promise: Promise<unknown>) =>
  (await promise.then(() => ({ code: "none" }), (error) => error) as CompactionError).code;

/** A step that waits until a test lets it go on. */
function gate() {
  const entered = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const part = {
    run: async () => {
      entered.resolve();
      await opened.promise;
    },
  };
  return { part, entered: entered.promise, open: () => opened.resolve() };
}

Deno.test("compact() summarises everything but the newest unit, durably, and the next turn goes on from there", async () => {
  const on = await stage({ step: (_, n) => [{ text: `answer ${n} ${words(300)}` }] });
  for (const n of [1, 2, 3]) await on.session.send(`prompt ${n} ${words(300)}`);
  const done = await on.session.compact();
  assertEquals(on.store.events("s1").length, on.session.session.nextSeq);
  assert(done !== null && done.checkpointTokens < done.shadowedTokens);
  assertEquals(done.shadowedCount, 4);
  await on.session.send("and now?");
  const texts = on.requests.at(-1)!.messages.map(textOf);
  assertEquals(texts.length, 4);
  assert(texts[0]!.includes("What happened before.") && texts[1]!.startsWith("prompt 3"));
  assert(texts[2]!.startsWith("answer 3") && texts[3] === "and now?");
  const events = await logOf(on);
  assertEquals(compactionsOf(events), ["start", "summary", "checkpoint", "end"]);
  assertEquals(on.summaries.length, 1);
});

Deno.test("compaction/C-32: with one unit or none there is nothing to compact, and nothing is written", async () => {
  const on = await stage();
  assertEquals(await on.session.compact(), null);
  assertEquals(on.session.session.nextSeq, 0);
  await on.session.send("only this");
  await on.session.session.flush();
  const calls = on.store.calls.length;
  const before = on.session.session.nextSeq;
  assertEquals(await on.session.compact(), null);
  assertEquals([on.store.calls.length, on.session.session.nextSeq, on.summaries.length], [calls, before, 0]);
});

Deno.test("compaction/C-34: busy while a turn runs, in the same breath, and nothing is appended", async () => {
  const door = gate();
  const on = await stage({ step: () => [door.part, { text: "done" }] });
  const turn = on.session.send("go");
  await door.entered;
  const before = on.session.session.nextSeq;
  assertEquals(await codeOf(on.session.compact()), "busy");
  assertEquals(on.session.session.nextSeq, before);
  door.open();
  await turn;
});

Deno.test("compaction/C-34: busy between the sending of a prompt and the first step of its turn", async () => {
  const on = await stage();
  const turn = on.session.send("go");
  assertEquals(await codeOf(on.session.compact()), "busy");
  assertEquals((await turn).reason.kind, "completed");
});

Deno.test("compaction/C-35: a compaction between turns has no turn, and takes no number", async () => {
  const on = await stage();
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  await on.session.compact();
  const { turn } = await on.session.send("next") as { turn: number };
  assertEquals(turn, 3);
  const start = (await logOf(on)).find((event) => isEvent(event, "compaction/start"))!;
  assertEquals((start.data as { turn: unknown }).turn, null);
});

Deno.test("compaction/C-19: the start is durable before the summariser is asked", async () => {
  let durable: string[] = [];
  const on = await stage({
    summary: () => {
      durable = on.store.events("s1").map(({ type }) => type);
      return [{ text: "short" }];
    },
  });
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  await on.session.compact();
  assertEquals(durable.at(-1), "compaction/start");
});

Deno.test("compaction/C-14: the request for a summary can be made again from the log", async () => {
  const on = await stage({ systemPrompt: "be kind", step: (_, n) => [{ text: `answer ${n} ${words(200)}` }] });
  for (const n of [1, 2, 3]) await on.session.send(`prompt ${n} ${words(200)}`);
  await on.session.compact();
  for (const n of [4, 5]) await on.session.send(`prompt ${n} ${words(200)}`);
  await on.session.compact();
  // logOf() makes every request again and compares it byte by byte.
  await logOf(on);
  assertEquals(on.summaries.length, 2);
  assertEquals(on.summaries.map(({ purpose, sessionId }) => [purpose, sessionId]), [
    ["compaction", "s1"],
    ["compaction", "s1"],
  ]);
});

Deno.test("prompts that are sent meanwhile wait, in their order, and none is lost", async () => {
  const door = gate();
  const on = await stage({ summary: () => [door.part, { text: "short" }] });
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  const compaction = on.session.compact();
  await door.entered;
  const sent = ["third", "fourth"].map((text) => on.session.send(text));
  assertEquals([on.requests.length, on.session.status], [2, "idle"]);
  assertEquals(await codeOf(on.session.compact()), "busy");
  door.open();
  assert(await compaction !== null);
  const outcomes = await Promise.all(sent);
  assertEquals(outcomes.map(({ turn }) => turn), [3, 4]);
  assertEquals(on.requests.slice(2).map(({ messages }) => textOf(messages.at(-1)!)), ["third", "fourth"]);
  await logOf(on);
});

Deno.test("compaction/C-39: the caller's abort closes the bracket, throws its own reason, and turns run again", async () => {
  const door = gate();
  const on = await stage({ summary: () => [door.part, { text: "short" }] });
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  const controller = new AbortController();
  const compaction = on.session.compact({ signal: controller.signal });
  await door.entered;
  const waiting = on.session.send("meanwhile");
  const reason = { why: "enough" };
  controller.abort(reason);
  assertStrictEquals(await compaction.catch((error) => error), reason);
  assertEquals((await waiting).reason.kind, "completed");
  const events = await logOf(on);
  assertEquals(compactionsOf(events), ["start", "end with error"]);
  assertEquals(on.session.session.folds.surface.replaceGeneration, 0);
  door.open();
});

Deno.test("compaction/C-41: what the agent is told to stop is cancelled, by cancel() and by close()", async () => {
  for (const how of ["cancel", "close"] as const) {
    const door = gate();
    const on = await stage({ summary: () => [door.part, { text: "short" }] });
    for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
    const compaction = on.session.compact();
    const code = codeOf(compaction);
    await door.entered;
    const closed = how === "close" ? on.session.close() : on.session.cancel();
    assertEquals(await code, "cancelled");
    await closed;
    assertEquals(compactionsOf(on.store.events("s1")), ["start", "end with error"]);
    door.open();
  }
});

Deno.test("close() during a compaction tells whoever waits that the message waits still", async () => {
  const door = gate();
  const on = await stage({ summary: () => [door.part, { text: "short" }] });
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  const code = codeOf(on.session.compact());
  await door.entered;
  const waiting = on.session.send("meanwhile");
  await on.session.close();
  assertEquals(await code, "cancelled");
  const { turn, isWaiting } = await waiting as { turn: null; isWaiting: boolean };
  assertEquals([turn, isWaiting], [null, true]);
  door.open();
});

Deno.test("compaction/C-38: a signal that is aborted already is thrown as it is", async () => {
  const on = await stage();
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  const before = on.session.session.nextSeq;
  const reason = { why: "enough" };
  const signal = AbortSignal.abort(reason);
  assertStrictEquals(await on.session.compact({ signal }).catch((error) => error), reason);
  assertEquals([on.session.session.nextSeq, on.summaries.length], [before, 0]);
});

Deno.test("a summary that fails leaves everything as it was, and the next one works", async () => {
  const on = await stage({ summary: (_, n) => n === 1 ? [{ throws: "no connection" }] : [{ text: "short" }] });
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  assertEquals(await codeOf(on.session.compact()), "summary");
  assertEquals(on.session.session.folds.surface.replaceGeneration, 0);
  assert(await on.session.compact() !== null);
  assertEquals(compactionsOf(await logOf(on)), ["start", "end with error", "start", "summary", "checkpoint", "end"]);
});

Deno.test("a second compaction right after the first finds nothing to do", async () => {
  const on = await stage();
  for (const n of [1, 2, 3]) await on.session.send(`prompt ${n} ${words(300)}`);
  assert(await on.session.compact() !== null);
  let rounds = 0;
  while (await on.session.compact() !== null) rounds++;
  assert(rounds <= 1, `${rounds} more`);
});

Deno.test("compact() of a closed session is refused", async () => {
  const on = await stage();
  await on.session.send("hi");
  await on.session.close();
  await assertRejects(() => on.session.compact(), Error, "it is closed");
});

Deno.test("a compaction holds back the turn, not the listeners: status stays idle and the bracket is told as it happens", async () => {
  const door = gate();
  const on = await stage({ summary: () => [door.part, { text: "short" }] });
  for (const n of [1, 2]) await on.session.send(`prompt ${n} ${words(300)}`);
  const seen: string[] = [];
  on.session.subscribe((live) => live.kind === "event" && seen.push(live.event.type));
  const compaction = on.session.compact();
  await until(() => seen.includes("compaction/start"));
  assertEquals(on.session.status, "idle");
  door.open();
  await compaction;
  assertEquals(seen, ["compaction/start", "compaction/summary", "user/message", "compaction/end"]);
});
