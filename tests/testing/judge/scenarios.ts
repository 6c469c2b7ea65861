/**
 * What a lawful engine leaves and says in each scenario about barriers and repair, written down by hand. Ids carry their file.
 *
 * @module
 */
import { answer, type CrashPlan, STEP, Story } from "./story.ts";

/** A story up to the first flush: lifecycle, turn, step, user message. */
export function opened(): Story {
  return new Story().policy().begin();
}

const pay = { id: "c1" };
const DENIED = { name: "CheckpointError", code: "CHECKPOINT_FAILED" };
const ABORTED = { name: "AbortError", code: "ABORTED_BEFORE_DISPATCH" };

/** One call, up to the flush of its marker. */
export function dispatched(effect = "opaque"): Story {
  const story = opened().propose(pay);
  story.dispatch(pay, effect);
  return story;
}

/** One call with its result flushed, and the turn ended. */
export function paid(): Story {
  const story = dispatched();
  const callSeq = story.rows.find(({ type }) => type === "tool/call")!.seq;
  story.result("c1", callSeq);
  return story.flush().endStep().end();
}

/** A call left unknown by a first process, repaired by a second one, which began a new turn. */
export function unknownBefore(effect = "opaque"): Story {
  const story = dispatched(effect);
  story.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(story, "c1"));
  return story.closeTurn().flush().endSeed().flush().policy().begin("again");
}

export function callSeqOf({ rows }: Story, callId: string): number {
  return rows.find(({ type, data }) => type === "tool/call" && data.callId === callId)!.seq;
}

/** The number of the flush that ends with the marker of a call. */
export function markerFlushOf({ rows, flushes }: Story, callId: string): number {
  const { seq } = rows.find(({ type, data }) => type === "effect/dispatched" && data.callId === callId)!;
  return flushes.findIndex((end) => seq < end);
}

function unknownCloser(s: Story): void {
  s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(s, "c1"));
  s.closeTurn();
}

const unknown = { c1: { class: "outcome_unknown" } } as const;
const done = { c1: { class: "done" } } as const;
const notStarted = { c1: { class: "not_started" } } as const;
const notDispatched = { c1: { class: "not_dispatched" } } as const;

