import { assert, assertEquals } from "@std/assert";
import type { CompactionOptions } from "../../src/compaction/mod.ts";
import { type Block, isEvent } from "../../src/event/mod.ts";
import { measure } from "../../src/fold/mod.ts";
import { defineTool } from "../../src/tool/mod.ts";
import {
  compactionsOf,
  type CompactStage,
  logOf,
  resumedStage,
  sizeOf,
  stage,
  type StageOptions,
  textOf,
  words,
} from "../compaction/compact_stage.ts";

const NO_PRUNE: CompactionOptions = { prune: false };

/** Says so many prompts of so many tokens each. */
async function talk(on: CompactStage, prompts: number, tokens: number): Promise<void> {
  for (let n = 0; n < prompts; n++) {
    const { reason } = await on.session.send(`prompt ${on.requests.length} ${words(tokens)}`);
    assertEquals(reason.kind, "completed");
  }
}

/** A tool whose results have so many tokens, and a rule that calls it so often, one call a step, and then stops. */
function looking(tokens: number, steps: number): Pick<StageOptions, "tools" | "step"> {
  const look = defineTool({
    name: "look",
    description: "",
    parameters: { type: "object" },
    effect: "none",
    execute: () => words(tokens),
  });
  return { tools: [look], step: (_, n) => n > steps ? [{ text: "done" }] : [{ call: { name: "look" } }] };
}

Deno.test("compaction/C-43: one token below the threshold nothing happens, at the threshold it does", async () => {
  const rehearsal = await stage();
  await talk(rehearsal, 3, 500);
  const message = `fourth ${words(500)}`;
  const { totalTokens } = measure(rehearsal.session.session.folds);
  const nextTokens = totalTokens + 4 + 4 + Math.ceil(message.length / 4);
  for (const [threshold, isCompacted] of [[nextTokens + 1, false], [nextTokens, true]] as const) {
    // The ratio is exact: a window of 10 000 times the threshold would lose digits, twice the threshold does not.
    const on = await stage({ contextWindow: threshold * 2, compaction: { ...NO_PRUNE, thresholdRatio: 0.5 } });
    await talk(on, 3, 500);
    assertEquals(on.summaries.length, 0);
    await on.session.send(message);
    assertEquals(on.summaries.length, isCompacted ? 1 : 0, `threshold ${threshold}`);
    await logOf(on);
  }
});

Deno.test("the answer's reserve lowers the threshold", async () => {
  const window = { contextWindow: 4000, compaction: NO_PRUNE };
  const plain = await stage(window);
  const reserved = await stage({ ...window, parameters: { maxTokens: 1500 } });
  for (const on of [plain, reserved]) await talk(on, 5, 500);
  assertEquals([plain.summaries.length, reserved.summaries.length > 0], [0, true]);
});

Deno.test("compaction/C-44: before a request was ever logged nothing is compacted", async () => {
  const on = await stage({ contextWindow: 100, compaction: NO_PRUNE });
  await on.session.send(words(5000));
  assertEquals([on.summaries.length, on.warnings.length], [0, 0]);
});

Deno.test("compaction/C-45: a window that nobody knows is warned about once, and steps go on", async () => {
  const on = await stage(looking(10, 3));
  assertEquals((await on.session.send("go")).reason.kind, "completed");
  await on.session.send("again");
  assertEquals(on.warnings.map(({ code }) => code), ["CAPACITY_UNKNOWN"]);
  assert(on.warnings[0]!.message.includes("scripted:scripted"));
});

Deno.test("compaction/C-46: a summariser that throws costs one warning, and the step enters with the surface as it is", async () => {
  const on = await stage({ contextWindow: 2000, compaction: NO_PRUNE, summary: () => [{ throws: "no connection" }] });
  await talk(on, 4, 500);
  assertEquals(on.warnings.map(({ code }) => code), ["COMPACTION_FAILED"]);
  assert(on.warnings[0]!.message.includes("no connection"));
  assertEquals(on.requests.at(-1)!.messages.length, 7);
  assertEquals(compactionsOf(await logOf(on)), ["start", "end with error"]);
});

Deno.test("compaction/C-15: automatic compaction logs exactly its bracket, within the turn and before the step", async () => {
  const on = await stage({ contextWindow: 2000, compaction: NO_PRUNE });
  await talk(on, 4, 500);
  const events = await logOf(on);
  const start = events.findIndex(({ type }) => type === "compaction/start");
  assertEquals(events.slice(start - 1, start + 5).map(({ type }) => type), [
    "agent/inbox/spliced",
    "compaction/start",
    "compaction/summary",
    "user/message",
    "compaction/end",
    "step/start",
  ]);
  const opening = events[start]!;
  assert(isEvent(opening, "compaction/start") && opening.data.turn === 4);
  assert(sizeOf(on.requests.at(-1)!) < 1600);
});

