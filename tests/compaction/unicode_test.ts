import { assert, assertEquals } from "@std/assert";
import { requestOf } from "../../src/agent/mod.ts";
import { aiSdkCall } from "../../src/agent/models/ai_sdk_prompt.ts";
import { chatRequest } from "../../src/agent/models/chat_request.ts";
import { pruneSession, spillContent, spilledText } from "../../src/compaction/mod.ts";
import { headEnd, tailStart } from "../../src/compaction/code_points.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import { encodeRow, isEvent, jsonText, parseRow, type SessionEvent, wellFormedJson } from "../../src/event/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { transcriptProblem } from "../agent/transcripts.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { callStep, openTurn, say } from "./bracket_support.ts";
import { randomText } from "./random_text.ts";

/** How many random texts go the whole way. */
const TEXTS = 10_000;
/** How many of them share a session. */
const TEXTS_PER_SESSION = 100;

const HEADER = { config: { provider: "p", model: "m" } } as const;

/** Fails unless JSON text, as bytes, is what a strict parser of another language takes. */
function checkStrictJson(text: string): void {
  const bytes = new TextEncoder().encode(text);
  const decoded = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  assertEquals(decoded, text, "the body is not well-formed before it is encoded");
  // An escape in a strict parser must be a whole character: a high half followed at once by a low one, or no half at all.
  for (const [escape, unit] of decoded.matchAll(/\\(?:u([0-9a-fA-F]{4})|.)/g)) {
    if (unit !== undefined) assert(!/^d[89a-f]/i.test(unit), `the body holds ${escape}, half of a character`);
  }
  JSON.parse(decoded);
}

function checkRequest(session: Session): void {
  const request = requestOf(session.id, session.folds);
  checkStrictJson(JSON.stringify(chatRequest(request)));
  checkStrictJson(JSON.stringify(aiSdkCall(request, { version: 3, provider: "p", model: "m" })));
  assertEquals(transcriptProblem(request.messages), null);
}

Deno.test("10,000 random UTF-16 texts pass prune, spill, frame, JSON and request: whole in the log, well-formed at the provider", async () => {
  const random = seededRandom(4);
  let [pruned, spilled, illFormed] = [0, 0, 0];
  for (let start = 0; start < TEXTS; start += TEXTS_PER_SESSION) {
    await using store = openMemoryStore({ simulate: "disk" });
    const session = await createSession({ store, id: "s1" });
    openTurn(session);
    session.append({ type: "request/header", data: { header: HEADER, reason: "initial" } });
    const texts: string[] = [];
    for (let n = 0; n < TEXTS_PER_SESSION; n++) {
      const text = randomText(random, 1 + random.below(60));
      texts.push(text);
      if (!text.isWellFormed()) illFormed++;
      const content = [{ type: "text" as const, text }];
      const kept = n % 2 === 0 ? await spillContent(session, { callId: `c${n}`, callSeq: 0 }, content, CAP) : null;
      const [block] = kept ?? content;
      assert(block!.type === "text" && (kept === null || block!.text.isWellFormed() || !text.isWellFormed()));
      if (n % 3 === 0) say(session, text);
      callStep(session, `c${n}`, block!.type === "text" ? block!.text : "");
    }
    const whole = await resultsOf(session);
    pruned +=
      pruneSession(session, { thresholdChars: 80, headChars: 20, tailChars: 10, protectRecent: 0 }).pruned.length;
    checkRequest(session);
    await session.flush();

    const { events } = await session.history({ limit: 100_000 });
    const { events: stored } = await readBack(store);
    assertEquals(stored, events);
    for (const event of events) {
      assertEquals(parseRow(encodeRow(event)), event);
      assertEquals(JSON.parse(jsonText(event)), event);
    }
    assertEquals(resultsIn(stored), whole, "what came is what the log keeps");
    for (const text of session.folds.spilled.texts) {
      spilled++;
      assertEquals(await spilledText(session, text), texts[Number(text.callId.slice(1))]);
    }
    await session.close();
  }
  console.log(`${TEXTS} texts, ${illFormed} of them with halves of characters: ${pruned} pruned, ${spilled} spilled`);
  assert(pruned > TEXTS / 4 && spilled > TEXTS / 10 && illFormed > TEXTS / 2);
});

