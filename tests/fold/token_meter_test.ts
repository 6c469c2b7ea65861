import { assert, assertEquals } from "@std/assert";
import type { Block, Message, RequestHeader, SessionEvent, Usage } from "../../src/event/mod.ts";
import {
  foldEvents,
  IMAGE_TOKENS_MAX,
  measure,
  priceOfBlock,
  priceOfHeader,
  priceOfMessage,
  priceOfNode,
  pricesOf,
  tokenMeterFold,
} from "../../src/fold/mod.ts";
import { LogBuilder, plain } from "./log_builder.ts";

const text = (text: string): Block => ({ type: "text", text });
const user = (...content: Block[]): Message => ({ id: "m", role: "user", content, source: { kind: "user" } });

Deno.test("compaction/C-88: the estimator gives the fixed heuristic's numbers", () => {
  assertEquals(priceOfMessage(user(text("abcd"))), 9);
  assertEquals(priceOfMessage(user(text(""))), 8);
  assertEquals(priceOfMessage(user({ type: "tool-call", id: "c", name: "read", arguments: "{}" })), 10);
  assertEquals(priceOfMessage(user({ type: "tool-result", toolCallId: "c", content: [text("12345678")] })), 14);
  assertEquals(priceOfNode({ type: "system/message", message: { ...user(text("abcde")), role: "system" } }), 6);
  assertEquals(priceOfHeader({ config: { provider: "p", model: "m" } }), 0);
  assertEquals(priceOfHeader(null), 0);
  const tools = [{ name: "a", description: "b", parameters: {} }];
  assertEquals(
    priceOfHeader({ config: { provider: "p", model: "m" }, tools }),
    Math.ceil(JSON.stringify(tools).length / 4) + 4,
  );
});

Deno.test("compaction/C-11: an empty answer stands on the surface and costs nothing", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  const seq = log.assistant([]);
  const { meter, surface } = log.folds();
  assertEquals(surface.nodes.length, 1);
  assertEquals(pricesOf(meter).map(({ seq, tokens }) => [seq, tokens]), [[seq, 0]]);
});

Deno.test("the estimate knows scripts whose characters are tokens, emoji, and images by their pixels", () => {
  assertEquals(priceOfBlock(text("漢字仮名交じり文".repeat(10))), 80 + 4);
  assertEquals(priceOfBlock(text("привет")), 3 + 4);
  assertEquals(priceOfBlock(text("😀😀")), 4 + 4);
  assertEquals(priceOfBlock(text("a\ud83d")), 2 + 4);
  const image = (width?: number, height?: number): Block => ({
    type: "image",
    attachment: { attachmentId: "i", ...(width === undefined ? {} : { width, height: height! }) },
  });
  assertEquals(priceOfBlock(image()), IMAGE_TOKENS_MAX + 4);
  assertEquals(priceOfBlock(image(300, 100)), 40 + 4);
  assertEquals(priceOfBlock(image(8000, 8000)), IMAGE_TOKENS_MAX + 4);
  assertEquals(priceOfBlock(image(0, 10)), IMAGE_TOKENS_MAX + 4);
  assertEquals(priceOfBlock({ type: "tool-result", toolCallId: "c", content: [image(300, 100)] }), 44 + 4);
});

const HEADER: RequestHeader = { config: { provider: "p", model: "m" } };

/** A request with its answer. `during` comes while the model answers. */
function ask(log: LogBuilder, usage: Usage | undefined, during: readonly string[] = []): void {
  log.startTurn();
  log.startStep();
  log.user("x".repeat(40_000));
  log.add("request/header", { header: HEADER, reason: "initial" });
  const askedAt = log.time++;
  for (const said of during) log.user(said);
  const message = { ...user(text("done")), role: "assistant" as const };
  const stream = [{ type: "text-chunks", time0: askedAt, index: 0, dt: [], texts: ["done"] }] as const;
  const data = { ...log.place(), message, stream, ...(usage === undefined ? {} : { usage }) };
  log.add("assistant/message", data, { surfaceOp: "append" });
}

