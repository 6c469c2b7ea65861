import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import { BRACKET_PROBLEMS_KEPT_MAX, bracketProblem, bracketsFold, foldEvents } from "../../src/fold/mod.ts";
import { closers } from "../../src/session/repair.ts";
import { LogBuilder } from "./log_builder.ts";

/** What the rules say about the last event that `write` appends; earlier ones must be fine. */
function problemOf(write: (log: LogBuilder) => void): string | null {
  const log = new LogBuilder();
  write(log);
  const state = foldEvents(bracketsFold, log.events.slice(0, -1));
  assertEquals(state.problems.first, [], "an event before the last one is not fine");
  return bracketProblem(state, log.events.at(-1)!);
}

type Case = [name: string, write: (log: LogBuilder) => void, found: string | null];

function check(cases: readonly Case[]): void {
  for (const [name, write, found] of cases) {
    const problem = problemOf(write);
    if (found === null) assertEquals(problem, null, name);
    else assertStringIncludes(problem ?? "(no problem)", found, name);
  }
}

Deno.test("bracketProblem() numbers turns and steps and nests them", () => {
  check([
    ["first turn", (log) => log.startTurn(), null],
    ["a turn is skipped", (log) => log.add("turn/start", { turn: 2 }), "the next turn is 1"],
    ["a turn is open", (log) => (log.startTurn(), log.startTurn()), "turn 1 is open"],
    ["second turn", (log) => (log.startTurn(), log.endTurn(), log.startTurn()), null],
    ["no turn to end", (log) => log.endTurn(), "no turn is open"],
    ["another turn ends", (log) => (log.startTurn(), log.turn = 2, log.endTurn()), "turn 1 is open"],
    ["a step is open", (log) => (log.openStep(), log.endTurn()), "step 1 is open"],
    ["step without turn", (log) => (log.turn = 1, log.startStep()), "no turn is open"],
    ["step is skipped", (log) => (log.startTurn(), log.step = 1, log.startStep()), "the next step is 1"],
    ["step in a step", (log) => (log.openStep(), log.startStep()), "step 1 is open"],
    ["second step", (log) => (log.openStep(), log.endStep(), log.startStep()), null],
    ["no step to end", (log) => (log.startTurn(), log.step = 1, log.endStep()), "no step is open"],
    ["another step ends", (log) => (log.openStep(), log.step = 2, log.endStep()), "step 1 is open"],
    ["steps begin anew", (log) => (log.openStep(), log.endStep(), log.endTurn(), log.openStep()), null],
  ]);
});

Deno.test("bracketProblem() ends no step while a dispatched call of it has no result", () => {
  const dispatched = (log: LogBuilder) => (log.openStep("a", "b"), log.call("a"), log.marker("a"));
  check([
    ["dispatched", (log) => (dispatched(log), log.endStep()), 'call "a" was dispatched and has no result'],
    ["beside an answered one", (log) => {
      dispatched(log);
      log.result("a");
      log.call("b");
      log.marker("b");
      log.endStep();
    }, 'call "b" was dispatched'],
    ["answered", (log) => (dispatched(log), log.result("a"), log.endStep()), null],
    ["closed", (log) => (dispatched(log), log.result("a", "TOOL_OUTCOME_UNKNOWN"), log.endStep()), null],
    ["recorded only", (log) => (log.openStep("a"), log.call("a"), log.endStep()), null],
    ["proposed only", (log) => (log.openStep("a"), log.endStep()), null],
    [
      "the step before",
      (log) => (dispatched(log), log.result("a"), log.endStep(), log.startStep(), log.endStep()),
      null,
    ],
  ]);
  // Closers pass, and a log of another program is believed and counted.
  const log = new LogBuilder();
  dispatched(log);
  log.append(closers(log.folds()));
  assertEquals(log.folds().brackets.problems.count, 0);
  const foreign = new LogBuilder();
  dispatched(foreign);
  foreign.endStep();
  foreign.endTurn();
  const { turn, step, problems } = foreign.folds().brackets;
  assertEquals([turn, step, problems.count], [null, null, 1]);
});

Deno.test("bracketProblem() wants messages and calls in exactly their open step", () => {
  check([
    ["system outside", (log) => (log.startTurn(), log.step = 1, log.system("x")), "no step is open"],
    ["system of another step", (log) => (log.openStep(), log.step = 2, log.system("x")), "step 1 is open"],
    ["assistant of another turn", (log) => (log.openStep(), log.turn = 2, log.assistant([])), "turn 1 is open"],
    ["call outside", (log) => log.call("a"), "no turn is open"],
    ["user anywhere", (log) => log.user("x"), null],
    ["end-seed anywhere", (log) => (log.openStep(), log.endSeed()), null],
    ["header outside", (log) => {
      log.add("request/header", { header: { config: { provider: "p", model: "m" } }, reason: "initial" });
    }, "no turn is open"],
    ["context outside", (log) => log.add("request/context", { provider: "p", model: "m" }), "no turn is open"],
    ["attempt", (log) => (log.openStep(), log.add("assistant/attempt", { ...log.place(), stream: [] })), null],
    ["rename outside", (log) => {
      log.add("call/renamed", { turn: 1, step: 1, index: 0, providerCallId: "" }, { ignorable: true });
    }, "no turn is open"],
  ]);
});

