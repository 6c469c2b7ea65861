import { assert, assertEquals } from "@std/assert";
import { zstdDecompressSync } from "node:zlib";
import { logReader } from "../../../src/testing/judge/log.ts";
import { walkFrames } from "../../../src/testing/judge/frames.ts";
import { callSeqOf, opened } from "./scenarios.ts";
import { type CrashPlan, encode, joined, judge, LOG, Story, traceOf } from "./story.ts";

const pay = { id: "c1" };

/** One call from its message to the end of the turn, with many flushes. */
function wholeTurn(): Story {
  const story = opened().propose(pay).flush();
  const callSeq = story.dispatch(pay);
  story.result("c1", callSeq);
  return story.flush().endStep().end();
}

/** What a lawful repair adds to this story's one turn, wherever it stops. */
function repair(s: Story): void {
  const has = (type: string) => s.rows.some((row) => row.type === type);
  const isOpen = s.rows.findLast(({ type }) => type === "step/start" || type === "step/end")?.type === "step/start";
  if (has("turn/end") || !has("turn/start")) return;
  if (has("assistant/message") && !has("tool/result")) {
    if (!has("tool/call")) s.closer("c1", "TOOL_NOT_STARTED");
    else s.closer("c1", has("effect/dispatched") ? "TOOL_OUTCOME_UNKNOWN" : "TOOL_NOT_STARTED", callSeqOf(s, "c1"));
  }
  s.closeTurn({ hasStep: isOpen });
}

function planOf(flushed: number, torn: number | "all"): CrashPlan {
  const story = wholeTurn();
  // The call took effect as soon as its marker was durable: the third flush.
  return { story, flushed, torn, repair, effects: flushed >= 3 ? [{ callId: "c1" }] : [] };
}

for (const compression of ["none", "zstd"] as const) {
  Deno.test(`judge() finds nothing at any place where a flush may be torn (${compression})`, () => {
    const { rows, flushes } = wholeTurn();
    let cuts = 0;
    for (let flushed = 0; flushed < flushes.length; flushed++) {
      const size = encode(rows.slice(flushes[flushed - 1] ?? 0, flushes[flushed]), compression).length;
      for (let torn = 0; torn <= size; torn++) {
        const found = judge(traceOf({ ...planOf(flushed, torn === size ? "all" : torn), compression }));
        assertEquals(found, [], `flush ${flushed}, ${torn} of ${size} bytes`);
        cuts++;
      }
    }
    assert(cuts > 500);
  });

  Deno.test(`judge() finds every copy of a torn end that is not kept (${compression})`, () => {
    const { rows, flushes } = wholeTurn();
    const size = encode(rows.slice(flushes[1], flushes[2]), compression).length;
    let lost = 0;
    for (let torn = 1; torn < size; torn++) {
      const trace = traceOf({ ...planOf(2, torn), compression });
      const copies = [...trace.recovered!.keys()].filter((name) => name.includes(".torn-"));
      if (copies.length === 0) continue;
      const recovered = new Map([...trace.recovered!].filter(([name]) => !copies.includes(name)));
      const after = recovered.get(trace.log)!;
      const image = trace.image.get(trace.log)!;
      // A recovery that writes the same bytes again has cut nothing away.
      if (image.every((byte, index) => byte === after[index])) continue;
      assertEquals(judge({ ...trace, recovered }).map(({ checker }) => checker), ["bytes-equal"], `${torn} bytes`);
      lost++;
    }
    assert(lost > 20, `${lost} torn ends were tried`);
  });
}

Deno.test("logReader() yields all records of the whole blocks of a torn frame, and no other", () => {
  // Blocks end every 128 KiB of plain text, so several rows lie in each, and rows lie across their borders.
  const story = new Story();
  let random = 1;
  for (let index = 0; index < 40; index++) {
    const text = Array.from(
      { length: 9_000 },
      () => String.fromCharCode(97 + (random = (random * 48_271) % 2_147_483_647) % 26),
    );
    story.add("todo/write", { todos: [{ content: text.join(""), status: "pending" }] });
  }
  const header = encode([story.header], "zstd");
  // The encoder of some runtimes ends a long text with an empty frame, which is not what is torn here.
  const written = encode(story.rows, "zstd");
  const frame = written.subarray(0, walkFrames(written).ends[0]);
  const text = story.rows.map((row) => `${JSON.stringify(row)}\n`);
  const reader = logReader((bytes) => zstdDecompressSync(bytes));
  const counts = new Set<number>();
  const whole = blockEnds(frame);
  assert(whole.length >= 3, `${whole.length} blocks`);
  for (
    const end of [whole[0]! - 1, ...whole.flatMap((end) => [end, end + 1]), frame.length - 1].filter((end) =>
      end < frame.length
    )
  ) {
    const log = joined([header, frame.subarray(0, end)]);
    const { rows, wholeRows, tornBytes, state } = reader.read(new Map([[LOG, log]]), LOG, "zstd");
    const blocks = whole.filter((blockEnd) => blockEnd <= end).length;
    let room = blocks === whole.length ? Infinity : blocks * 128 * 1024;
    const expected = text.filter((line) => (room -= line.length) >= 0).length;
    assertEquals(
      [state, wholeRows, tornBytes, rows.length],
      ["readable", 0, end, expected],
      `${end} of ${frame.length}`,
    );
    counts.add(rows.length);
  }
  assert(counts.size >= 3, "the cuts fell into several blocks");
});

