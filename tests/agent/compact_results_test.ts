/** Long results and a small window: whatever a tool gives, the next request fits, and the model can read the rest. */
import { assert, assertEquals } from "@std/assert";
import { createAgent, demo, type ScriptStep } from "../../src/agent/mod.ts";
import { PRUNE_SIZES, pruneSession, READ_RESULT, RESULT_SHARE_MAX } from "../../src/compaction/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { measure, priceOfMessage, priceOfText } from "../../src/fold/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import { defineTool, type Tool } from "../../src/tool/mod.ts";
import { fileTools } from "../../src/tools/mod.ts";
import { type CompactStage, logOf, sizeOf, stage, textOf } from "../compaction/compact_stage.ts";
import { FakeStore } from "../support/fake_store.ts";

const WINDOW = 32_000;

function reader(name: string, text: string): Tool {
  return defineTool({
    name,
    description: "",
    parameters: { type: "object" },
    effect: "none",
    isConcurrencySafe: () => true,
    execute: () => text,
  });
}

function resultTexts(request: ModelRequest | undefined): readonly string[] {
  return request!.messages.filter(({ content: [block] }) => block?.type === "tool-result").map(textOf);
}

function locatorIn(text: string): string {
  return /(?:blob|result):[0-9a-f]+/.exec(text)![0];
}

/** Lines that differ, so that a page that is read twice, or left out, is seen. */
function lines(sizeBytes: number, word: string): string {
  let text = "";
  for (let n = 0; text.length < sizeBytes; n++) text += `${n} ${word}\n`;
  return text;
}

/** Calls the tool once, then reads all of what it gave by read_result, as a model would that follows the words of the result. */
function readingAll(tool: string): (request: ModelRequest, n: number) => ScriptStep {
  let locator = "";
  return (request, n) => {
    if (n === 1) return [{ call: { name: tool } }];
    const last = resultTexts(request).at(-1)!;
    if (n === 2) locator = locatorIn(last);
    const [, from] = /go on with from = (\d+)\]$/.exec(last) ?? [];
    if (n > 2 && from === undefined) return [{ text: "done" }];
    return [{ call: { name: READ_RESULT, arguments: { locator, from: Number(from ?? 0) } } }];
  };
}

/** What all pages together say: every result but the first, as the log has it, without the line that says where it goes on. */
async function pagesOf(on: CompactStage): Promise<string> {
  const results = (await logOf(on)).flatMap((event) =>
    isEvent(event, "tool/result") && event.surfaceOp === "append" ? [textOf(event.data.message)] : []
  );
  return results.slice(1).map((text) => text.replace(/\n\n\[characters \d+ to \d+ of \d+[^\]]*\]$/, "")).join("");
}

for (
  const [what, text] of [
    ["English just below the spill bound", lines(49_990, "word").slice(0, 49_990)],
    ["Chinese just below the spill bound", lines(16_500, "漢字漢字漢字漢字漢字").slice(0, 16_500)],
    ["256 KiB", lines(256 * 1024, "word")],
  ] as const
) {
  Deno.test(`read_file of ${what} takes a quarter of a window of 32k at most, and the model reads the rest in parts`, async () => {
    const on = await stage({
      limit: WINDOW,
      contextWindow: WINDOW,
      tools: [reader("read_file", text)],
      step: readingAll("read_file"),
    });
    assertEquals((await on.session.send("read it")).reason.kind, "completed");
    for (const request of on.requests) {
      assert(sizeOf(request) <= WINDOW, `${sizeOf(request)} tokens`);
      for (const result of resultTexts(request)) assert(priceOfText(result) <= WINDOW * RESULT_SHARE_MAX + 40);
    }
    assert(!on.warnings.some(({ code }) => code === "NOTHING_TO_COMPACT"), JSON.stringify(on.warnings));
    const pages = await pagesOf(on);
    assert(pages === text, `${pages.length} of ${text.length}`);
  });
}

Deno.test("where nobody knows the window, a reading tool's result stays as it is", async () => {
  const text = lines(49_990, "word");
  const step = (_: ModelRequest, n: number): ScriptStep =>
    n === 1 ? [{ call: { name: "read_file" } }] : [{ text: "done" }];
  const on = await stage({ tools: [reader("read_file", text)], step });
  await on.session.send("read it");
  assertEquals(resultTexts(on.requests[1]), [text]);
});

