import { assert, assertEquals } from "@std/assert";
import { aiSdkFailure } from "../../src/agent/models/ai_sdk_failure.ts";
import { contextWindowFailure } from "../../src/agent/models/context_window.ts";
import { installRetryPolicy } from "../../src/agent/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { defineTool } from "../../src/tool/mod.ts";
import {
  compactionsOf,
  type CompactStage,
  logOf,
  stage,
  type StageOptions,
  textOf,
  TOO_LONG,
  words,
} from "../compaction/compact_stage.ts";

async function talk(on: CompactStage, prompts: number, tokens: number): Promise<void> {
  for (let n = 0; n < prompts; n++) await on.session.send(`prompt ${on.requests.length} ${words(tokens)}`);
}

/** One call with a result of so many tokens, then an answer. */
function looking(tokens: number): Pick<StageOptions, "tools" | "step"> {
  const look = defineTool({
    name: "look",
    description: "",
    parameters: { type: "object" },
    effect: "none",
    execute: () => words(tokens),
  });
  return { tools: [look], step: (_, n) => n % 2 === 1 ? [{ call: { name: "look" } }] : [{ text: "done" }] };
}

const pruneOf = (headChars: number) => ({ prune: { thresholdChars: 2000, headChars, tailChars: 100 } });

Deno.test("compaction/C-48: (a) a summary, (b) a prune alone and (c) a prune before a summary that fails make the request again", async () => {
  const summary = await stage({ limit: 2000, compaction: { prune: false } });
  await talk(summary, 5, 500);
  assertEquals(summary.summaries.length, 1);
  assertEquals(compactionsOf(await logOf(summary)), ["start", "summary", "checkpoint", "end"]);

  // The only range there is holds the prompt alone, so that pruning is all there is to do.
  const pruned = await stage({ limit: 1500, compaction: pruneOf(500), ...looking(2000) });
  assertEquals((await pruned.session.send("go")).reason.kind, "completed");
  assertEquals(compactionsOf(await logOf(pruned)), ["prune"]);
  assertEquals(pruned.requests.length, 3);

  const both = await stage({
    limit: 4000,
    compaction: pruneOf(500),
    ...looking(2000),
    summary: () => [{ throws: "no connection" }],
  });
  await talk(both, 1, 1000);
  assertEquals(compactionsOf(await logOf(both)), []);
  assertEquals((await both.session.send(words(1200))).reason.kind, "completed");
  assertEquals(compactionsOf(await logOf(both)).slice(0, 3), ["prune", "start", "end with error"]);
});

Deno.test("compaction/C-48: (d) without a replacement and (e) without a range the provider's own error ends the turn", async () => {
  const failing = await stage({
    limit: 2000,
    compaction: { prune: false },
    summary: () => [{ throws: "no connection" }],
  });
  await talk(failing, 3, 500);
  const { reason } = await failing.session.send(`more ${words(500)}`);
  assertEquals(reason, { kind: "error", error: TOO_LONG });
  assertEquals(failing.warnings.map(({ code }) => code).includes("COMPACTION_FAILED"), true);

  const alone = await stage({ limit: 500 });
  const outcome = await alone.session.send(words(1000));
  assertEquals(outcome.reason, { kind: "error", error: TOO_LONG });
  assertEquals([alone.summaries.length, alone.requests.length], [0, 1]);
});

Deno.test("compaction/C-49: the cap counts overflows in a row, and an answer sets it back", async () => {
  let refusals = 0;
  const on = await stage({
    compaction: { prune: false },
    step: () => refusals-- > 0 ? [{ error: TOO_LONG }] : [{ text: words(100) }],
  });
  await talk(on, 4, 500);
  refusals = 2;
  const twice = await on.session.send("too long, twice");
  assertEquals(twice.reason, { kind: "error", error: TOO_LONG });
  assertEquals(on.summaries.length, 1);
  await talk(on, 3, 500);
  refusals = 1;
  assertEquals((await on.session.send("too long, once")).reason.kind, "completed");
  assertEquals(on.summaries.length, 2);
  await logOf(on);
});

