import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { callEvidence } from "../../src/session/mod.ts";
import { effectKeyOf, LogBuilder } from "../fold/log_builder.ts";

/** A call answered with "unknown", then a turn with calls that got less and less far. */
function log(): LogBuilder {
  const log = new LogBuilder();
  log.policy();
  log.openStep("old");
  log.call("old");
  log.marker("old", { effect: "keyed" });
  log.result("old", "TOOL_OUTCOME_UNKNOWN");
  log.endStep();
  log.endTurn();
  log.openStep("run", "wait", "ask");
  log.call("run");
  log.marker("run", { retryOf: 4, effectKey: effectKeyOf(4) });
  log.call("wait");
  return log;
}

Deno.test("callEvidence() names the events that prove a class, and the one that is missing", () => {
  const evidence = callEvidence(log().folds());
  assertEquals(
    evidence.map(({ callId, class: found, proofs, isSettleable }) => [
      callId,
      found,
      proofs.map(({ seq }) => seq),
      isSettleable,
    ]),
    [
      ["old", "outcome_unknown", [4, 5, 6], true],
      ["run", "outcome_unknown", [11, 12, 13], false],
      ["wait", "not_dispatched", [11, 14], false],
      ["ask", "not_started", [11], false],
    ],
  );
  const [old, run, wait, ask] = evidence;
  assertStringIncludes(old!.reason, "nothing in the log settles that");
  assertStringIncludes(run!.reason, "no tool/result follows");
  assertStringIncludes(wait!.reason, "no effect/dispatched follows");
  assertStringIncludes(ask!.reason, "no tool/call follows");
  assertStringIncludes(old!.proofs[1]!.says, `effect keyed, key ${effectKeyOf(4)}`);
  assertStringIncludes(run!.proofs[2]!.says, "repeating the call at seq 4");
});

Deno.test("callEvidence() says why a call without a marker is unknown where barriers were not kept", () => {
  const foreign = new LogBuilder();
  foreign.openStep("a");
  foreign.call("a");
  const [found] = callEvidence(foreign.folds());
  assertEquals(found!.class, "outcome_unknown");
  assertStringIncludes(found!.reason, "where barriers were not kept");
});

Deno.test("callEvidence() tells of questions to the target, of grants, and of verdicts that wait for their closer", () => {
  const asked = log();
  asked.step = 1;
  const seq = asked.verdict("old", "undecidable", undefined, "lookup");
  asked.verdict("old", "retry");
  asked.verdict("run", "absent", undefined, "lookup");
  const evidence = callEvidence(asked.folds());
  const old = evidence.find(({ callId }) => callId === "old");
  assertEquals(old, undefined, "the key is void, and so is the first try under it");
  assertStringIncludes(evidence.find(({ callId }) => callId === "run")!.reason, "it did not happen and never will");

  const granted = log();
  granted.verdict("old", "undecidable", undefined, "lookup");
  granted.verdict("old", "retry");
  const first = callEvidence(granted.folds())[0]!;
  assert(first.proofs.some((proof) => proof.seq === seq && proof.says.includes("could not tell")));
  assertStringIncludes(first.reason, "allows one repetition");
});

Deno.test("callEvidence() has nothing to say about a log without doubts", () => {
  const fine = new LogBuilder();
  fine.policy();
  fine.openStep("a");
  fine.call("a");
  fine.marker("a");
  fine.result("a");
  fine.endStep();
  fine.endTurn();
  assertEquals(callEvidence(fine.folds()), []);
});
