import { assertEquals } from "@std/assert";
import { type CallClass, foldEvents, openTurn, pendingCallsFold } from "../../src/fold/mod.ts";
import { LogBuilder } from "./log_builder.ts";

function classes(write: (log: LogBuilder) => void): Record<string, CallClass> {
  const log = new LogBuilder();
  write(log);
  const turn = openTurn(foldEvents(pendingCallsFold, log.events));
  return Object.fromEntries(turn!.calls.map((call) => [call.callId, call.class]));
}

type Case = [evidence: string, write: (log: LogBuilder) => void, expected: Record<string, CallClass>];

function check(cases: readonly Case[]): void {
  for (const [evidence, write, expected] of cases) assertEquals(classes(write), expected, evidence);
}

Deno.test("exec/C22: with barriers on, each row of the class table", () => {
  const ours = (log: LogBuilder) => (log.policy(), log.openStep("a"));
  check([
    ["assistant message only", (log) => ours(log), { a: "not_started" }],
    ["tool/call", (log) => (ours(log), log.call("a")), { a: "not_dispatched" }],
    ["tool/call, open question", (log) => (ours(log), log.call("a"), log.asked("q", "a")), { a: "not_dispatched" }],
    ["tool/call, grant", (log) => {
      ours(log);
      log.call("a");
      log.asked("q", "a");
      log.decided("q");
    }, { a: "not_dispatched" }],
    ["tool/call, refusal", (log) => {
      ours(log);
      log.call("a");
      log.asked("q", "a");
      log.decided("q", "rejected");
    }, { a: "not_dispatched" }],
    ["effect/dispatched", (log) => (ours(log), log.call("a"), log.marker("a")), { a: "outcome_unknown" }],
    ["effect/dispatched of a reading tool", (log) => {
      ours(log);
      log.call("a");
      log.marker("a", { effect: "none" });
    }, { a: "outcome_unknown" }],
    ["result", (log) => (ours(log), log.call("a"), log.marker("a"), log.result("a")), {}],
    ["a sibling runs", (log) => {
      log.policy();
      log.openStep("a", "b", "c");
      log.call("b");
      log.call("a");
      log.marker("a");
    }, { a: "outcome_unknown", b: "not_dispatched", c: "not_started" }],
    ["a nested call runs", (log) => {
      ours(log);
      log.call("a");
      log.marker("a");
      log.nested("a", "a:1");
      log.marker("a:1");
    }, { a: "outcome_unknown" }],
    ["a nested call of a sibling", (log) => {
      log.policy();
      log.openStep("a", "b");
      log.call("a");
      log.marker("a");
      log.nested("a", "a:1");
      log.marker("a:1");
      log.call("b");
    }, { a: "outcome_unknown", b: "not_dispatched" }],
  ]);
});

Deno.test("with barriers off the conservative rules hold", () => {
  check([
    ["assistant message only", (log) => log.openStep("a"), { a: "not_started" }],
    ["tool/call", (log) => (log.openStep("a"), log.call("a")), { a: "outcome_unknown" }],
    ["refused", (log) => {
      log.openStep("a");
      log.call("a");
      log.asked("q", "a");
      log.decided("q", "rejected");
    }, { a: "outcome_unknown" }],
    ["policy after turn/start", (log) => {
      log.startTurn();
      log.policy();
      log.startStep();
      log.assistant(["a"]);
      log.call("a");
    }, { a: "outcome_unknown" }],
  ]);
});

Deno.test("a log that another program resumed is classed by its lifecycle, not by an earlier one of ours", () => {
  check([
    ["in a turn of its own", (log) => {
      log.policy();
      log.openStep();
      log.endStep();
      log.endTurn();
      log.endSeed();
      log.openStep("a", "b");
      log.call("a");
    }, { a: "outcome_unknown", b: "not_started" }],
    ["for a call of our message", (log) => {
      log.policy();
      log.openStep("a", "b");
      log.endSeed();
      log.call("a");
    }, { a: "outcome_unknown", b: "not_started" }],
    ["for a call that we had recorded", (log) => {
      log.policy();
      log.openStep("a");
      log.call("a");
      log.endSeed();
    }, { a: "outcome_unknown" }],
    ["and ours again", (log) => {
      log.policy();
      log.endSeed();
      log.endSeed();
      log.policy();
      log.openStep("a");
      log.call("a");
    }, { a: "not_dispatched" }],
  ]);
});

Deno.test("log/salvaged takes every proof away from what lies before it", () => {
  check([
    ["recorded before", (log) => {
      log.policy();
      log.openStep("a");
      log.call("a");
      log.salvaged();
    }, { a: "outcome_unknown" }],
    ["proposed before, recorded after", (log) => {
      log.policy();
      log.openStep("a");
      log.salvaged();
      log.call("a");
    }, { a: "outcome_unknown" }],
    ["in the lifecycle after it", (log) => {
      log.policy();
      log.salvaged();
      log.endSeed();
      log.policy();
      log.openStep("a");
      log.call("a");
    }, { a: "not_dispatched" }],
  ]);
});

Deno.test("a stray marker makes every pending call of its lifecycle outcome unknown", () => {
  const change = [{ callSeq: 2 }, { callId: "x" }, { step: 2 }, { turn: 2 }];
  for (const each of change) {
    check([[`marker with ${JSON.stringify(each)}`, (log) => {
      log.policy();
      log.openStep("a", "b");
      log.call("a");
      log.marker("a", each);
    }, { a: "outcome_unknown", b: "outcome_unknown" }]]);
  }
  check([
    ["a nested call's marker of another step", (log) => {
      log.policy();
      log.openStep("a", "b");
      log.call("a");
      log.nested("a", "a:1");
      log.marker("a:1", { step: 2 });
    }, { a: "outcome_unknown", b: "outcome_unknown" }],
    ["calls that come later", (log) => {
      log.policy();
      log.openStep("a");
      log.call("a");
      log.result("a");
      log.marker("a");
      log.endStep();
      log.endTurn();
      log.openStep("b");
      log.call("b");
    }, { b: "outcome_unknown" }],
    ["not those of the next lifecycle", (log) => {
      log.policy();
      log.openStep("a");
      log.marker("a");
      log.endStep();
      log.endTurn();
      log.endSeed();
      log.policy();
      log.openStep("b", "c");
      log.call("b");
    }, { b: "not_dispatched", c: "not_started" }],
    ["a lifecycle without barriers too", (log) => {
      log.openStep("a");
      log.marker("a");
    }, { a: "outcome_unknown" }],
  ]);
});

Deno.test("openTurn() reports turn, step and calls in the model's order", () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("a", "b");
  const callSeq = log.call("b");
  assertEquals(openTurn(log.folds().pendingCalls), {
    turn: 1,
    step: 1,
    calls: [
      { callId: "a", callSeq: null, name: "pay", class: "not_started" },
      { callId: "b", callSeq, name: "pay", class: "not_dispatched" },
    ],
  });
});