Deno.test("compaction/C-49: an answer within the turn sets the cap back", async () => {
  const look = looking(200);
  let steps = 0;
  const on = await stage({
    ...look,
    compaction: { prune: false },
    step: () => {
      steps += 1;
      if (steps === 3 || steps === 5) return [{ error: TOO_LONG }];
      return steps < 6 ? [{ call: { name: "look" } }] : [{ text: "done" }];
    },
  });
  assertEquals((await on.session.send(words(500))).reason.kind, "completed");
  assertEquals([steps, on.summaries.length], [6, 2]);
  await logOf(on);
});

Deno.test("compaction/C-50: a cap of 0 recovers nothing, and pressure works on", async () => {
  const on = await stage({
    limit: 2000,
    contextWindow: 100_000,
    compaction: { prune: false, maxOverflowRetries: 0 },
  });
  await talk(on, 3, 500);
  assertEquals((await on.session.send(words(600))).reason, { kind: "error", error: TOO_LONG });
  assertEquals(on.summaries.length, 0);
  const pressed = await stage({ contextWindow: 2000, compaction: { prune: false, maxOverflowRetries: 0 } });
  await talk(pressed, 4, 500);
  assertEquals(pressed.summaries.length, 1);
});

Deno.test("compaction/C-45: overflow needs no knowledge of the window", async () => {
  const on = await stage({ limit: 2000, compaction: { prune: false } });
  await talk(on, 8, 500);
  assert(on.summaries.length >= 1);
  assertEquals(on.warnings.map(({ code }) => code), ["CAPACITY_UNKNOWN"]);
});

Deno.test("compaction/C-52: another failure is none of its business; each budget counts its own", async () => {
  const limited = { message: "slow down", code: "RATE_LIMIT" };
  let plan: ("limited" | "long")[] = [];
  const on = await stage({
    compaction: { prune: false },
    step: () => {
      const next = plan.shift();
      return next === undefined ? [{ text: "done" }] : [{ error: next === "long" ? TOO_LONG : limited }];
    },
  });
  let asked = 0;
  on.session.on("agent/request-error", (_, next) => {
    asked += 1;
    return next();
  });
  await talk(on, 3, 500);
  plan = ["limited"];
  assertEquals((await on.session.send("a")).reason, { kind: "error", error: limited });
  assertEquals([asked, on.summaries.length], [1, 0]);

  installRetryPolicy(on.agent.hooks, { maxRetries: 1, initialDelayMs: 10, jitter: 0 });
  plan = ["limited", "long"];
  const turn = on.session.send("b");
  await on.clock.advance(1000);
  assertEquals((await turn).reason.kind, "completed");
  assertEquals([asked, on.summaries.length], [2, 1]);

  plan = ["long", "limited", "limited"];
  const failed = on.session.send("c");
  await on.clock.advance(1000);
  assertEquals((await failed).reason, { kind: "error", error: limited });
});

Deno.test("the retry is made in the same step, with a new header for a conversation that was rewritten", async () => {
  const on = await stage({ limit: 2000, compaction: { prune: false } });
  await talk(on, 4, 500);
  const events = await logOf(on);
  const attempt = events.findIndex(({ type }) => type === "assistant/attempt");
  assertEquals(events.slice(attempt, attempt + 7).map(({ type }) => type), [
    "assistant/attempt",
    "compaction/start",
    "compaction/summary",
    "user/message",
    "compaction/end",
    "request/header",
    "assistant/message",
  ]);
  const header = events[attempt + 5]!;
  assert(isEvent(header, "request/header") && header.data.reason === "series");
});

Deno.test("what the request was to tell for the first time stays, prompt and context", async () => {
  const on = await stage({ limit: 2000, compaction: { prune: false } });
  let day = "Monday";
  on.session.on("system-prompt/assemble", async (_, next) => {
    return { ...await next(), context: [{ name: "day", order: 1, text: `It is ${day}` }] };
  });
  await talk(on, 3, 500);
  day = "Tuesday";
  await on.session.send(`the newest ${words(500)}`);
  assertEquals(on.summaries.length, 1);
  const texts = on.requests.at(-1)!.messages.map(textOf);
  assertEquals(texts.filter((text) => text.startsWith("the newest")).length, 1);
  assertEquals(texts.filter((text) => text.includes("It is Tuesday")).length, 1);
  assertEquals(on.requests.at(-1)!.messages.findLast(({ source }) => source.kind === "user")!.source.kind, "user");
  await logOf(on);
});