Deno.test("bracketProblem() wants each result to answer a call that waits, but for closers", () => {
  check([
    ["answered", (log) => (log.openStep("a"), log.call("a"), log.result("a")), null],
    ["never recorded", (log) => (log.openStep("a"), log.result("a")), 'no call "a" waits'],
    ["closer", (log) => (log.openStep("a"), log.result("a", "TOOL_NOT_STARTED")), null],
    ["closer after a stray marker", (log) => (log.openStep("a"), log.result("a", "TOOL_OUTCOME_UNKNOWN")), null],
    ["another code", (log) => (log.openStep("a"), log.result("a", "TOOL_TIMEOUT")), 'no call "a" waits'],
    ["twice", (log) => (log.openStep("a"), log.call("a"), log.result("a"), log.result("a")), 'no call "a" waits'],
    ["one id, two calls", (log) => {
      log.openStep("a", "a");
      log.call("a");
      log.result("a");
      log.call("a");
      log.result("a");
    }, null],
    ["call of an earlier step", (log) => {
      log.openStep("a");
      log.call("a");
      log.endStep();
      log.startStep();
      log.result("a");
    }, 'no call "a" waits'],
    ["replacement in a turn", (log) => {
      log.openStep("a");
      log.call("a");
      const seq = log.result("a");
      const op = { op: "replace" as const, startSeq: seq, endSeq: seq };
      log.append([{ ...log.events[seq]!, seq: seq + 1, surfaceOp: op, sourceEventSeqs: [seq] }]);
    }, null],
  ]);
});

Deno.test("bracketProblem() refuses a marker that would be stray, and a second one", () => {
  check([
    ["marked", (log) => (log.openStep("a"), log.call("a"), log.marker("a")), null],
    ["not recorded", (log) => (log.openStep("a"), log.marker("a")), 'seq 0 is no call "a"'],
    ["another seq", (log) => (log.openStep("a"), log.call("a"), log.marker("a", { callSeq: 2 })), "seq 2 is no call"],
    ["another id", (log) => (log.openStep("a"), log.call("a"), log.marker("a", { callId: "b" })), 'no call "b"'],
    ["another step", (log) => (log.openStep("a"), log.call("a"), log.marker("a", { step: 2 })), "step 1 is open"],
    ["twice", (log) => (log.openStep("a"), log.call("a"), log.marker("a"), log.marker("a")), "has its marker already"],
    [
      "answered",
      (log) => (log.openStep("a"), log.call("a"), log.result("a"), log.marker("a")),
      "has its result already",
    ],
    ["nested", (log) => {
      log.openStep("a");
      log.call("a");
      log.marker("a");
      log.nested("a", "a:1");
      log.marker("a:1");
    }, null],
    ["nested, settled", (log) => {
      log.openStep("a");
      log.call("a");
      log.nested("a", "a:1");
      log.nestedResult("a", "a:1");
      log.marker("a:1");
    }, "has its result already"],
  ]);
});

Deno.test("exec/A19: decided without asked, and questions outside a turn, are refused and reported", () => {
  check([
    ["asked outside", (log) => log.asked("q"), "no turn is open"],
    ["decided outside", (log) => log.decided("q"), "no turn is open"],
    ["decided only", (log) => (log.startTurn(), log.decided("q")), 'no question "q" is open'],
    ["pair", (log) => (log.startTurn(), log.asked("q"), log.decided("q")), null],
    ["decided twice", (log) => (log.startTurn(), log.asked("q"), log.decided("q"), log.decided("q")), "no question"],
    ["asked twice", (log) => (log.startTurn(), log.asked("q"), log.asked("q")), 'question "q" is open already'],
    ["of an earlier turn", (log) => {
      log.startTurn();
      log.asked("q");
      log.endTurn();
      log.startTurn();
      log.decided("q");
    }, 'no question "q" is open'],
    ["bound to no call", (log) => {
      log.openStep("a");
      log.asked("q", "a");
      log.add("approval/bound", { id: "q", callSeq: 2, argumentsDigest: "" }, { ignorable: true });
    }, "seq 2 is no call"],
  ]);
  const log = new LogBuilder();
  log.decided("q");
  log.startTurn();
  log.decided("q");
  assertEquals(foldEvents(bracketsFold, log.events).problems, {
    count: 2,
    first: [{ seq: 0, message: "no turn is open" }, { seq: 2, message: 'no question "q" is open' }],
  });
});

Deno.test("compaction/C-16: no turn begins or ends across an open compaction, unless repair ends it", () => {
  check([
    ["begin", (log) => (log.compaction(null), log.startTurn()), 'compaction "k1" of no turn is open'],
    ["end", (log) => (log.startTurn(), log.compaction(1), log.endTurn()), 'compaction "k1" of turn 1 is open'],
    ["repair", (log) => (log.startTurn(), log.compaction(1), log.endTurn({ kind: "interrupted" })), null],
  ]);
});