Deno.test("a prompt that was told within the step is counted once when the usage arrives", () => {
  const log = new LogBuilder();
  ask(log, { inputTokens: 10_100, outputTokens: 16 });
  assertEquals(measure(log.folds()).totalTokens, 10_116);
  log.endStep();
  log.user("and more");
  assertEquals(measure(log.folds()).totalTokens, 10_116 + priceOfMessage(user(text("and more"))));
});

Deno.test("what came while the model answered was not in its request, and counts beside its usage", () => {
  const log = new LogBuilder();
  ask(log, { inputTokens: 10_100, outputTokens: 16 }, ["y".repeat(4000)]);
  assertEquals(measure(log.folds()).totalTokens, 10_116 + priceOfMessage(user(text("y".repeat(4000)))));
});

Deno.test("a replacement moves the total by exactly what it takes away, whatever the provider had counted", () => {
  const log = new LogBuilder();
  ask(log, { inputTokens: 30_000, outputTokens: 16 });
  const first = log.folds().surface.nodes.at(0)!.seq;
  log.endStep();
  const before = measure(log.folds());
  log.user("short", { op: "replace", startSeq: first, endSeq: first }, [first]);
  const after = measure(log.folds());
  const shrunk = priceOfMessage(user(text("x".repeat(40_000)))) - priceOfMessage(user(text("short")));
  assertEquals(before.totalTokens - after.totalTokens, shrunk);
  assertEquals(before.surfaceTokens - after.surfaceTokens, shrunk);
});

Deno.test("a usage below the heuristic, or of another header, does not count", () => {
  const log = new LogBuilder();
  ask(log, { inputTokens: 5, outputTokens: 1 });
  const { totalTokens, surfaceTokens } = measure(log.folds());
  assertEquals(totalTokens, surfaceTokens);
  const other = new LogBuilder();
  ask(other, { inputTokens: 50_000, outputTokens: 1 });
  assertEquals(measure(other.folds()).totalTokens, 50_001);
  const tools = [{ name: "a", description: "b", parameters: {} }];
  other.add("request/header", { header: { ...HEADER, tools }, reason: "change" });
  const found = measure(other.folds());
  assertEquals(found.totalTokens, found.surfaceTokens + priceOfHeader({ ...HEADER, tools }));
  assertEquals(found.envelopeTokens, priceOfHeader({ ...HEADER, tools }));
});

Deno.test("a cached prompt is counted once, whether the provider puts the cached part inside of its count or beside it", () => {
  const totals = ([
    { inputTokens: 20_000, outputTokens: 10, cacheReadTokens: 19_000 },
    { inputTokens: 1_000, outputTokens: 10, cacheReadTokens: 19_000 },
    { inputTokens: 12_000, outputTokens: 10, cacheReadTokens: 8_000, totalTokens: 20_010 },
  ] as Usage[]).map((usage) => {
    const log = new LogBuilder();
    ask(log, usage);
    return measure(log.folds()).totalTokens;
  });
  assertEquals(totals, [20_010, 20_010, 20_010]);
});

Deno.test("the meter is the same from the beginning, from its own text, and from events alone", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  log.system("be brief");
  log.endStep();
  log.endTurn();
  ask(log, { inputTokens: 30_000, outputTokens: 16 });
  const events: readonly SessionEvent[] = log.events;
  const whole = foldEvents(tokenMeterFold, events);
  assertEquals(plain(whole), plain(log.folds().meter));
  assertEquals(measure({ meter: whole }).envelopeTokens, 2 + 4);
  assertEquals(
    whole.surfaceTokens,
    pricesOf(whole).reduce((sum, { tokens }) => sum + tokens, 0),
  );
  assert(measure({ meter: tokenMeterFold.initial() }).totalTokens === 0);
});
