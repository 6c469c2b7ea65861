import { assertEquals } from "@std/assert";
import { compactionsFold, foldEvents } from "../../src/fold/mod.ts";
import { LogBuilder } from "./log_builder.ts";

function compacted(
  log: LogBuilder,
  id: string,
  how: "useful" | "useless" | "failed" | "cancelled",
  turn: number | null,
) {
  const seq = log.user("x".repeat(how === "useless" ? 20 : 4000));
  log.compaction(turn, id);
  if (how === "failed") return void log.compactionEnd(turn, "no summary", id);
  if (how === "cancelled") return void log.compactionEnd(turn, "cancelled: by the user", id);
  log.add("compaction/summary", {
    compactionId: id,
    summary: [{ type: "text", text: "short" }],
    shadowedRange: { start: seq, end: seq },
    shadowedSeqs: [seq],
    shadowedTokenCount: how === "useless" ? 11 : 1008,
    provider: "p",
    model: "m",
  });
  log.checkpoint(seq, seq, [seq], id);
  log.compactionEnd(turn, undefined, id);
}

const stateOf = (log: LogBuilder) => foldEvents(compactionsFold, log.events);

Deno.test("compactionsFold counts automatic failures and useless successes in a row, and a useful one ends the row", () => {
  const log = new LogBuilder();
  log.startTurn();
  compacted(log, "k1", "failed", 1);
  compacted(log, "k2", "useless", 1);
  assertEquals(stateOf(log).failures, 2);
  assertEquals(stateOf(log).lastFailureTime, log.events.at(-1)!.time);
  compacted(log, "k3", "useful", 1);
  assertEquals([stateOf(log).failures, stateOf(log).lastFailureTime, stateOf(log).checkpoints], [0, null, 2]);
});

Deno.test("compactionsFold counts neither what a person asked for nor what was cancelled, nor one that a crash cut off", () => {
  const log = new LogBuilder();
  compacted(log, "k1", "failed", null);
  log.startTurn();
  compacted(log, "k2", "cancelled", 1);
  log.compaction(1, "k3");
  log.endSeed();
  log.compactionEnd(1, "late", "k3");
  assertEquals(stateOf(log).failures, 0);
});

Deno.test("compactionsFold forgets the failures after one that a person asked for was of use", () => {
  const log = new LogBuilder();
  log.startTurn();
  compacted(log, "k1", "failed", 1);
  log.endTurn();
  compacted(log, "k2", "useless", null);
  assertEquals(stateOf(log).failures, 1);
  compacted(log, "k3", "useful", null);
  assertEquals(stateOf(log).failures, 0);
});

Deno.test("compactionsFold does not begin anew with a lifecycle", () => {
  const log = new LogBuilder();
  for (const id of ["k1", "k2", "k3"]) {
    log.startTurn();
    compacted(log, id, "failed", log.turn);
    log.endTurn({ kind: "interrupted" });
    log.endSeed();
  }
  assertEquals(stateOf(log).failures, 3);
});

Deno.test("compactionsFold remembers the newest message of a person and its turn, also when it left the surface", () => {
  const log = new LogBuilder();
  log.startTurn();
  const seq = log.user("do it");
  const other = log.user("context");
  (log.events[other] as unknown as { data: { source: unknown } }).data.source = { kind: "plugin", plugin: "holdfast" };
  compacted(log, "k1", "useful", 1);
  // The builder's own prompt is a person's too.
  assertEquals(stateOf(log).newestPrompt!.seq, other + 1);
  const early = foldEvents(compactionsFold, log.events.slice(0, other + 1));
  assertEquals([early.newestPrompt!.seq, early.newestPrompt!.turn], [seq, 1]);
});
