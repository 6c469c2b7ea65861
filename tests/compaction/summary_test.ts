import { assert, assertEquals } from "@std/assert";
import {
  type CompactionError,
  CONTEXT_WINDOW_EXCEEDED,
  SUMMARY_HALVINGS_MAX,
  SUMMARY_INSTRUCTION,
  type SummaryAnswer,
  type SummaryRequest,
} from "../../src/compaction/mod.ts";
import { type Block, type FinishReason, isEvent } from "../../src/event/mod.ts";
import type { Session } from "../../src/session/mod.ts";
import { answerOf, callStep, compact, endTurn, newSession, openTurn, say } from "./bracket_support.ts";

const LONG = "a sentence that is long enough to be worth a summary of it, and then some more. ".repeat(12);

async function conversation(prompts = 4): Promise<{ session: Session; seqs: number[] }> {
  const session = await newSession();
  return { session, seqs: Array.from({ length: prompts }, (_, index) => say(session, `${index} ${LONG}`)) };
}

const checkpointOf = ({ folds }: Session) =>
  folds.surface.nodes.toArray().find(({ message }) => message.source.plugin === "compact")!.message;

Deno.test("compaction/C-61: system prompt, tools and messages stand as ever, and the instruction behind them", async () => {
  const session = await newSession();
  openTurn(session);
  const place = { turn: 1, step: 1 };
  session.append({ type: "step/start", data: place });
  const source = { kind: "plugin", plugin: "holdfast" };
  const system = { id: "sys", role: "system" as const, content: [{ type: "text" as const, text: "be kind" }], source };
  session.append({ type: "system/message", data: { ...place, message: system }, surfaceOp: "append" });
  const tools = ["b", "a"].map((name) => ({ name, description: "", parameters: { type: "object" } }));
  const config = { provider: "other", model: "large", temperature: 1, maxTokens: 99 };
  session.append({ type: "request/header", data: { header: { config, tools }, reason: "initial" } });
  session.append({ type: "step/end", data: place });
  const first = say(session, LONG);
  const [, last] = callStep(session, "c1", LONG);
  say(session, "newest");
  let asked: SummaryRequest | null = null;
  await compact(session, first, last, {
    owner: "turn",
    summarise: (request) => {
      asked = request;
      return Promise.resolve(answerOf("short"));
    },
  });
  const { header, messages } = asked!;
  assertEquals(header, { config: { provider: "p", model: "m", maxTokens: 8192 }, tools });
  assertEquals(messages.map(({ id }) => id).slice(0, 1), ["sys"]);
  assertEquals(messages.map(({ role }) => role), ["system", "user", "assistant", "user", "user"]);
  assertEquals(messages.at(-1)!.content, [{ type: "text", text: SUMMARY_INSTRUCTION }]);
  for (const heading of ["Primary Request and Intent", "Pending Jobs", "Critical Context"]) {
    assert(SUMMARY_INSTRUCTION.includes(`## ${heading}`));
  }
});

Deno.test("compaction/C-63: what is cut off, failed, empty, only thought, or holds an image is no summary", async () => {
  const image: Block = { type: "image", attachment: { mediaType: "image/png" } };
  const failure = { message: "overloaded", code: "SERVER" };
  const answers: Record<string, [readonly Block[], FinishReason]> = {
    "MAX_TOKENS": [[{ type: "text", text: "half" }], { kind: "max-tokens" }],
    "SERVER": [[{ type: "text", text: "half" }], { kind: "error", failure }],
    "SERVER: overloaded": [[], { kind: "aborted", failure }],
    "EMPTY_RESPONSE": [[{ type: "text", text: " \n" }], { kind: "stop" }],
    "EMPTY_RESPONSE: the summary has no text": [[{ type: "reasoning", text: "hm" }], { kind: "stop" }],
    "UNSUPPORTED_CONTENT": [[{ type: "text", text: "see" }, image], { kind: "stop" }],
    "UNSUPPORTED_CONTENT: the summary holds an image": [[
      { type: "text", text: "see" },
      { type: "tool-result", toolCallId: "c", content: [image] },
    ], { kind: "stop" }],
  };
  for (const [code, [content, finish]] of Object.entries(answers)) {
    const { session, seqs: [a, , c] } = await conversation();
    const summarise = () => Promise.resolve<SummaryAnswer>({ content, finish, usage: null });
    const error = await compact(session, a!, c!, { summarise }).catch((error) => error) as CompactionError;
    assertEquals(error.code, "summary", code);
    const { events } = await session.history();
    const end = events.at(-1)!;
    assert(isEvent(end, "compaction/end") && end.data.error!.includes(code), code);
    assertEquals(session.folds.surface.replaceGeneration, 0);
    assert(!events.some(({ type }) => type === "compaction/summary"));
  }
});

Deno.test("field/B15: a summariser that throws, and one that hangs until it is told to stop, close their bracket", async () => {
  const { session, seqs: [a, , c] } = await conversation();
  await compact(session, a!, c!, { summarise: () => Promise.reject(new Error("no route")) }).catch(() => {});
  const controller = new AbortController();
  const hung = compact(session, a!, c!, { summarise: () => new Promise(() => {}), signal: controller.signal });
  controller.abort(new Error("enough"));
  await hung.catch(() => {});
  const { events } = await session.history();
  const errors = events.flatMap((event) => isEvent(event, "compaction/end") ? [event.data.error] : []);
  assertEquals(errors, ["no route", "cancelled: enough"]);
  assertEquals(session.folds.brackets.compaction, null);
});

