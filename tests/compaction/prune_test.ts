import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  checkedPruneOptions,
  CompactionError,
  pruneContent,
  pruneMarker,
  pruneSession,
  readResultTool,
} from "../../src/compaction/mod.ts";
import { countCodePoints } from "../../src/compaction/code_points.ts";
import { type Block, isEvent, type SessionEvent } from "../../src/event/mod.ts";
import { addToTotal, measure, pairingProblem, RUNNING_TOTAL_ZERO, type RunningTotal } from "../../src/fold/mod.ts";
import type { Session } from "../../src/session/mod.ts";
import { callStep, compact, endTurn, newSession, openTurn, refusing, say, typesOf } from "./bracket_support.ts";

const ALL = { protectRecent: 0, marker: "plain" } as const;

/** The content of a result on the surface, in the model's order. */
function shown(session: Session): readonly (readonly Block[])[] {
  return session.folds.surface.nodes.toArray().flatMap(({ message: { content: [block] } }) =>
    block?.type === "tool-result" ? [block.content] : []
  );
}

function textOf(content: readonly Block[]): string {
  return content.map((block) => block.type === "text" ? block.text : `<${block.type}>`).join("|");
}

Deno.test("compaction/C-72: a result at the threshold stays, one code point more loses its middle", async () => {
  const session = await newSession();
  openTurn(session);
  callStep(session, "c1", "x".repeat(8192));
  callStep(session, "c2", "h".repeat(4096) + "m".repeat(3073) + "t".repeat(1024));
  const { pruned, charsRemoved } = pruneSession(session, ALL);
  assertEquals(pruned.map(({ callId, charsBefore, charsAfter }) => [callId, charsBefore, charsAfter]), [[
    "c2",
    8193,
    5159,
  ]]);
  assertEquals(charsRemoved, 8193 - 5159);
  const [first, second] = shown(session).map(textOf);
  assertEquals(first, "x".repeat(8192));
  assertEquals(second, "h".repeat(4096) + pruneMarker(null) + "t".repeat(1024));
  assertEquals(countCodePoints(pruneMarker(null)), 39);
});

Deno.test("compaction/C-73: sizes are code points, and no pair is split", () => {
  const sizes = { thresholdChars: 50, headChars: 4, tailChars: 3 };
  const pruned = pruneContent([{ type: "text", text: "😀".repeat(60) }], sizes, null)!;
  const text = textOf(pruned.content);
  assertEquals(text, "😀".repeat(4) + pruneMarker(null) + "😀".repeat(3));
  assert(text.isWellFormed());
  assertEquals(pruned.charsAfter, countCodePoints(text));
});

Deno.test("pruneContent() cuts across blocks, puts one marker where it began, and keeps what is no text", () => {
  const sizes = { thresholdChars: 60, headChars: 6, tailChars: 4 };
  const image: Block = { type: "image", attachment: { attachmentId: "i" } };
  const text = (text: string): Block => ({ type: "text", text });
  const cases: readonly (readonly [Block[], string])[] = [
    [
      [text("a".repeat(5)), text("b".repeat(50)), image, text("c".repeat(50))],
      `aaaaa|b${pruneMarker(null)}|<image>|cccc`,
    ],
    [[text("a".repeat(6)), image, text("b".repeat(60)), text("cccc")], `aaaaaa|<image>|${pruneMarker(null)}|cccc`],
    [
      [image, text("a".repeat(3)), text("b".repeat(70)), text("cc"), text("dd")],
      `<image>|aaa|bbb${pruneMarker(null)}|cc|dd`,
    ],
    [[text("a".repeat(90)), text(""), text("b".repeat(9)), text("c")], `aaaaaa${pruneMarker(null)}|bbb|c`],
    [[text("a".repeat(50)), text("b".repeat(50)), text("c".repeat(50))], `aaaaaa${pruneMarker(null)}|cccc`],
  ];
  for (const [content, wanted] of cases) {
    const pruned = pruneContent(content, sizes, null)!;
    assertEquals(textOf(pruned.content), wanted);
    const chars = pruned.content.reduce(
      (sum, block) => sum + (block.type === "text" ? countCodePoints(block.text) : 0),
      0,
    );
    assertEquals([pruned.charsAfter, chars], [6 + 39 + 4, 6 + 39 + 4]);
    assertEquals(pruneContent(pruned.content, sizes, null), null);
  }
});

Deno.test("compaction/C-76: a second pass finds nothing, with either marker", async () => {
  for (const marker of ["plain", "located"] as const) {
    const session = await newSession();
    openTurn(session);
    for (const id of ["c1", "c2", "c3"]) callStep(session, id, `${id} ${"long ".repeat(4000)}`);
    assertEquals(pruneSession(session, { protectRecent: 0, marker }).pruned.length, 3);
    const { nextSeq } = session;
    assertEquals(pruneSession(session, { protectRecent: 0, marker }), { pruned: [], charsRemoved: 0 });
    assertEquals(session.nextSeq, nextSeq);
  }
});

