import { assertEquals } from "@std/assert";
import { foldEvents, noticeId, type UnresolvedEffect, unresolvedFold } from "../../src/fold/mod.ts";
import { argumentsOf, effectKeyOf, LogBuilder } from "./log_builder.ts";

function unresolved(write: (log: LogBuilder) => void): readonly UnresolvedEffect[] {
  const log = new LogBuilder();
  write(log);
  return foldEvents(unresolvedFold, log.events).effects;
}

function callIds(write: (log: LogBuilder) => void): string[] {
  return unresolved(write).map((effect) => effect.callId);
}

/** A call "a" at seq 3, with its marker at seq 4. */
function begun(log: LogBuilder): void {
  log.openStep("a", "b");
  log.call("a");
  log.marker("a", { effect: "keyed" });
}

const BEGUN: UnresolvedEffect = {
  turn: 1,
  step: 1,
  callId: "a",
  callSeq: 3,
  name: "pay",
  arguments: argumentsOf("a"),
  effectKey: effectKeyOf(3),
  effect: "keyed",
  markerSeq: 4,
  isClosed: false,
  retryGranted: false,
};

Deno.test("an effect is unresolved from its marker to a result that tells", () => {
  assertEquals(unresolved(begun), [BEGUN]);
  assertEquals(unresolved((log) => (log.openStep("a"), log.call("a"))), []);
  assertEquals(callIds((log) => (begun(log), log.result("a"))), []);
  assertEquals(callIds((log) => (begun(log), log.result("a", "SOME_ERROR"))), []);
  assertEquals(callIds((log) => (begun(log), log.result("a", undefined, true))), []);
  assertEquals(callIds((log) => (begun(log), log.call("b"), log.result("b"))), ["a"]);
});

Deno.test("an unknown outcome, a timeout and an abort leave it unresolved and closed", () => {
  for (const code of ["TOOL_OUTCOME_UNKNOWN", "TOOL_TIMEOUT", "ABORTED"]) {
    assertEquals(
      unresolved((log) => (begun(log), log.result("a", code))),
      [{ ...BEGUN, isClosed: true, resultSeq: 5 }],
      code,
    );
  }
});

Deno.test("the end of the turn closes it, because no result can come any more", () => {
  assertEquals(unresolved((log) => (begun(log), log.endStep())).map((effect) => effect.isClosed), [false]);
  assertEquals(unresolved((log) => (begun(log), log.endStep(), log.endTurn())).map((effect) => effect.isClosed), [
    true,
  ]);
});

Deno.test("a body without effect leaves nothing to settle", () => {
  const reading = (log: LogBuilder) => (log.openStep("a"), log.call("a"), log.marker("a", { effect: "none" }));
  assertEquals(unresolved(reading), []);
  assertEquals(unresolved((log) => (reading(log), log.result("a", "TOOL_OUTCOME_UNKNOWN"))), []);
});

Deno.test("an unknown without a marker counts as opaque, without a key", () => {
  const foreign = (code: string) => (log: LogBuilder) => (log.openStep("a"), log.call("a"), log.result("a", code));
  const { markerSeq: _, ...unmarked } = BEGUN;
  const expected = { ...unmarked, effectKey: null, effect: "opaque" as const, isClosed: true, resultSeq: 4 };
  assertEquals(unresolved(foreign("TOOL_OUTCOME_UNKNOWN")), [expected]);
  // Without a marker nothing says that these had begun.
  for (const code of ["TOOL_NOT_STARTED", "TOOL_TIMEOUT", "ABORTED"]) assertEquals(unresolved(foreign(code)), [], code);
});

Deno.test("a verdict settles it, but for those that decide nothing", () => {
  const closed = (
    log: LogBuilder,
  ) => (begun(log), log.result("a", "TOOL_OUTCOME_UNKNOWN"), log.endStep(), log.endTurn());
  assertEquals(callIds((log) => (closed(log), log.verdict("a", "happened"))), []);
  assertEquals(callIds((log) => (closed(log), log.verdict("a", "absent"))), []);
  assertEquals(callIds((log) => (closed(log), log.verdict("a", "undecidable"))), ["a"]);
  assertEquals(unresolved((log) => (closed(log), log.verdict("a", "retry"))), [
    { ...BEGUN, isClosed: true, resultSeq: 5, retryGranted: true },
  ]);
  assertEquals(unresolved((log) => (closed(log), log.verdict("a", "undecidable"))), [
    { ...BEGUN, isClosed: true, resultSeq: 5, askedSeq: 8 },
  ]);
  assertEquals(callIds((log) => (closed(log), log.callSeqs.set("a", 9), log.verdict("a", "happened"))), ["a"]);
});