for (const word of ["word", "漢字漢字"]) {
  Deno.test(`a batch of unread results that do not fit together is cut, newest included, before it is sent: "${word}"`, async () => {
    const text = lines(word === "word" ? 20_000 : 7_000, word);
    const step = (_: ModelRequest, n: number): ScriptStep =>
      n === 1 ? Array.from({ length: 8 }, () => ({ call: { name: "look" } })) : [{ text: "done" }];
    const on = await stage({ limit: WINDOW, contextWindow: WINDOW, tools: [reader("look", text)], step });
    assertEquals((await on.session.send("look everywhere")).reason.kind, "completed");
    assertEquals(on.requests.length, 2, "no request was refused");
    assert(sizeOf(on.requests[1]!) <= WINDOW, `${sizeOf(on.requests[1]!)} tokens`);
    const events = await logOf(on);
    const wholes = events.filter((event) => isEvent(event, "tool/result") && event.surfaceOp === "append");
    assertEquals(wholes.length, 8);
    // However often a result was cut, the marker names the one that is whole.
    const named = resultTexts(on.requests[1]).map(locatorIn);
    assertEquals(named, wholes.map(({ seq }) => `result:${seq}`));
    assertEquals(on.warnings.map(({ code }) => code), []);
  });
}

Deno.test("newest results stay whole as long as the request fits, and when pruning is off", async () => {
  const text = lines(20_000, "word");
  const step = (_: ModelRequest, n: number): ScriptStep =>
    n === 1 ? Array.from({ length: 5 }, () => ({ call: { name: "look" } })) : [{ text: "done" }];
  const fitting = await stage({ contextWindow: WINDOW, tools: [reader("look", text)], step });
  await fitting.session.send("look");
  assert(measure(fitting.session.session.folds).totalTokens > WINDOW * 0.75);
  assertEquals(resultTexts(fitting.requests[1]), Array(5).fill(text));

  const off = await stage({ contextWindow: 20_000, tools: [reader("look", text)], step, compaction: { prune: false } });
  await off.session.send("look");
  assertEquals(resultTexts(off.requests[1]), Array(5).fill(text));
  assertEquals(off.warnings.map(({ code }) => code), ["NOTHING_TO_COMPACT"]);
});

Deno.test("the demo model reads a file of nearly 50,000 bytes again and again and its window never overflows", async () => {
  const bytes = new TextEncoder().encode(lines(49_000, "line of the file"));
  const tools = fileTools({
    list: () => ({ lines: [], total: 0 }),
    read: (_path, offsetBytes) => ({ bytes: bytes.slice(offsetBytes), sizeBytes: bytes.length }),
    write: () => {},
    holds: () => false,
  });
  const warnings: string[] = [];
  const sizes: number[] = [];
  const model: Model = {
    ...demo(),
    stream(request, signal) {
      sizes.push(sizeOf(request));
      return demo().stream(request, signal);
    },
  };
  await using session = await createAgent({ store: new FakeStore(), model, tools }).create();
  session.subscribe((live) => live.kind === "warning" && warnings.push(live.code));
  for (let n = 0; n < 8; n++) assertEquals((await session.send("read notes.txt")).reason.kind, "completed");
  assert(Math.max(...sizes) > WINDOW * 0.5 && Math.max(...sizes) <= model.contextWindow!, sizes.join());
  assertEquals(warnings, []);
});

Deno.test("a second cut of a result, shorter than the first, names the whole one", async () => {
  const text = lines(40_000, "word");
  let cutSeqs: readonly number[] = [];
  const half = { thresholdChars: PRUNE_SIZES.thresholdChars / 2, headChars: 2048, tailChars: 512, protectRecent: 0 };
  const on: CompactStage = await stage({
    tools: [reader("look", text)],
    step: (_, n) => {
      if (n !== 2) return n === 1 ? [{ call: { name: "look" } }] : [{ text: "done" }];
      const { session } = on.session;
      const [first] = pruneSession(session, { protectRecent: 0 }).pruned;
      const [second] = pruneSession(session, half).pruned;
      cutSeqs = [first!.originalSeq, first!.replacementSeq, second!.originalSeq, second!.replacementSeq];
      return [{ text: "seen" }];
    },
  });
  await on.session.send("look");
  await on.session.send("again");
  assertEquals(cutSeqs[1], cutSeqs[2]);
  assertEquals(resultTexts(on.requests.at(-1)).map(locatorIn), [`result:${cutSeqs[0]}`]);
  const [message] = on.requests.at(-1)!.messages.filter(({ content: [block] }) => block?.type === "tool-result");
  assert(priceOfMessage(message!) < 1100);
});