Deno.test("the marker names the result in the log where the whole text is, where that fits into the threshold", async () => {
  const session = await newSession();
  openTurn(session);
  const [, seq] = callStep(session, "c1", "long ".repeat(4000));
  pruneSession(session, { protectRecent: 0 });
  const [located] = shown(session).map(textOf);
  assert(located!.includes(`the whole text is result:${seq}`), located!);
  assert(countCodePoints(located!) <= 8192);

  const sizes = { thresholdChars: 50, headChars: 4, tailChars: 3 };
  const tight = pruneContent([{ type: "text", text: "x".repeat(60) }], sizes, "result:12")!;
  assertEquals(textOf(tight.content), `xxxx${pruneMarker(null)}xxx`);
});

Deno.test("read_result reads what pruning cut out of a result, from the log, and nothing that is no result", async () => {
  const session = await newSession();
  openTurn(session);
  const whole = Array.from({ length: 4000 }, (_, n) => `line ${n} 😀`).join("\n");
  const prompt = say(session, "go");
  const [asked, seq] = callStep(session, "c1", whole);
  pruneSession(session, { protectRecent: 0 });
  const tool = readResultTool((id) => id === session.id ? session : null);
  const read = (args: object, sessionId = session.id) => tool.execute(args as never, { sessionId } as never);
  const parts: string[] = [];
  for (let from = 0; from < whole.length; from += 10_000) {
    const part = await read({ locator: `result:${seq}`, from, limit: 10_000 }) as string;
    assert(part.isWellFormed());
    parts.push(part.slice(0, part.lastIndexOf("\n\n[")));
  }
  assertEquals(parts.join(""), whole);
  for (const locator of [`result:${asked}`, `result:${prompt}`, "result:9999", "line"]) {
    await assertRejects(() => Promise.resolve(read({ locator })), Error, "there is no");
  }
  await assertRejects(() => Promise.resolve(read({ locator: `result:${seq}` }, "other")), Error, "there is no");
});

Deno.test("compaction/C-79: options that cannot be kept are refused before anything is pruned", () => {
  const bad = [
    { thresholdChars: 100, headChars: 50, tailChars: 12 },
    { thresholdChars: 0 },
    { headChars: -1 },
    { tailChars: 1.5 },
    { protectRecent: -1 },
    { threshold: 5 },
    { marker: "none" },
  ];
  for (const options of bad) {
    assertThrows(() => checkedPruneOptions(options as never), Error, "Cannot prune", JSON.stringify(options));
  }
  assertEquals(checkedPruneOptions({ thresholdChars: 101, headChars: 50, tailChars: 12 }).headChars, 50);
});

Deno.test("compaction/C-81: the newest results stay whole, and what the model has not read, but under overflow", async () => {
  const session = await newSession();
  openTurn(session);
  for (let n = 0; n < 10; n++) callStep(session, `c${n}`, `${n} `.repeat(6000));
  const whole = () => shown(session).map((content) => !textOf(content).includes("middle pruned"));
  pruneSession(session, { protectRecent: 3 });
  assertEquals(whole(), [...Array(7).fill(false), true, true, true]);
  // Three answers to one message: the model has read none of them.
  batch(session, ["d0", "d1", "d2"], "batch ".repeat(3000));
  pruneSession(session, { protectRecent: 1 });
  assertEquals(whole(), [...Array(10).fill(false), true, true, true]);
  pruneSession(session, { protectRecent: 0 });
  assertEquals(whole(), Array(13).fill(false));
});

Deno.test("pruning changes the content alone: one event says what it shadows, the next replaces it", async () => {
  const session = await newSession();
  openTurn(session);
  say(session, "go");
  const [, first] = callStep(session, "c1", "one ".repeat(4000));
  const before = session.folds.surface.nodes.toArray();
  const tokens = measure(session.folds).surfaceTokens;
  const generation = session.folds.surface.replaceGeneration;
  const from = session.nextSeq;
  const { pruned: [cut] } = pruneSession(session, ALL);
  const { events } = await session.history({ from });
  assertEquals(events.map(({ type }) => type), ["compaction/prune", "tool/result"]);
  const [prune, result] = events as [SessionEvent, SessionEvent];
  assert(isEvent(prune, "compaction/prune") && isEvent(result, "tool/result"));
  const price = session.folds.meter.nodes.at(-1)!.tokens;
  assertEquals(prune.data.shadowedRange, { start: first, end: first });
  assertEquals(prune.data.shadowedSeqs, [first]);
  assertEquals(prune.data.shadowedTokenCount, tokens - (measure(session.folds).surfaceTokens - price));
  assertEquals([cut?.originalSeq, cut?.replacementSeq, result.sourceEventSeqs], [first, result.seq, [first]]);
  assertEquals(session.folds.surface.replaceGeneration, generation + 1);
  const original = before.at(-1)!.result!;
  const [block] = original.message.content;
  const content = shown(session).at(-1)!;
  const message = { ...original.message, content: [{ ...block!, content }] };
  assertEquals(result.data as unknown, { ...original, message });
  assertEquals(pairingProblem(session.folds.surface.nodes), null);
});