Deno.test("a retry that succeeds settles what shares its key; one that fails settles itself alone", () => {
  const retried = (log: LogBuilder) => {
    begun(log);
    log.result("a", "TOOL_OUTCOME_UNKNOWN");
    log.endStep();
    log.startStep();
    log.assistant(["b", "c"]);
    log.call("b");
    log.marker("b", { effect: "keyed", effectKey: effectKeyOf(3), retryOf: 3 });
  };
  assertEquals(callIds(retried), ["a", "b"]);
  assertEquals(unresolved(retried)[1]!.retryOf, 3);
  assertEquals(callIds((log) => (retried(log), log.result("b"))), []);
  assertEquals(callIds((log) => (retried(log), log.result("b", "SOME_ERROR"))), ["a"]);
  assertEquals(callIds((log) => (retried(log), log.verdict("b", "happened"))), []);
  assertEquals(callIds((log) => (retried(log), log.result("b", "TOOL_NOT_STARTED"))), [], "the key is void");
  assertEquals(
    callIds((log) => (retried(log), log.verdict("b", "absent", undefined, "lookup"))),
    [],
    "the key is void",
  );
  assertEquals(callIds((log) => (retried(log), log.verdict("b", "absent", undefined, "person"))), ["a"]);
  // Three tries, the last one succeeds.
  assertEquals(
    callIds((log) => {
      retried(log);
      log.result("b", "TOOL_TIMEOUT");
      log.call("c");
      log.marker("c", { effect: "keyed", effectKey: effectKeyOf(3), retryOf: 3 });
      log.result("c");
    }),
    [],
  );
});

Deno.test("a retry of an effect without a key settles it by its seq", () => {
  const retried = (log: LogBuilder) => {
    log.openStep("a");
    log.call("a");
    log.result("a", "TOOL_OUTCOME_UNKNOWN");
    log.endStep();
    log.startStep();
    log.assistant(["b"]);
    log.call("b");
    log.marker("b", { retryOf: 3 });
  };
  assertEquals(callIds(retried), ["a", "b"]);
  assertEquals(callIds((log) => (retried(log), log.result("b"))), []);
});

Deno.test("unresolved effects outlive their lifecycle, and a salvage", () => {
  assertEquals(callIds((log) => (begun(log), log.endSeed(), log.policy(), log.salvaged())), ["a"]);
});

Deno.test("a nested effect is unresolved until its dispatch settles", () => {
  const nested = (log: LogBuilder) => {
    begun(log);
    log.nested("a", "a:1");
    log.marker("a:1", { effect: "idempotent" });
  };
  assertEquals(unresolved(nested)[1], {
    ...BEGUN,
    callId: "a:1",
    callSeq: 5,
    name: "inner",
    arguments: "{}",
    effectKey: effectKeyOf(5),
    effect: "idempotent",
    markerSeq: 6,
  });
  assertEquals(callIds((log) => (nested(log), log.nestedResult("a", "a:1"))), ["a"]);
  assertEquals(callIds((log) => (nested(log), log.result("a"))), ["a:1"]);
});

Deno.test("a marker that fits no call names nothing to settle", () => {
  assertEquals(unresolved((log) => (log.openStep("a"), log.call("a"), log.marker("a", { callSeq: 2 }))), []);
});

Deno.test("a second marker of one call begins no second effect", () => {
  assertEquals(callIds((log) => (begun(log), log.marker("a", { effectKey: effectKeyOf(9) }))), ["a"]);
});

Deno.test("a grant is spent by the marker of the repetition, whatever becomes of it", () => {
  const granted = (log: LogBuilder) => {
    begun(log);
    log.result("a", "TOOL_OUTCOME_UNKNOWN");
    log.verdict("a", "retry");
    log.call("b");
  };
  assertEquals(unresolved(granted).map((effect) => effect.retryGranted), [true]);
  const spent = (log: LogBuilder) => (granted(log), log.marker("b", { effectKey: effectKeyOf(3), retryOf: 3 }));
  assertEquals(unresolved(spent).map((effect) => effect.retryGranted), [false, false]);
  assertEquals(unresolved((log) => (spent(log), log.result("b", "SOME_ERROR"))).map((effect) => effect.retryGranted), [
    false,
  ]);
});

Deno.test("a verdict about an answered call is untold until its notice is in the log", () => {
  const log = new LogBuilder();
  begun(log);
  log.result("a", "TOOL_OUTCOME_UNKNOWN");
  const seq = log.verdict("a", "happened", undefined, "lookup");
  const { untold } = foldEvents(unresolvedFold, log.events);
  assertEquals(untold.map(({ effect, data, ...rest }) => [effect.callSeq, data.verdict, rest]), [[3, "happened", {
    seq,
  }]]);
  const notice = { id: noticeId(3, seq), role: "user" as const, content: [], source: { kind: "plugin" } };
  log.add("agent/inbox/spliced", {
    target: "next-step",
    start: 0,
    inserted: [{ ...notice, id: noticeId(33, seq) }],
  });
  assertEquals(foldEvents(unresolvedFold, log.events).untold.length, 1, "another notice is none");
  log.add("agent/inbox/spliced", { target: "next-step", start: 1, inserted: [notice] });
  assertEquals(foldEvents(unresolvedFold, log.events).untold, []);
});

Deno.test("a verdict about a call that waits for its result needs no notice", () => {
  const log = new LogBuilder();
  begun(log);
  log.verdict("a", "absent", undefined, "lookup");
  assertEquals(foldEvents(unresolvedFold, log.events).untold, []);
});