Deno.test("a context that an overflow took away is told again in the same step", async () => {
  const on = await stage({ limit: 2000, compaction: { prune: false } });
  on.session.on("system-prompt/assemble", async (_, next) => {
    return { ...await next(), context: [{ name: "day", order: 1, text: "It is Monday" }] };
  });
  await talk(on, 4, 500);
  assertEquals(on.summaries.length, 1);
  const texts = on.requests.at(-1)!.messages.map(textOf);
  assertEquals(texts.filter((text) => text.includes("It is Monday")).length, 1);
  await logOf(on);
});

Deno.test("compaction/C-68: a summariser that cannot read the whole head gets half of it, and the request is made again", async () => {
  // The model takes less than what a summary of everything would need.
  const on = await stage({ limit: 2400, compaction: { prune: false } });
  await talk(on, 12, 550);
  assertEquals(on.session.session.folds.compactions.failures, 0);
  assertEquals((await on.session.send("and now?")).reason.kind, "completed");
  const landed = compactionsOf(await logOf(on)).filter((kind) => kind === "checkpoint").length;
  assert(landed > 0 && on.summaries.length > landed, `${on.summaries.length} asked for, ${landed} landed`);
});

Deno.test("while the breaker is open, requests that pruning saves pay for no summary", async () => {
  const look = looking(2000);
  const on = await stage({
    limit: 2600,
    compaction: pruneOf(500),
    tools: look.tools,
    step: (_, n) => n > 12 ? [{ text: "done" }] : [{ call: { name: "look" } }],
    summary: () => [{ throws: "no connection" }],
  });
  await on.session.send(words(300));
  const kinds = compactionsOf(await logOf(on));
  assertEquals(on.summaries.length, kinds.filter((kind) => kind === "start").length);
  assert(kinds.filter((kind) => kind === "prune").length > on.summaries.length, kinds.join());
  assertEquals(on.session.session.folds.compactions.failures, on.summaries.length);
  // Three while it was closed, and one more as the last thing before the turn failed.
  assert(on.summaries.length <= 4, `${on.summaries.length}`);
});

Deno.test("under overflow no result is protected from pruning, the newest included", async () => {
  const whole = await stage({ limit: 1500, compaction: { prune: false }, ...looking(3000) });
  assertEquals((await whole.session.send("go")).reason, { kind: "error", error: TOO_LONG });
  const prune = { thresholdChars: 2000, headChars: 500, tailChars: 100, protectRecent: 5 };
  const pruned = await stage({ limit: 1500, compaction: { prune }, ...looking(3000) });
  assertEquals((await pruned.session.send("go")).reason.kind, "completed");
});

Deno.test("providers' words for a request that was too long become one code, and nothing else does", () => {
  const code = (message: string, status = 400, given = "UNKNOWN", word?: string) =>
    contextWindowFailure({ message, code: given, status }, word).code;
  for (
    const message of [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      "prompt is too long: 210000 tokens > 200000 maximum",
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
      "the request exceeds the available context size (4096 tokens)",
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      "Please reduce the length of the messages or completion.",
    ]
  ) assertEquals(code(message), "CONTEXT_WINDOW_EXCEEDED", message);
  assertEquals(code("bad request", 400, "UNKNOWN", "context_length_exceeded"), "CONTEXT_WINDOW_EXCEEDED");
  assertEquals(code("Rate limit reached: too many tokens per minute", 429, "RATE_LIMIT"), "RATE_LIMIT");
  assertEquals(code("context window", 500, "SERVER"), "SERVER");
  assertEquals(code("context window", 401), "UNKNOWN");
  assertEquals(code("invalid tool schema"), "UNKNOWN");
  const { failure } = aiSdkFailure(Object.assign(new Error("prompt is too long: 9 > 8"), { statusCode: 400 }));
  assertEquals(failure.code, "CONTEXT_WINDOW_EXCEEDED");
});