Deno.test("the lock is looked at first, and no turn means no pruning", async () => {
  const session = await newSession();
  openTurn(session);
  callStep(session, "c1", "long ".repeat(4000));
  session.append({ type: "compaction/start", data: { compactionId: "k", turn: 1 } });
  const { nextSeq } = session;
  const error = assertThrows(() => pruneSession(session, ALL), CompactionError);
  assertEquals([error.code, session.nextSeq], ["busy", nextSeq]);
  session.append({ type: "compaction/end", data: { compactionId: "k", turn: 1, error: "no" } });
  endTurn(session);
  assertThrows(() => pruneSession(session, ALL), TypeError, "no turn is open");
});

Deno.test("a pass that the log refuses half-way leaves what it cut, and the next pass cuts the rest", async () => {
  const session = await newSession();
  openTurn(session);
  for (const id of ["c1", "c2", "c3"]) callStep(session, id, "long ".repeat(4000));
  let results = 0;
  const allow = refusing(session, ({ type }) => type === "tool/result" && ++results === 2);
  assertThrows(() => pruneSession(session, ALL), RangeError, "refused");
  allow();
  assertEquals(session.folds.surface.replaceGeneration, 1);
  assertEquals(pruneSession(session, ALL).pruned.map(({ callId }) => callId), ["c2", "c3"]);
  assertEquals(pairingProblem(session.folds.surface.nodes), null);
});

Deno.test("compaction/C-87: a total that is fed by events alone follows prunes and compactions, and refuses a price of another span", async () => {
  const session = await newSession();
  openTurn(session);
  const first = say(session, "do it, and do it well ".repeat(40));
  for (const id of ["c1", "c2", "c3"]) callStep(session, id, "漢字 ".repeat(4000));
  const last = session.folds.surface.nodes.at(2)!.seq;
  pruneSession(session, ALL);
  endTurn(session);
  const nodes = session.folds.surface.nodes.toArray();
  await compact(session, first, nodes[2]!.seq);
  assert(last !== nodes[2]!.seq);
  const { events } = await session.history({ limit: 1000 });
  let total: RunningTotal = RUNNING_TOTAL_ZERO;
  for (const event of events) total = addToTotal(total, event);
  assertEquals(total.tokens, measure(session.folds).surfaceTokens);
  assertEquals((await typesOf(session)).filter((type) => type === "compaction/prune").length, 3);

  const surface = { surfaceOp: { op: "replace", startSeq: 1, endSeq: 2 } } as const;
  const data = { id: "m", role: "user", content: [{ type: "text", text: "abcd" }], source: { kind: "user" } } as const;
  const replacement = { type: "user/message", seq: 9, time: 1, data, ...surface } as unknown as SessionEvent;
  assertEquals(addToTotal({ tokens: 7, shadowed: null }, replacement), { tokens: 7, shadowed: null });
  const priced = { tokens: 100, shadowed: { start: 1, end: 2, tokens: 60 } };
  assertEquals(addToTotal(priced, replacement).tokens, 100 - 60 + 9);
  const other = { tokens: 100, shadowed: { start: 1, end: 3, tokens: 60 } };
  assertThrows(() => addToTotal(other, replacement), TypeError, "the price before it is of 1..3");
  const between: SessionEvent = { type: "step/end", seq: 8, time: 1, data: { turn: 1, step: 1 } };
  assertEquals(addToTotal(other, between).shadowed, null);
});

/** One message with several calls, and their results. */
function batch(session: Session, ids: readonly string[], text: string): void {
  const { turn, lastStep } = session.folds.brackets;
  const place = { turn: turn!, step: lastStep + 1 };
  session.append({ type: "step/start", data: place });
  const content = ids.map((id) => ({ type: "tool-call" as const, id, name: "look", arguments: "{}" }));
  const source = { kind: "model", provider: "p", model: "m" };
  const message = { id: `b${ids[0]}`, role: "assistant" as const, content, source };
  session.append({ type: "assistant/message", data: { ...place, message, stream: [] }, surfaceOp: "append" });
  for (const callId of ids) {
    const { seq } = session.append({ type: "tool/call", data: { ...place, callId, name: "look", arguments: "{}" } });
    const block = { type: "tool-result" as const, toolCallId: callId, content: [{ type: "text" as const, text }] };
    const result = { id: `r${callId}`, role: "user" as const, content: [block], source: { kind: "tool", callId } };
    session.append({
      type: "tool/result",
      data: { ...place, message: result },
      surfaceOp: "append",
      sourceEventSeqs: [seq],
    });
  }
  session.append({ type: "step/end", data: place });
}