Deno.test("compaction/C-17: a compaction belongs to the open turn, or to none between turns", () => {
  check([
    ["no turn named", (log) => (log.startTurn(), log.compaction(null)), "turn 1 is open"],
    ["another turn", (log) => (log.startTurn(), log.compaction(3)), "turn 1 is open"],
    ["between turns", (log) => log.compaction(1), "no turn is open"],
    ["owner", (log) => (log.startTurn(), log.compaction(1)), null],
    ["nobody", (log) => log.compaction(null), null],
  ]);
});

Deno.test("compaction/C-18: a compaction keeps its id and command, has one summary, and ends as it can", () => {
  const start = (log: LogBuilder) => {
    log.user("x");
    log.add("compaction/start", { compactionId: "A", sourceCommandId: "X", turn: null });
  };
  const end = (log: LogBuilder, more: object) => log.add("compaction/end", { compactionId: "A", turn: null, ...more });
  const other = "which has another id or command";
  check([
    ["summary of another", (log) => (log.user("x"), log.compaction(null), log.summary(0, 0, [0], "B")), other],
    ["summary without the command", (log) => (start(log), log.summary(0, 0, [0], "A")), other],
    ["checkpoint of another", (log) => (start(log), log.checkpoint(0, 0, [0, 1], "B")), other],
    ["end of another", (log) => {
      start(log);
      end(log, { compactionId: "B", sourceCommandId: "X", error: "e" });
    }, other],
    ["end with another command", (log) => (start(log), end(log, { sourceCommandId: "Y", error: "e" })), other],
    ["end of another turn", (log) => (start(log), end(log, { sourceCommandId: "X", turn: 1, error: "e" })), "no turn"],
    ["second summary", (log) => {
      log.user("x");
      log.compaction(null);
      log.summary(0, 0, [0]);
      log.summary(0, 0, [0]);
    }, "it has a summary already"],
    ["end without summary", (log) => (log.compaction(null), log.compactionEnd(null)), "without a summary"],
    ["end with error", (log) => (log.compaction(null), log.compactionEnd(null, "e")), null],
    ["nothing is open", (log) => log.compactionEnd(null, "e"), "no compaction is open"],
    ["checkpoint outside", (log) => (log.user("x"), log.checkpoint(0, 0, [0])), "no compaction is open"],
  ]);
});

Deno.test("compaction/C-15: the whole bracket passes, and releases the lock", () => {
  const log = new LogBuilder();
  log.startTurn();
  const user = log.user("x");
  const start = log.compaction(1);
  const summary = log.summary(user, user, [user]);
  log.checkpoint(user, user, [start, summary, user]);
  log.compactionEnd(1);
  log.endTurn();
  const state = foldEvents(bracketsFold, log.events);
  assertEquals([state.problems.count, state.compaction], [0, null]);
});

Deno.test("compaction/C-22: an open compaction blocks the next one while its lifecycle lives", () => {
  const log = new LogBuilder();
  log.compaction(null);
  const state = foldEvents(bracketsFold, log.events);
  assertEquals(state.compaction?.compactionId, "k1");
  check([["second", (log) => (log.compaction(null), log.compaction(null, "k2")), 'compaction "k1" is open']]);
});

Deno.test("compaction/C-23: session/end-seed makes an open compaction stale", () => {
  const log = new LogBuilder();
  log.compaction(null);
  log.endSeed();
  log.compaction(null, "k2");
  log.compactionEnd(null, "e", "k2");
  const state = foldEvents(bracketsFold, log.events);
  assertEquals([state.problems.count, state.compaction], [0, null]);
});

Deno.test("compaction/C-26: folding a log that ends with session/end-seed twice decides the same", () => {
  const log = new LogBuilder();
  log.compaction(null);
  log.endSeed();
  assertEquals(foldEvents(bracketsFold, log.events), foldEvents(bracketsFold, log.events));
  assertEquals(foldEvents(bracketsFold, log.events).compaction, null);
});

Deno.test("a question ends with its turn, however the turn ends", () => {
  const questions = (write: (log: LogBuilder) => void) => {
    const log = new LogBuilder();
    log.startTurn();
    log.asked("q");
    write(log);
    return foldEvents(bracketsFold, log.events).questions.toArray();
  };
  assertEquals(questions(() => {}), ["q"]);
  assertEquals(questions((log) => log.endTurn()), []);
  assertEquals(questions((log) => log.startTurn()), []);
});

Deno.test("bracketsFold believes broken nesting, counts it all and keeps the first texts", () => {
  const broken: SessionEvent[] = Array.from({ length: 20 }, (_, seq) => {
    return { type: "turn/start", seq, time: 1, data: { turn: 7 } };
  });
  const state = foldEvents(bracketsFold, broken);
  assertEquals([state.turn, state.lastTurn, state.problems.count], [7, 7, 20]);
  assertEquals(state.problems.first.length, BRACKET_PROBLEMS_KEPT_MAX);
  assert(state.problems.first[0]?.seq === 0);
});