Deno.test("compaction/C-64: only text is told to the model; everything that came is kept as evidence", async () => {
  const { session, seqs: [a, , c] } = await conversation();
  const content: Block[] = [
    { type: "reasoning", text: "let me see" },
    { type: "text", text: "First." },
    { type: "tool-call", id: "c9", name: "look", arguments: "{}" },
    { type: "text", text: "Second." },
  ];
  const usage = { inputTokens: 500, outputTokens: 9 };
  const summarise = () => Promise.resolve<SummaryAnswer>({ content, finish: { kind: "stop" }, usage });
  await compact(session, a!, c!, { summarise });
  const blocks = checkpointOf(session).content;
  assertEquals(blocks.map(({ type }) => type), ["text", "text", "text", "text"]);
  assertEquals(blocks.slice(1, 3), [{ type: "text", text: "First." }, { type: "text", text: "Second." }]);
  const { events } = await session.history();
  const summary = events.find((event) => isEvent(event, "compaction/summary"))!;
  assert(isEvent(summary, "compaction/summary"));
  const { rawOutput, llmStreamCall, provider, model, maxTokens } = summary.data;
  assertEquals([rawOutput, llmStreamCall, summary.data.usage], [content, true, usage]);
  assertEquals([provider, model, maxTokens], ["p", "m", 8192]);
});

Deno.test("a summary that is no smaller than what it stands for is refused", async () => {
  const { session, seqs: [a, , c] } = await conversation();
  const summarise = () => Promise.resolve(answerOf(LONG.repeat(4)));
  const error = await compact(session, a!, c!, { summarise }).catch((error) => error) as CompactionError;
  assertEquals(error.code, "summary");
  assert(/the summary takes \d+ tokens, what it stands for \d+/.test(error.message));
  assertEquals(session.folds.surface.replaceGeneration, 0);
});

Deno.test("compaction/C-68: a summariser that overflows gets half, at most three times, in one bracket", async () => {
  const failure = { message: "too long", code: CONTEXT_WINDOW_EXCEEDED };
  for (const [works, halvings] of [[true, 1], [true, 3], [false, SUMMARY_HALVINGS_MAX]] as const) {
    const { session, seqs } = await conversation(16);
    const sizes: number[] = [];
    const summarise = ({ messages }: SummaryRequest) => {
      sizes.push(messages.length - 1);
      const isLast = works && sizes.length > halvings;
      return Promise.resolve(isLast ? answerOf("short") : answerOf("", { kind: "error", failure }));
    };
    const done = await compact(session, seqs[0]!, seqs[15]!, { summarise }).catch((error) => error);
    assertEquals(sizes, [16, 8, 4, 2].slice(0, halvings + 1));
    const { events } = await session.history();
    assertEquals(events.filter(({ type }) => type === "compaction/start").length, 1);
    if (works) {
      assertEquals(done.shadowedCount, sizes.at(-1));
      assertEquals(session.folds.surface.nodes.length, 16 - sizes.at(-1)! + 1);
    } else {
      assertEquals((done as CompactionError).code, "summary");
      assertEquals(session.folds.surface.replaceGeneration, 0);
    }
  }
});

Deno.test("a failure that is no overflow is not tried again with less", async () => {
  const { session, seqs } = await conversation(8);
  let calls = 0;
  const failure = { message: "slow down", code: "RATE_LIMIT" };
  const summarise = () => Promise.resolve(answerOf(`${++calls}`, { kind: "error", failure }));
  await compact(session, seqs[0]!, seqs[6]!, { summarise }).catch(() => {});
  assertEquals(calls, 1);
});

Deno.test("the newest prompt in a range is copied word for word, image included, and the copy looks like no new request", async () => {
  const session = await newSession();
  openTurn(session);
  say(session, LONG);
  const content: Block[] = [
    { type: "text", text: "Translate the letter." },
    { type: "image", attachment: { attachmentId: "i1", width: 100, height: 100 } },
  ];
  const data = { id: "prompt", role: "user" as const, content, source: { kind: "user" } };
  const prompt = session.append({ type: "user/message", data, surfaceOp: "append" }).seq;
  const [, second] = callStep(session, "c1", LONG);
  const [start] = session.folds.surface.nodes.toArray();
  callStep(session, "c2", LONG);
  await compact(session, start!.seq, second, { owner: "turn" });
  const copy = checkpointOf(session);
  const at = copy.content.findIndex((block) => block.type === "text" && block.text === "Translate the letter.");
  assertEquals(copy.content.slice(at, at + 2), content);
  const lead = JSON.stringify(copy.content[at - 1]);
  assert(lead.includes("It is not said anew") && lead.includes("you have been working on it"), lead);
  assert(copy.source.kind !== "user" && copy.id !== "prompt");
  assertEquals(session.folds.compactions.newestPrompt!.seq, prompt);

  // The next compaction carries it on from the log, and once its turn is over it says so.
  endTurn(session);
  openTurn(session);
  const nodes = session.folds.surface.nodes.toArray();
  await compact(session, nodes[0]!.seq, nodes.at(-1)!.seq, { owner: "turn" });
  const again = checkpointOf(session);
  assertEquals(session.folds.surface.nodes.length, 1);
  const texts = JSON.stringify(again.content);
  assertEquals(texts.split("Translate the letter.").length, 2);
  assert(texts.includes("the turn it began is over"), texts);
});