Deno.test("compaction/C-53: an envelope over the threshold is not summarised against: one warning names it, and steps go on", async () => {
  const systemPrompt = words(2000);
  const on = await stage({ contextWindow: 2000, systemPrompt, compaction: NO_PRUNE, ...looking(5, 20) });
  assertEquals((await on.session.send("go")).reason.kind, "completed");
  assertEquals(on.requests.length, 21);
  assertEquals(on.summaries.length, 0);
  assertEquals(on.warnings.map(({ code }) => code), ["NOTHING_TO_COMPACT"]);
  assert(/system prompt and tools take 20\d\d/.test(on.warnings[0]!.message), on.warnings[0]!.message);
});

Deno.test("compaction/C-66: summaries that shrink too little are tried at most twice in a step, and both replacements stay", async () => {
  const on = await stage({
    contextWindow: 2000,
    compaction: NO_PRUNE,
    summary: (_, n) => [{ text: words(1000 - 100 * n) }],
  });
  await talk(on, 4, 500);
  assertEquals(on.summaries.length, 2);
  assertEquals(on.session.session.folds.surface.replaceGeneration, 2);
  assertEquals(on.warnings.map(({ code }) => code), ["COMPACTION_FAILED"]);
  assert(on.warnings[0]!.message.includes("it still takes"), on.warnings[0]!.message);
  await logOf(on);
});

Deno.test("the breaker opens after three failures, is told once, and closes after the cooldown by one that works", async () => {
  let isBroken = true;
  const on = await stage({
    contextWindow: 2000,
    compaction: { ...NO_PRUNE, cooldownMs: 1000 },
    summary: () => isBroken ? [{ throws: "no connection" }] : [{ text: "short" }],
  });
  await talk(on, 12, 500);
  assertEquals(on.summaries.length, 3);
  assertEquals(on.warnings.map(({ code }) => code), [
    "COMPACTION_FAILED",
    "COMPACTION_FAILED",
    "COMPACTION_FAILED",
    "COMPACTION_PAUSED",
  ]);
  await on.clock.advance(1000);
  await talk(on, 3, 10);
  assertEquals(on.summaries.length, 4);
  await on.clock.advance(1000);
  isBroken = false;
  await talk(on, 1, 10);
  assertEquals([on.summaries.length, on.session.session.folds.compactions.failures], [5, 0]);
  await logOf(on);
});

Deno.test("the breaker survives restarts, and a person passes it", async () => {
  const options: StageOptions = {
    contextWindow: 2000,
    compaction: NO_PRUNE,
    summary: () => [{ throws: "no connection" }],
  };
  let on = await stage(options);
  await talk(on, 3, 500);
  let calls = 0;
  for (let restarts = 0; restarts < 8; restarts++) {
    await on.session.session.flush();
    on = await resumedStage(on.store, options);
    await talk(on, 1, 500);
    calls += on.summaries.length;
  }
  assertEquals(calls, 3);
  const healed = await resumedStage(on.store, { ...options, summary: () => [{ text: "short" }] });
  assert(await healed.session.compact() !== null);
  assertEquals(healed.session.session.folds.surface.replaceGeneration, 1);
});

Deno.test("field/B17: a supervisor that restarts after every compaction pays for at most two where nothing helps", async () => {
  // One prompt that must stay takes most of the window, and the summary is nearly as long as the rest: whatever is done, the
  // surface stays over the threshold.
  const options: StageOptions = {
    contextWindow: 20_000,
    compaction: NO_PRUNE,
    summary: (_, n) => [{ text: words(1900 - 100 * n) }],
  };
  let on = await stage(options);
  await talk(on, 1, 2000);
  await talk(on, 1, 15_000);
  let calls = on.summaries.length;
  for (let restarts = 0; restarts < 20; restarts++) {
    await on.session.session.flush();
    on = await resumedStage(on.store, options);
    await talk(on, 1, 1);
    calls += on.summaries.length;
  }
  assert(calls > 0 && calls <= 2, `${calls} summaries`);
});

Deno.test("a person's cancel during an automatic compaction ends the turn as cancelled, and does not count as a failure", async () => {
  const on = await stage({ contextWindow: 2000, compaction: NO_PRUNE, summary: () => [{ hang: true }] });
  await talk(on, 3, 500);
  const turn = on.session.send(words(500));
  on.session.subscribe((live) => {
    if (live.kind === "event" && live.event.type === "compaction/start") on.session.cancel();
  });
  const { reason } = await turn;
  assertEquals(reason, { kind: "aborted", reason: { kind: "user" } });
  assertEquals(on.session.session.folds.compactions.failures, 0);
  assertEquals(on.session.session.folds.brackets.compaction, null);
  await logOf(on);
});