/** Scenario → what is left of it. */
export const SCENARIOS: Readonly<Record<string, () => CrashPlan>> = {
  "exec/C01 the model is called after its flush": () => ({
    story: opened(),
    repair: (s) => s.closeTurn(),
  }),
  "exec/C02 a request outside of a session leaves no log": () => ({
    story: new Story(),
    flushed: 0,
    hasEndSeed: false,
  }),
  "exec/C04 a flush that is refused ends the turn in an error": () => {
    const story = opened().endStep();
    story.add("turn/end", { turn: 1, reason: { kind: "error", error: { message: "no sync", code: "UNKNOWN" } } });
    return { story: story.flush() };
  },
  "exec/C05 a stream nobody consumes": () => ({
    story: new Story().policy().begin(),
    repair: (s) => s.closeTurn(),
  }),
  "exec/C06 the body runs after the flush of its marker": () => ({
    story: dispatched(),
    effects: [{ callId: "c1" }],
    reports: unknown,
    repair: unknownCloser,
  }),
  "exec/C09 nested calls without effect have no marker": () => {
    const story = dispatched();
    story.add("tool/ptc-dispatch-start", {
      ...{ rootCallId: "c1", parentCallId: "c1", subCallId: "c1:ptc:1", name: "look", arguments: "{}" },
    });
    return { story: story.flush(), effects: [{ callId: "c1" }], reports: unknown, repair: unknownCloser };
  },
  "exec/C09 a nested call with an effect has one": () => {
    const story = dispatched();
    const callSeq = story.add("tool/ptc-dispatch-start", {
      ...{ rootCallId: "c1", parentCallId: "c1", subCallId: "c1:ptc:1", name: "pay", arguments: "{}" },
    });
    story.marker("c1:ptc:1", callSeq);
    return {
      story: story.flush(),
      effects: [{ callId: "c1:ptc:1" }],
      reports: { ...unknown, "c1:ptc:1": { class: "outcome_unknown" } },
      repair: unknownCloser,
    };
  },
  "exec/C10 a call of the host outside of any session leaves no log": () => ({
    story: new Story(),
    flushed: 0,
    hasEndSeed: false,
  }),
  "exec/C11 the log before a second step": () => {
    const story = dispatched();
    story.result("c1", callSeqOf(story, "c1"));
    return {
      story: story.endStep().flush(),
      effects: [{ callId: "c1" }],
      reports: done,
      repair: (s) => s.closeTurn({ hasStep: false }),
    };
  },
  "exec/C12 a flush that is refused before a step": () => {
    const story = new Story().policy();
    story.add("turn/start", { turn: 1 });
    story.add("turn/end", { turn: 1, reason: { kind: "error", error: { message: "no sync", code: "UNKNOWN" } } });
    return { story: story.flush() };
  },
  "exec/C16 two parallel calls, each with its marker": () => {
    const other = { id: "c2" };
    const story = opened().propose(pay, other);
    const [first, second] = [story.call(pay), story.call(other)];
    story.marker("c1", first);
    story.flush();
    story.marker("c2", second);
    story.flush();
    return {
      story,
      effects: [{ callId: "c1" }, { callId: "c2" }],
      reports: { ...unknown, c2: { class: "outcome_unknown" } },
      repair: (s) => {
        s.closer("c1", "TOOL_OUTCOME_UNKNOWN", first);
        s.closer("c2", "TOOL_OUTCOME_UNKNOWN", second);
        s.closeTurn();
      },
    };
  },
  "exec/C17 a second attempt has a flush of its own": () => {
    const story = opened();
    story.add("assistant/attempt", { turn: 1, step: 1, stream: [] });
    return { story: story.flush().propose(pay).flush(), reports: notStarted, repair: closeNotStarted };
  },
  "exec/C18 a result in memory only": () => {
    const story = dispatched();
    const flushed = story.flushes.length;
    story.result("c1", callSeqOf(story, "c1"));
    return { story: story.flush(), flushed, effects: [{ callId: "c1" }], reports: unknown, repair: unknownCloser };
  },
  "exec/C19 C25 a barrier nobody acknowledges": () => {
    const story = opened().propose(pay);
    story.result("c1", story.call(pay), DENIED, "Error: no store acknowledged");
    return { story: story.endStep().end(), reports: done };
  },
  "exec/C20 a request cancelled in its flush": () => {
    const story = opened().endStep();
    story.add("turn/end", { turn: 1, reason: { kind: "aborted", reason: { kind: "user" } } });
    return { story: story.flush() };
  },
  "exec/C21 a wrapper before the policy": () => ({ story: paid(), effects: [{ callId: "c1" }], reports: done }),
  "exec/C22 A22 a crash while the question is open": () => {
    const story = opened().propose(pay);
    const callSeq = story.call(pay);
    return {
      story: story.ask("q1", "c1", callSeq),
      reports: notDispatched,
      repair: (s) => {
        s.close("approval/decided", { id: "q1", outcome: "cancelled" });
        s.closer("c1", "TOOL_NOT_STARTED", callSeq);
        s.closeTurn();
      },
    };
  },
  "exec/C23 a call cancelled in its flush": () => {
    const story = opened().propose(pay);
    story.result("c1", story.call(pay), ABORTED, "Error: tool call aborted before dispatch");
    return { story: story.endStep().end(), reports: done };
  },
  "exec/C24 the same in every runtime: all of the next flush, not yet acknowledged": () => {
    const story = dispatched();
    const flushed = story.flushes.length - 1;
    return { story, flushed, torn: "all", reports: unknown, repair: unknownCloser };
  },
  "exec/A21 a question answered, and no marker": () => {
    const story = opened().propose(pay);
    const callSeq = story.call(pay);
    story.ask("q1", "c1", callSeq, "allowed-once").flush();
    return {
      story,
      reports: { c1: { class: "not_dispatched", callSeq } },
      repair: (s) => {
        s.closer("c1", "TOOL_NOT_STARTED", callSeq);
        s.closeTurn();
      },
    };
  },
  "exec/R01 nothing is open": () => ({ story: paid(), effects: [{ callId: "c1" }], reports: done }),
  "exec/R02 a turn without a step": () => {
    const story = new Story().policy();
    story.turn = 1;
    story.add("turn/start", { turn: 1 });
    return { story: story.flush(), repair: (s) => s.closeTurn({ hasStep: false }) };
  },
  "exec/R03 an open step": () => ({ story: opened(), repair: (s) => s.closeTurn() }),
  "exec/R04 a message with a call, and nothing of it": () => ({
    story: opened().propose(pay).flush(),
    reports: notStarted,
    repair: closeNotStarted,
  }),
  "exec/R06 a call that has its result": () => {
    const story = dispatched();
    story.result("c1", callSeqOf(story, "c1"));
    return { story: story.flush(), effects: [{ callId: "c1" }], reports: done, repair: (s) => s.closeTurn() };
  },
  "exec/R08 an unanswered call of a closed turn of another program": () => {
    const story = new Story().begin().propose({ id: "old" });
    story.call({ id: "old" });
    story.endStep();
    story.add("turn/end", { turn: 1, reason: { kind: "completed" } });
    story.flush().endSeed().flush();
    return {
      story: story.policy().begin().propose(pay).flush(),
      // The log stays as it is, and the request answers what nobody answered.
      project: (messages) => messages.toSpliced(2, 0, answer("projected", "old", true, "nobody answered")),
      reports: notStarted,
      repair: closeNotStarted,
    };
  },
  "exec/R11 R15 a lifecycle without barriers": () => {
    const story = new Story().begin().propose(pay);
    story.call(pay);
    return { story: story.flush(), reports: unknown, repair: unknownCloser };
  },
  "exec/R13 the request after the repair": () => ({
    story: dispatched(),
    effects: [],
    reports: unknown,
    repair: unknownCloser,
  }),
  "exec/R14 nothing is run again": () => ({
    story: unknownBefore(),
    reports: unknown,
    deaths: [3],
    repair: (s) => s.closeTurn(),
  }),
  "exec/R15 R21 three calls, each as far as it came": () => {
    const story = opened().propose(pay, { id: "c2" }, { id: "c3" });
    const third = story.call({ id: "c3" });
    const first = story.dispatch(pay);
    return {
      story,
      effects: [{ callId: "c1" }],
      reports: { ...unknown, c2: { class: "not_started" }, c3: { class: "not_dispatched" } },
      repair: (s) => {
        s.closer("c1", "TOOL_OUTCOME_UNKNOWN", first);
        s.closer("c2", "TOOL_NOT_STARTED");
        s.closer("c3", "TOOL_NOT_STARTED", third);
        s.closeTurn();
      },
    };
  },
  "exec/R16 a lookup that finds the effect": () => ({
    story: dispatched(),
    effects: [{ callId: "c1" }],
    reports: { c1: { class: "outcome_unknown", verdict: "happened" } },
    repair: (s) => {
      const callSeq = callSeqOf(s, "c1");
      s.verdict("c1", callSeq, "happened");
      s.settled("c1", callSeq);
      s.closeTurn();
    },
  }),
  "exec/R16 a lookup that forbids the key for ever": () => ({
    story: dispatched(),
    reports: { c1: { class: "outcome_unknown", verdict: "absent" } },
    repair: (s) => {
      const callSeq = callSeqOf(s, "c1");
      s.verdict("c1", callSeq, "absent");
      s.closer("c1", "TOOL_NOT_STARTED", callSeq);
      s.closeTurn();
    },
  }),
  "exec/R16 a lookup that cannot tell, and the request lands late": () => ({
    story: dispatched(),
    effects: [{ callId: "c1", acceptedAtStep: 500 }],
    reports: { c1: { class: "outcome_unknown", verdict: "undecidable" } },
    repair: (s) => {
      s.verdict("c1", callSeqOf(s, "c1"), "undecidable");
      unknownCloser(s);
    },
  }),
  "exec/R16 an unknown of before is settled, and told": () => {
    const story = unknownBefore();
    return {
      story,
      deaths: [3],
      effects: [{ callId: "c1" }],
      reports: { c1: { class: "outcome_unknown", verdict: "happened" } },
      repair: (s) => {
        s.verdict("c1", callSeqOf(s, "c1"), "happened");
        s.notice("c1 happened");
        s.closeTurn();
      },
    };
  },
  "exec/R17 a retry of a keyed tool inherits the key": () => {
    const story = unknownBefore("keyed").propose({ id: "c2", arguments: '{ "to": "c1" }' });
    const callSeq = story.call({ id: "c2", arguments: '{ "to": "c1" }' });
    story.marker("c2", callSeq, "key-c1", "keyed", { retryOf: callSeqOf(story, "c1") });
    story.flush();
    story.result("c2", callSeq);
    return {
      story: story.flush().endStep().end(),
      deaths: [3],
      effects: [{ callId: "c2", effectKey: "key-c1" }],
      reports: { ...unknown, c2: { class: "done" } },
    };
  },
  "exec/R18 a crash between two closers": () => {
    const story = opened().propose(pay, { id: "c2" });
    const first = story.dispatch(pay);
    story.closer("c1", "TOOL_OUTCOME_UNKNOWN", first);
    story.flush();
    return {
      story,
      deaths: [2],
      effects: [{ callId: "c1", incarnation: 0 }],
      reports: { ...unknown, c2: { class: "not_started" } },
      repair: (s) => {
        s.closer("c2", "TOOL_NOT_STARTED");
        s.closeTurn();
      },
    };
  },
  "exec/R19 an equal call of an opaque tool is asked about first": () => {
    const story = unknownBefore().propose({ id: "c2", arguments: '{"to":"c1"}' });
    const callSeq = story.call({ id: "c2", arguments: '{"to":"c1"}' });
    story.ask("q2", "c2", callSeq, "allowed-once");
    story.marker("c2", callSeq, "key-c1", "opaque", { retryOf: callSeqOf(story, "c1") });
    story.flush();
    story.result("c2", callSeq);
    return {
      story: story.flush().endStep().end(),
      deaths: [3],
      effects: [{ callId: "c2", effectKey: "key-c1" }],
      reports: { ...unknown, c2: { class: "done" } },
    };
  },
  "exec/R19 a person said that it may be tried again": () => {
    const story = unknownBefore();
    const original = callSeqOf(story, "c1");
    story.verdict("c1", original, "retry", "person");
    story.propose({ id: "c2", arguments: '{"to":"c1"}' });
    const callSeq = story.call({ id: "c2", arguments: '{"to":"c1"}' });
    story.marker("c2", callSeq, "key-c1", "opaque", { retryOf: original });
    return {
      story: story.flush(),
      deaths: [3],
      reports: { c1: { class: "outcome_unknown", verdict: "retry", by: "person" }, c2: { class: "outcome_unknown" } },
      repair: (s) => {
        s.closer("c2", "TOOL_OUTCOME_UNKNOWN", callSeq);
        s.closeTurn();
      },
    };
  },
  "exec/R20 a torn end without a whole record": () => ({
    story: dispatched(),
    flushed: 1,
    torn: 20,
    reports: {},
    repair: (s) => s.closeTurn(),
  }),
  "a timeout of a tool with effects is an unknown": () => {
    const story = dispatched();
    story.result("c1", callSeqOf(story, "c1"), { name: "ToolTimeoutError", code: "TOOL_TIMEOUT" }, "Error: timed out");
    return { story: story.flush().endStep().end(), effects: [{ callId: "c1", acceptedAtStep: 500 }], reports: unknown };
  },
  "a body of a tool without effects": () => ({
    story: dispatched("none"),
    reports: unknown,
    repair: unknownCloser,
  }),
  "exec/I04 the effect came before the acknowledgement": () => ({
    story: dispatched(),
    effects: [{ callId: "c1", acceptedAtStep: STEP.effect(1) }],
    reports: unknown,
    repair: unknownCloser,
  }),
};

function closeNotStarted(s: Story): void {
  s.closer("c1", "TOOL_NOT_STARTED");
  s.closeTurn();
}
