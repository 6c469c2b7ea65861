import { assertEquals } from "@std/assert";
import type { CompactionItem } from "../../../web/page/compaction_item.ts";
import { itemsOf } from "../../../web/page/conversation_items.ts";
import { compaction, logOf, payment } from "../../browser/fake_client.ts";

const log = logOf([...payment("pay 10 to alice", "done"), ...compaction(14)]);
const start = log.findIndex(({ type }) => type === "compaction/start");

const itemOf = (events: Parameters<typeof itemsOf>[0]) =>
  itemsOf(events).find((item): item is CompactionItem => item.kind === "compaction");

Deno.test("itemsOf() shows a compaction from its start on: running, then done, with tokens before and after", () => {
  assertEquals(itemOf(log.slice(0, start)), undefined);
  for (let end = start + 1; end < log.length; end++) {
    const item = itemOf(log.slice(0, end))!;
    assertEquals([item.seq, item.state], [start, "running"]);
  }
  const done = itemOf(log)!;
  assertEquals([done.state, done.isAutomatic, done.error], ["done", false, null]);
  assertEquals(done.shadowed, { seqs: [3, 5], tokens: 1234 });
  assertEquals(done.tokensAfter! > 0 && done.tokensAfter! < 1234, true);
  assertEquals(done.summary.includes("pay 10 to alice"), true);
});

Deno.test("itemsOf() leaves what was compacted where it was said, and does not show the copy as a message", () => {
  const before = itemsOf(log.slice(0, start));
  const after = itemsOf(log);
  assertEquals(after.filter(({ kind }) => kind !== "compaction"), before);
});

Deno.test("itemsOf() shows why a compaction came to nothing, and one that a crash cut off as cut off", () => {
  const failed = [...log.slice(0, start + 1), {
    ...log[start]!,
    type: "compaction/end",
    seq: start + 1,
    data: { compactionId: "k1", turn: 2, error: "no connection" },
  }];
  const item = itemOf(failed)!;
  assertEquals([item.state, item.error, item.isAutomatic], ["failed", "no connection", true]);
  for (let end = start + 1; end < log.length; end++) {
    const cut = [...log.slice(0, end), { ...log[0]!, type: "session/end-seed", seq: end, data: {} }];
    assertEquals(itemOf(cut)!.state, "cut");
    const again = [...cut, ...log.slice(start).map((event, index) => ({ ...event, seq: end + 1 + index }))];
    const states = itemsOf(again).filter((item) => item.kind === "compaction").map(({ state }) => state);
    assertEquals(states, ["cut", "done"]);
  }
});

Deno.test("itemsOf() begins in the middle of a compaction too", () => {
  for (let from = start; from < log.length; from++) {
    const item = itemOf(log.slice(from))!;
    assertEquals([item.seq, item.state], [from, "done"]);
  }
});

Deno.test("itemsOf() goes on showing the whole of a result that was shortened for the model", () => {
  const result = log.find(({ type }) => type === "tool/result")!;
  const shortened = {
    ...result,
    seq: log.length,
    data: JSON.parse(JSON.stringify(result.data).replace("Paid 10 to alice.", "Paid …")),
    surfaceOp: { op: "replace" as const, startSeq: result.seq, endSeq: result.seq },
  };
  assertEquals(itemsOf([...log, shortened]), itemsOf(log));
});