const CAP = { maxInlineBytes: 240 };

async function readBack(
  store: SessionStore,
): Promise<{ events: readonly SessionEvent[] }> {
  const log = await store.open("s1", "read");
  try {
    const events: SessionEvent[] = [];
    for (let from: number | null = 0; from !== null;) {
      const page: Awaited<ReturnType<typeof log.read>> = await log.read({ from });
      events.push(...page.events);
      from = page.nextFrom;
    }
    return { events };
  } finally {
    await log.close();
  }
}

async function resultsOf(session: Session): Promise<string[]> {
  return resultsIn((await session.history({ limit: 100_000 })).events);
}

function resultsIn(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (!isEvent(event, "tool/result") || event.surfaceOp !== "append") return [];
    const [block] = event.data.message.content;
    return block?.type === "tool-result" && block.content[0]?.type === "text" ? [block.content[0].text] : [];
  });
}

Deno.test("compaction/C-80, field/B25: half of a character is kept in the log, and is U+FFFD in every request, also after pruning", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  const session = await createSession({ store, id: "s1" });
  openTurn(session);
  session.append({ type: "request/header", data: { header: HEADER, reason: "initial" } });
  say(session, "go");
  const half = "ok \ud83d";
  const [, seq] = callStep(session, "c1", half);
  callStep(session, "c2", `${"\ud83d".repeat(5000)}${"\ude00".repeat(5000)}`);
  say(session, half);
  pruneSession(session, { protectRecent: 0 });
  checkRequest(session);
  const { messages } = requestOf("s1", session.folds);
  assertEquals(JSON.stringify(messages.at(-1)!.content), JSON.stringify([{ type: "text", text: "ok \ufffd" }]));
  await session.close();
  const { events } = await readBack(store);
  assertEquals(resultsIn(events)[0], half);
  assertEquals(events[seq]?.seq, seq);
});

Deno.test("field/B25: a text cut at every code point is cut between characters", () => {
  for (const text of ["a😀b", "😀😀", "👩\u200d👧", "\ud83d😀\ude00"]) {
    for (let count = 0; count <= 6; count++) {
      const [head, tail] = [text.slice(0, headEnd(text, count)), text.slice(tailStart(text, count))];
      assertEquals([...head], [...text].slice(0, count));
      assertEquals([...tail], count === 0 ? [] : [...text].slice(-count));
      if (text.isWellFormed()) assert(head.isWellFormed() && tail.isWellFormed());
    }
  }
});

Deno.test("ids that differ only in halves of characters stay apart, and every result finds its call", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  const session = await createSession({ store, id: "s1" });
  openTurn(session);
  session.append({ type: "request/header", data: { header: HEADER, reason: "initial" } });
  say(session, "go");
  callStep(session, "\ud83d", "one");
  callStep(session, "\ud83e", "two");
  checkRequest(session);
  await session.close();
});

Deno.test("a value that is well-formed goes out as it is, of any depth; keys are made well-formed too", () => {
  const fine = { a: [{ b: "😀" }] };
  assert(wellFormedJson(fine) === fine);
  assertEquals(
    JSON.stringify(wellFormedJson({ "k\ud83d": ["\udc00\ud83d", "\\ud83d", -0] })),
    '{"k\ufffd":["\ufffd\ufffd","\\\\ud83d",0]}',
  );
  let deep: unknown = "\ud83d";
  for (let level = 0; level < 20_000; level++) deep = [deep];
  assert(!jsonText(wellFormedJson(deep)).includes("ud83d"));
});
