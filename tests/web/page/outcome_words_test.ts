import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { contradicts } from "../../../web/page/bank.tsx";
import { type CallItem, itemsOf } from "../../../web/page/conversation_items.ts";
import { outcomeOf, resultWords, verdictsIn, verdictWords } from "../../../web/page/outcome_words.ts";
import { BANK, logOf, payment, UNKNOWN } from "../../browser/fake_client.ts";
import type { SessionEvent } from "../../../mod.ts";

type Draft = Pick<SessionEvent, "type" | "data">;

const draft = (type: string, data: unknown): Draft => ({ type, data: data as SessionEvent["data"] });
const result = (text: string, code?: string): Draft =>
  draft("tool/result", {
    message: {
      id: "m3",
      role: "user",
      content: [{ type: "tool-result", toolCallId: "call_1", content: [{ type: "text", text }], isError: true }],
      source: { kind: "tool", callId: "call_1" },
    },
    ...(code === undefined ? {} : { error: { name: "E", code } }),
  });
const decided = (outcome: string) => draft("approval/decided", { id: "q1", outcome });
const end = (reason: unknown) => draft("turn/end", { turn: 1, reason });
const asked = payment("pay 10 to alice", "asked");

function call(...drafts: readonly Draft[]): CallItem {
  return itemsOf(logOf([...asked, ...drafts])).find((item): item is CallItem => item.kind === "call")!;
}

Deno.test("a question that was withdrawn by a reload says that nothing ran and why, and is no error", () => {
  const gone = call(
    decided("cancelled"),
    result("Error: tool call aborted before dispatch", "ABORTED_BEFORE_DISPATCH"),
    end({ kind: "aborted", reason: { kind: "disposed" } }),
  );
  assertEquals(outcomeOf(gone), "nothing ran");
  assertMatch(resultWords(gone)!, /^Nothing ran: the question was withdrawn because the page was closed.* again/);
  const crashed = call(result("It was recorded, not dispatched.", "TOOL_NOT_STARTED"), end({ kind: "interrupted" }));
  assertEquals([outcomeOf(crashed), resultWords(crashed)], [outcomeOf(gone), resultWords(gone)]);
  const allowed = call(decided("allowed-once"), result("…", "TOOL_NOT_STARTED"), end({ kind: "interrupted" }));
  assertMatch(resultWords(allowed)!, /^Nothing ran: it was allowed, and/);
  const stopped = call(
    decided("cancelled"),
    result("Error: tool call aborted before dispatch", "ABORTED_BEFORE_DISPATCH"),
    end({ kind: "aborted", reason: { kind: "user" } }),
  );
  assertMatch(resultWords(stopped)!, /^Nothing ran: the turn was stopped/);
});

Deno.test("a rejected call is rejected, not failed, and one that failed says its code", () => {
  const rejected = call(decided("rejected"), result("Error: the user said no"));
  assertEquals([outcomeOf(rejected), resultWords(rejected)], ["rejected, nothing ran", null]);
  const failed = call(decided("allowed-once"), result("Error: no", "REFUSED"));
  assertEquals(outcomeOf(failed), "failed: REFUSED");
});

Deno.test("an unknown outcome is settled by the newest verdict, and retried when its retry has a marker", () => {
  const log = payment("pay 10 to alice", "dispatched");
  const verdict = (verdict: string) =>
    draft("effect/reconciled", { callSeq: 6, callId: "call_1", verdict, by: "person" });
  const of = (...drafts: readonly Draft[]) =>
    itemsOf(logOf([...log, ...drafts])).find((item): item is CallItem => item.kind === "call")!;
  assertEquals(outcomeOf(of()), "outcome unknown");
  assertEquals(outcomeOf(of(verdict("retry"))), "unknown, a retry is allowed");
  assertStringIncludes(verdictWords(of(verdict("retry")).verdict!), "same key");
  assertEquals(outcomeOf(of(verdict("retry"), verdict("absent"))), "settled: it did not happen");
  const events = logOf([...log, verdict("retry"), verdict("happened")]);
  assertEquals([...verdictsIn(events)], [["call_1", "happened"]]);
  const marker = draft("effect/dispatched", {
    callSeq: 99,
    callId: "call_2",
    effectKey: "k",
    effect: "keyed",
    retryOf: 6,
  });
  assertEquals(outcomeOf(of(verdict("retry"), marker)), `retried at event ${log.length + 1}`);
});

Deno.test("contradicts() knows when a verdict is the opposite of the bank's book, and only then", () => {
  assertEquals(contradicts(BANK, UNKNOWN, "absent"), true);
  assertEquals(contradicts(BANK, UNKNOWN, "happened"), false);
  assertEquals(contradicts([], UNKNOWN, "happened"), true);
  assertEquals(contradicts([], UNKNOWN, "absent"), false);
  assertEquals(contradicts(BANK, UNKNOWN, "retry"), false);
  assertEquals(contradicts(null, UNKNOWN, "happened"), false);
  assertEquals(contradicts(BANK, { ...UNKNOWN, toolName: "write_file" }, "absent"), false);
});