Deno.test("compaction/C-50: with auto false nothing happens by itself, and a person can still compact", async () => {
  const on = await stage({ contextWindow: 2000, limit: 5000, compaction: { auto: false } });
  await talk(on, 6, 500);
  assertEquals([on.summaries.length, on.warnings.length], [0, 0]);
  const { reason } = await on.session.send(words(4000));
  assertEquals(reason.kind, "error");
  assertEquals(on.summaries.length, 0);
  const small = await stage({ compaction: false });
  await talk(small, 3, 500);
  assert(await small.session.compact() !== null);
});

Deno.test("compaction/C-71, compaction/C-77: below the threshold nothing is pruned, and where pruning is enough nothing is summarised", async () => {
  const on = await stage({ contextWindow: 12_000, compaction: { prune: { protectRecent: 1 } }, ...looking(2500, 5) });
  await on.session.send("go");
  const events = await logOf(on);
  const first = events.findIndex(({ type }) => type === "compaction/prune");
  assert(first > 0);
  // The first pruning came when the fourth result stood there, not before.
  assertEquals(events.slice(0, first).filter(({ type }) => type === "tool/result").length, 4);
  assertEquals([on.summaries.length, events.some(({ type }) => type === "compaction/start")], [0, false]);
});

Deno.test("compaction/C-62: a summariser that was set for it is asked, else who was asked last", async () => {
  const on = await stage({ contextWindow: 2000, compaction: NO_PRUNE });
  await talk(on, 4, 500);
  // A summary takes a quarter of a small window at most.
  assertEquals(on.summaries[0]!.header.config, { provider: "scripted", model: "scripted", maxTokens: 500 });
  const large = await stage({ compaction: NO_PRUNE });
  await talk(large, 2, 500);
  await large.session.compact();
  assertEquals(large.summaries[0]!.header.config, { provider: "scripted", model: "scripted", maxTokens: 8192 });
  const set = await stage({
    contextWindow: 2000,
    compaction: { ...NO_PRUNE, summarizer: { provider: "scripted", model: "small" }, maxTokens: 100 },
  });
  await talk(set, 4, 500);
  assertEquals(set.summaries[0]!.header.config, { provider: "scripted", model: "small", maxTokens: 100 });
  const nobody = await stage({
    contextWindow: 2000,
    compaction: { ...NO_PRUNE, summarizer: { provider: "nobody", model: "small" } },
  });
  await talk(nobody, 4, 500);
  assert(nobody.warnings[0]!.message.includes('no model "small" of provider "nobody" is connected'));
});

Deno.test("compaction/C-70: what a producer had told and a compaction took away is told again in that same step", async () => {
  const on = await stage({ contextWindow: 2000, compaction: NO_PRUNE });
  const rules: Block[] = [{ type: "text", text: "RULES of the project" }];
  const source = { kind: "agent-instructions" };
  on.session.on("agent/pre-step", async (step, next) => {
    const { folds } = step.agent.session;
    const isThere = folds.surface.nodes.toArray().some(({ message }) => message.source.kind === source.kind);
    const decision = await next();
    if (isThere || decision.kind === "reject") return decision;
    const id = `rules-${step.turn}`;
    return { ...decision, messages: [{ id, role: "user", content: rules, source }, ...decision.messages] };
  });
  on.session.on("system-prompt/assemble", async (_, next) => {
    return { ...await next(), context: [{ name: "day", order: 1, text: "It is Monday" }] };
  });
  await talk(on, 4, 500);
  assertEquals(on.summaries.length, 1);
  for (const { messages } of on.requests) {
    const texts = messages.map(textOf);
    assertEquals(texts.filter((text) => text.includes("RULES of the project")).length, 1);
    assertEquals(texts.filter((text) => text.includes("It is Monday")).length, 1);
  }
  await logOf(on);
});

Deno.test("the newest prompt of a long row of calls stands in every request, word for word and once", async () => {
  const on = await stage({ contextWindow: 3000, limit: 3000, compaction: NO_PRUNE, ...looking(300, 40) });
  const prompt = "Find the three needles, and touch nothing else.";
  assertEquals((await on.session.send(prompt)).reason.kind, "completed");
  assert(on.summaries.length >= 3, `${on.summaries.length}`);
  for (const { messages } of on.requests) {
    assertEquals(messages.map(textOf).join("\n").split(prompt).length, 2);
  }
  const asPrompt = on.requests.map(({ messages }) => messages.filter(({ source }) => source.kind === "user").length);
  assertEquals(asPrompt.at(-1), 0);
  await logOf(on);
});

Deno.test("a listener of llm/stream and one of agent/request are not asked about a summary", async () => {
  const on = await stage({ contextWindow: 2000, compaction: NO_PRUNE });
  const seen: unknown[] = [];
  on.session.on("llm/stream", (place, next) => {
    seen.push(place.request.purpose);
    return next();
  });
  await talk(on, 4, 500);
  assertEquals(on.summaries.length, 1);
  assertEquals(seen, [undefined, undefined, undefined, undefined]);
});