/** The ends of the blocks of a frame, by RFC 8878 §3.1.1. */
function blockEnds(frame: Uint8Array): number[] {
  assertEquals(walkFrames(frame), { ends: [frame.length], tail: "none" });
  const descriptor = frame[4]!;
  const isSingle = (descriptor & 0b0010_0000) !== 0;
  const sizeFlag = descriptor >> 6;
  const ends: number[] = [];
  let position = 5 + (isSingle ? 0 : 1) + (sizeFlag === 0 ? Number(isSingle) : 1 << sizeFlag);
  for (let isLast = false; !isLast;) {
    const header = frame[position]! + 256 * frame[position + 1]! + 65_536 * frame[position + 2]!;
    isLast = header % 2 === 1;
    position += 3 + ((header >> 1) % 4 === 1 ? 1 : header >> 3);
    ends.push(position);
  }
  assertEquals(ends.at(-1), frame.length - 4);
  return ends;
}

Deno.test("walkFrames() calls a wrong magic, a reserved bit and a reserved block type damage, and a short end torn", () => {
  const frame = encode([1], "zstd");
  const changed = (index: number, change: (byte: number) => number) => frame.with(index, change(frame[index]!));
  const blockAt = 5 + ((frame[4]! >> 6) === 0 ? 1 : 1 << (frame[4]! >> 6));
  assertEquals(walkFrames(changed(0, () => 0)), { ends: [], tail: "damage" });
  assertEquals(walkFrames(changed(4, (byte) => byte | 8)), { ends: [], tail: "damage" });
  assertEquals(walkFrames(changed(4, (byte) => byte | 16)), { ends: [], tail: "damage" });
  assertEquals(walkFrames(changed(blockAt, (byte) => byte | 6)), { ends: [], tail: "damage" });
  assertEquals(walkFrames(joined([frame, new Uint8Array(3)])), { ends: [frame.length], tail: "torn" });
  assertEquals(walkFrames(joined([frame, new Uint8Array(4)])), { ends: [frame.length], tail: "damage" });
  for (let size = 1; size < frame.length; size++) {
    assertEquals(walkFrames(frame.subarray(0, size)), { ends: [], tail: "torn" }, `${size} bytes`);
  }
});

Deno.test("judge() excuses rows that nobody was told of only where a browser forgot the copy of their torn end", () => {
  const { rows, flushes } = wholeTurn();
  const size = encode(rows.slice(flushes[1], flushes[2]), "zstd").length;
  const torn = traceOf({ ...planOf(2, size - 1), compression: "zstd" });
  const cut = traceOf({ ...planOf(2, 0), compression: "zstd" });
  const copies = [...torn.recovered!.keys()].filter((name) => name.includes(".torn-"));
  assertEquals(copies.length, 1);
  const found = (medium: "opfs" | "posix", lostNames: readonly string[], through = torn.acknowledgedThroughSeq) =>
    judge({
      ...{ ...torn, medium, acknowledgedThroughSeq: through },
      recoveredAgain: [{ kind: "crashed", how: "the copy was forgotten", files: cut.recovered!, lostNames }],
    }).map(({ checker }) => checker);
  assertEquals(found("opfs", copies), []);
  assertEquals(found("posix", copies), ["repair-idempotent"], "a folder was synced");
  assertEquals(found("opfs", []), ["repair-idempotent"], "no copy was forgotten");
  assertEquals(found("opfs", ["elsewhere.torn-1-2"]), ["repair-idempotent"]);
  assert(found("opfs", copies, torn.acknowledgedThroughSeq + 1).includes("repair-idempotent"), "somebody was told");
});
