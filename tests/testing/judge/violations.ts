/**
 * Traces that break one promise each, made of lawful ones, with who must find them.
 *
 * @module
 */
import type { CallSteps, CheckerName, LabTrace } from "../../../src/testing/judge/mod.ts";
import { callSeqOf, dispatched, opened, paid, SCENARIOS, unknownBefore } from "./scenarios.ts";
import {
  answer,
  bytesOf,
  type CrashPlan,
  encode,
  frameOf,
  joined,
  LOG,
  messagesOf,
  own,
  STEP,
  Story,
  traceOf,
  withFile,
} from "./story.ts";

/** One broken promise. */
export interface Broken {
  /** The checkers that find it: one, or also those that cannot but see the same. */
  readonly by: readonly CheckerName[];
  /** Part of the first message. */
  readonly says: string;
  readonly trace: () => LabTrace;
}

const pay = { id: "c1" };
const unknown = { c1: { class: "outcome_unknown" } } as const;
const done = { c1: { class: "done" } } as const;
const FOLDER = LOG.slice(0, LOG.lastIndexOf("/"));

function scenario(name: string): CrashPlan {
  return Object.entries(SCENARIOS).find(([key]) => key.startsWith(name))![1]();
}

function unknownCloser(s: Story): void {
  s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(s, "c1"));
  s.closeTurn();
}

/** A lawful trace: the call is dispatched and nothing more; its effect may be there. */
function left(more: Partial<CrashPlan> = {}): LabTrace {
  return traceOf({ story: dispatched(), reports: unknown, repair: unknownCloser, ...more });
}

function withSteps(trace: LabTrace, steps: Partial<CallSteps>): LabTrace {
  return { ...trace, calls: trace.calls.map((call) => ({ ...call, ...steps })) };
}

/** A call whose question is open. */
function asked(): CrashPlan {
  return scenario("exec/C22");
}

/** A question, the answer it got, and the marker all the same. */
function askedAndDispatched(outcome: string): LabTrace {
  const story = opened().propose(pay);
  const callSeq = story.call(pay);
  story.ask("q1", "c1", callSeq, outcome).flush();
  story.marker("c1", callSeq);
  return traceOf({ story: story.flush(), repair: unknownCloser, reports: unknown });
}

/** What a resume listed as unknown. */
function listed(callSeqs: readonly number[]): LabTrace["unresolved"] {
  return [{ by: "the resume", callSeqs }];
}

/** A call that was left unknown and answered so, and then got a verdict. */
function judgedLater(verdict: "happened" | "undecidable"): LabTrace {
  return traceOf({
    ...{ story: unknownBefore(), deaths: [3], effects: [{ callId: "c1" }] },
    reports: { c1: { class: "outcome_unknown", verdict } },
    repair: (s) => {
      s.verdict("c1", callSeqOf(s, "c1"), verdict);
      if (verdict === "happened") s.notice("it happened");
      s.closeTurn();
    },
  });
}

const durableIntent: Readonly<Record<string, Broken>> = {
  "an effect before the flush of its marker had ended": {
    by: ["durable-intent"],
    says: "ended only at step 12",
    trace: () => left({ effects: [{ callId: "c1", acceptedAtStep: STEP.started(1) }] }),
  },
  "an effect under a key that no marker holds": {
    by: ["durable-intent"],
    says: "no durable effect/dispatched holds this key",
    trace: () => left({ effects: [{ callId: "c1", effectKey: "another" }] }),
  },
  "an effect with other arguments than were recorded": {
    by: ["durable-intent"],
    says: "its tool/call, seq 5, has",
    trace: () => left({ effects: [{ callId: "c1", arguments: '{"to":"c9"}' }] }),
  },
  "an effect of a call that no event names": {
    by: ["durable-intent"],
    says: 'of call "ghost"',
    trace: () => left({ effects: [{ callId: "ghost" }] }),
  },
  "an effect under the key of another call": {
    by: ["durable-intent"],
    says: "for this call",
    trace: () => left({ effects: [{ callId: "c2", effectKey: "key-c1" }] }),
  },
  "a body that began before its marker was durable": {
    by: ["durable-intent"],
    says: 'the body of call "c1"',
    trace: () => withSteps(left(), { bodyStartedAtStep: STEP.started(1) }),
  },
  "an effect, and a flush of its marker that never ended": {
    by: ["durable-intent"],
    says: "had not ended at all",
    trace: () => ({ ...traceOf({ ...scenario("exec/C24"), effects: [{ callId: "c1" }] }) }),
  },
  "a marker that fits no recorded call": {
    by: ["durable-intent"],
    says: "fits no recorded call",
    trace: () => {
      const story = opened().propose(pay);
      const callSeq = story.call(pay);
      story.marker("c1", callSeq + 7);
      const repair = (s: Story) => {
        s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeq);
        s.closeTurn();
      };
      return { ...traceOf({ story: story.flush(), repair, reports: unknown }), calls: [] };
    },
  },
  "a call that a person rejected is dispatched": {
    by: ["durable-intent"],
    says: "is rejected",
    trace: () => askedAndDispatched("rejected"),
  },
  "a call whose question nobody answered is dispatched": {
    by: ["durable-intent"],
    says: "is cancelled",
    trace: () => askedAndDispatched("cancelled"),
  },
};

const noFalseClass: Readonly<Record<string, Broken>> = {
  "a call that failed by its result, and took effect": {
    by: ["no-false-class"],
    says: "has failed by its result",
    trace: () => {
      const story = dispatched();
      story.result("c1", callSeqOf(story, "c1"), { name: "Error", code: "NO_MONEY" });
      const trace = traceOf({
        story: story.flush().endStep().end(),
        reports: { c1: { class: "done" } },
        effects: [{ callId: "c1" }],
      });
      return { ...trace, ledgerTools: ["pay"] };
    },
  },
  "an effect that nothing settles is not listed as unknown": {
    by: ["no-false-class"],
    says: "TOOL_OUTCOME_UNKNOWN answers it, and the resume does not list it as unknown",
    trace: () => ({ ...left(), unresolved: listed([]) }),
  },
  "nothing is said about a call that waited": {
    by: ["no-false-class"],
    says: "nothing was said about call",
    trace: () => ({ ...left({ reports: {} }), unresolved: listed([5]) }),
  },
  "an undecidable verdict settles": {
    by: ["no-false-class"],
    says: "the resume does not list it as unknown",
    trace: () => ({ ...judgedLater("undecidable"), unresolved: listed([]) }),
  },
  "an effect that a lookup settled is listed as unknown": {
    by: ["no-false-class"],
    says: "says happened",
    trace: () => ({ ...judgedLater("happened"), unresolved: listed([5]) }),
  },
  "a call that is done is listed as unknown": {
    by: ["no-false-class"],
    says: "answers it with a success",
    trace: () => ({
      ...traceOf({ story: paid(), effects: [{ callId: "c1" }], reports: done }),
      unresolved: listed([5]),
    }),
  },
  "a repetition with an answer leaves the first try unknown": {
    by: ["no-false-class"],
    says: "settled by call",
    trace: () => ({ ...again("keyed", "key-c1", { retryOf: 5 }), unresolved: listed([5]) }),
  },
  "an unknown is listed twice": {
    by: ["no-false-class"],
    says: "lists a call twice",
    trace: () => ({ ...left(), unresolved: listed([5, 5]) }),
  },
  "not dispatched was said of a call with a marker": {
    by: ["no-false-class"],
    says: "was said to be not_dispatched, and it is outcome_unknown: its marker is seq 6",
    trace: () => left({ reports: { c1: { class: "not_dispatched" } } }),
  },
  "not dispatched was said of a call that took effect": {
    by: ["no-false-class"],
    says: "not_dispatched",
    trace: () => left({ reports: { c1: { class: "not_dispatched" } }, effects: [{ callId: "c1" }] }),
  },
  "done was said of a call without a result": {
    by: ["no-false-class"],
    says: "was said to be done",
    trace: () => left({ reports: { c1: { class: "done" } } }),
  },
  "unknown was said of a call that nothing recorded": {
    by: ["no-false-class"],
    says: "seq 4 proposes it",
    trace: () => traceOf({ ...scenario("exec/R04"), reports: unknown }),
  },
  "not started was said of a call that is recorded": {
    by: ["no-false-class"],
    says: "no marker follows",
    trace: () => traceOf({ ...asked(), reports: { c1: { class: "not_started" } } }),
  },
  "not dispatched was said where no marker was promised": {
    by: ["no-false-class"],
    says: "no checkpoint/policy",
    trace: () => traceOf({ ...scenario("exec/R11"), reports: { c1: { class: "not_dispatched" } } }),
  },
  "not started was said of a call that no event names": {
    by: ["no-false-class"],
    says: "no durable event names it",
    trace: () => left({ reports: { ...unknown, c9: { class: "not_started" } } }),
  },
  "a seq was named as evidence that is about something else": {
    by: ["no-false-class"],
    says: "because of seq 3, which is a user/message",
    trace: () => left({ reports: { c1: { class: "outcome_unknown", evidenceSeq: 3 } } }),
  },
  "a closer says not started of a call with a marker": {
    by: ["no-false-class"],
    says: "TOOL_NOT_STARTED, and it is outcome_unknown",
    trace: () =>
      left({
        repair: (s) => {
          s.closer("c1", "TOOL_NOT_STARTED", callSeqOf(s, "c1"));
          s.closeTurn();
        },
      }),
  },
  "a closer says unknown of a call that waits for a person": {
    by: ["no-false-class"],
    says: "TOOL_OUTCOME_UNKNOWN, and it is not_dispatched",
    trace: () =>
      traceOf({
        ...asked(),
        repair: (s) => {
          s.close("approval/decided", { id: "q1", outcome: "cancelled" });
          unknownCloser(s);
        },
      }),
  },
  "a closer cites no call": {
    by: ["no-false-class"],
    says: 'cites "nothing"',
    trace: () =>
      left({
        repair: (s) => {
          s.closer("c1", "TOOL_OUTCOME_UNKNOWN");
          s.closeTurn();
        },
      }),
  },
  "the text of not started is another": {
    by: ["no-false-class"],
    says: "not the constant of the format",
    trace: () =>
      traceOf({
        ...scenario("exec/R04"),
        repair: (s) => {
          s.closer("c1", "TOOL_NOT_STARTED");
          const { data } = s.rows.at(-1)! as unknown as {
            data: { message: { content: { content: { text: string }[] }[] } };
          };
          data.message.content[0]!.content[0]!.text = "Try again.";
          s.closeTurn();
        },
      }),
  },
  "a success, and the world let nothing happen": {
    by: ["no-false-class"],
    says: "the world let nothing happen under its key key-c1",
    trace: () => traceOf({ story: paid(), reports: { c1: { class: "done" } } }),
  },
  "a success, and the world let it happen only after the crash": {
    by: ["no-false-class"],
    says: "up to the crash",
    trace: () => traceOf({ story: paid(), effects: [{ callId: "c1", acceptedAtStep: 500 }] }),
  },
};

function settledAs(
  verdict: string,
  close: (s: Story, callSeq: number) => void,
  more: Partial<CrashPlan> = {},
): LabTrace {
  return left({
    reports: { c1: { class: "outcome_unknown", verdict: verdict as "happened" } },
    repair: (s) => {
      const callSeq = callSeqOf(s, "c1");
      s.verdict("c1", callSeq, verdict);
      close(s, callSeq);
      s.closeTurn();
    },
    ...more,
  });
}

const closeAbsent = (s: Story, callSeq: number) => void s.closer("c1", "TOOL_NOT_STARTED", callSeq);
const closeHappened = (s: Story, callSeq: number) => void s.settled("c1", callSeq);
const closeUnknown = (s: Story, callSeq: number) => void s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeq);

const noFalseVerdict: Readonly<Record<string, Broken>> = {
  "absent, and the request lands later": {
    by: ["no-false-verdict"],
    says: "says absent of call",
    trace: () => settledAs("absent", closeAbsent, { effects: [{ callId: "c1", acceptedAtStep: 500 }] }),
  },
  "absent, and it had happened": {
    by: ["no-false-verdict"],
    says: "the world let it happen all the same",
    trace: () => settledAs("absent", closeAbsent, { effects: [{ callId: "c1" }] }),
  },
  "happened, and nothing did": {
    by: ["no-false-verdict"],
    says: "the world let nothing happen under key key-c1",
    trace: () => settledAs("happened", closeHappened),
  },
  "happened was said before it did": {
    by: ["no-false-verdict"],
    says: "it was said at step 40, before it happened",
    trace: () =>
      settledAs("happened", closeHappened, {
        effects: [{ callId: "c1", acceptedAtStep: 500 }],
        reports: { c1: { class: "outcome_unknown", verdict: "happened", saidAtStep: 40 } },
      }),
  },
  "a final verdict is followed by another": {
    by: ["no-false-verdict"],
    says: "was settled as happened at seq",
    trace: () =>
      settledAs("happened", (s, callSeq) => {
        s.verdict("c1", callSeq, "undecidable");
        closeHappened(s, callSeq);
      }, { effects: [{ callId: "c1" }] }),
  },
  "a verdict holds another key": {
    by: ["no-false-verdict"],
    says: "by key other",
    trace: () =>
      left({
        repair: (s) => {
          s.verdict("c1", callSeqOf(s, "c1"), "undecidable", "lookup", "other");
          unknownCloser(s);
        },
      }),
  },
  "a verdict about a call that was never dispatched": {
    by: ["no-false-verdict"],
    says: "which no marker says was dispatched",
    trace: () =>
      traceOf({
        ...asked(),
        repair: (s) => {
          s.verdict("c1", callSeqOf(s, "c1"), "undecidable");
          asked().repair!(s);
        },
      }),
  },
  "another verdict was said than is logged": {
    by: ["no-false-verdict"],
    says: "was said to be happened, and seq 7 says undecidable",
    trace: () =>
      settledAs("undecidable", closeUnknown, {
        effects: [{ callId: "c1" }],
        reports: { c1: { class: "outcome_unknown", verdict: "happened" } },
      }),
  },
  "a verdict was said that is not logged": {
    by: ["no-false-verdict"],
    says: "no durable verdict is about it",
    trace: () =>
      left({ effects: [{ callId: "c1" }], reports: { c1: { class: "outcome_unknown", verdict: "happened" } } }),
  },
  "happened, and the model reads that it is unknown": {
    by: ["no-false-verdict"],
    says: "settled it as happened",
    trace: () => settledAs("happened", closeUnknown, { effects: [{ callId: "c1" }] }),
  },
  "undecidable, and the model reads that it was not started": {
    by: ["no-false-class"],
    says: "TOOL_NOT_STARTED, and it is outcome_unknown",
    trace: () => settledAs("undecidable", closeAbsent),
  },
};

const unknownWindow: Readonly<Record<string, Broken>> = {
  "unknown before the flush of the marker began": {
    by: ["unknown-window"],
    says: "the flush of its marker began only at step",
    trace: () => {
      const trace = traceOf(scenario("exec/C24"));
      return withSteps(trace, { markerFlushStartedAtStep: trace.crashedAtStep + 5 });
    },
  },
  "unknown, and nobody flushed its marker": {
    by: ["unknown-window"],
    says: "the flush of its marker had not begun",
    trace: () => ({ ...left(), calls: [] }),
  },
  "unknown after the flush of the result had ended": {
    by: ["unknown-window"],
    says: "the flush of its result had ended at step 15",
    trace: () => withSteps(left(), { resultFlushStartedAtStep: 14, resultFlushEndedAtStep: 15 }),
  },
  "not dispatched after the flush of the marker had ended": {
    by: ["unknown-window"],
    says: "so its body may have run",
    trace: () => {
      const plan = asked();
      const callSeq = callSeqOf(plan.story, "c1");
      const steps = { callId: "c1", callSeq, incarnation: 0, markerFlushStartedAtStep: 11, markerFlushEndedAtStep: 12 };
      return { ...traceOf(plan), calls: [steps] };
    },
  },
};

/** A whole log, and behind it what no frame or row begins with. */
function damaged(more: Partial<LabTrace> = {}): LabTrace {
  const trace = traceOf({ story: paid(), effects: [{ callId: "c1" }], compression: "zstd" });
  const image = withFile(trace.image, trace.log, joined([trace.image.get(trace.log)!, new Uint8Array(8)]));
  return { ...trace, image, recovered: image, recoveredAgain: [], liveness: { refused: "CORRUPT_FRAME" }, ...more };
}

const kept: Readonly<Record<string, Broken>> = {
  "an acknowledged event did not reach the medium": {
    by: ["acknowledged-kept"],
    says: "seq 7 (tool/result) was acknowledged",
    trace: () => ({ ...traceOf(scenario("exec/C18")), acknowledgedThroughSeq: 7 }),
  },
  "the log is gone": {
    by: ["acknowledged-kept"],
    says: "the log is not there",
    trace: () => ({
      ...traceOf({ story: paid() }),
      ...{
        image: new Map(),
        recovered: undefined,
        recoveredAgain: [],
        requests: [],
        liveness: { refused: "NOT_FOUND" },
      },
    }),
  },
  "an acknowledged event lies in a damaged frame": {
    by: ["acknowledged-kept"],
    says: "events before its damage",
    trace: () => {
      const { log, image, ...trace } = damaged();
      const bytes = image.get(log)!.slice(0, -8);
      bytes[bytes.length - 8]! ^= 1;
      return { ...trace, log, image: withFile(image, log, bytes), recovered: withFile(image, log, bytes) };
    },
  },
  "an acknowledged event is another one": {
    by: ["acknowledged-kept", "nothing-invented"],
    says: "and after the crash it is",
    trace: () => {
      const trace = left();
      const appended = trace.appended.map((batch) => ({
        ...batch,
        rows: batch.rows.map((row) => (row as { seq: number }).seq === 3 ? { ...row as object, time: 7 } : row),
      }));
      return { ...trace, appended };
    },
  },
  "an acknowledged event is gone after the recovery": {
    by: ["acknowledged-kept", "bytes-equal"],
    says: "after the recovery the log holds 2 events",
    trace: () => {
      const trace = traceOf({ story: paid(), effects: [{ callId: "c1" }] });
      const short = new Story().policy();
      short.rows.push(paid().rows[1]!);
      const files = withFile(trace.recovered!, LOG, bytesOf(short.flush(), "none"));
      return { ...trace, recovered: files, recoveredAgain: [] };
    },
  },
  "what salvage made lacks an acknowledged event": {
    by: ["acknowledged-kept"],
    says: "in the salvaged copy",
    trace: () => {
      const story = new Story("s2").policy().flush();
      return damaged({ salvaged: { log: LOG, files: new Map([[LOG, bytesOf(story, "none")]]), wentOn: true } });
    },
  },
  "what was acknowledged is handed over again": {
    by: ["acknowledged-kept"],
    says: "handed over seq 4 once more",
    trace: () => {
      const trace = left();
      const appended = trace.appended.map((batch, index) =>
        index === 1 ? { ...batch, acknowledgedThroughSeq: 4 } : batch
      );
      return { ...trace, appended };
    },
  },
  "events that nobody appended": {
    by: ["nothing-invented"],
    says: "only 4 events were appended",
    trace: () => {
      const trace = traceOf(scenario("exec/C24"));
      return { ...trace, appended: trace.appended.slice(0, 1) };
    },
  },
  "an event that was appended otherwise": {
    by: ["nothing-invented"],
    says: "and appended was",
    trace: () => {
      const trace = traceOf(scenario("exec/C24"));
      const [first, second] = trace.appended;
      const rows = second!.rows.map((row) => ({ ...row as object, time: 1 }));
      return { ...trace, appended: [first!, { ...second!, rows }] };
    },
  },
  "the recovery adds an event of its own": {
    by: ["nothing-invented"],
    says: "which nothing asks for",
    trace: () => left({ repair: (s) => (unknownCloser(s), void s.close("todo/write", { todos: [] })) }),
  },
  "a lookup's verdict is recorded as a person's": {
    by: ["nothing-invented"],
    says: "is a verdict by person",
    trace: () =>
      left({
        reports: { c1: { class: "outcome_unknown", verdict: "happened", by: "person" } },
        repair: (s) => {
          const callSeq = callSeqOf(s, "c1");
          s.verdict("c1", callSeq, "happened", "person");
          s.settled("c1", callSeq);
          s.closeTurn();
        },
      }),
  },
  "the recovery begins two lifecycles": {
    by: ["nothing-invented"],
    says: "session/end-seed",
    trace: () => {
      const story = new Story().policy().flush();
      return traceOf({ story, repair: (s) => void s.endSeed().add("session/end-seed", {}) });
    },
  },
  "the recovery closes a turn that is closed": {
    by: ["nothing-invented"],
    says: "turn/end",
    trace: () =>
      traceOf({
        ...{ story: paid(), effects: [{ callId: "c1" }] },
        repair: (s) => void s.close("turn/end", { turn: 1, reason: { kind: "interrupted" } }),
      }),
  },
  "the recovery allows what nobody allowed": {
    by: ["nothing-invented"],
    says: "as allowed-once, and nobody did",
    trace: () =>
      traceOf({
        ...asked(),
        repair: (s) => {
          s.close("approval/decided", { id: "q1", outcome: "allowed-once" });
          s.closer("c1", "TOOL_NOT_STARTED", callSeqOf(s, "c1"));
          s.closeTurn();
        },
      }),
  },
  "the recovery answers a question that is answered": {
    by: ["nothing-invented"],
    says: "which is not open",
    trace: () =>
      traceOf({
        ...scenario("exec/A21"),
        repair: (s) => {
          s.close("approval/decided", { id: "q1", outcome: "cancelled" });
          s.closer("c1", "TOOL_NOT_STARTED", callSeqOf(s, "c1"));
          s.closeTurn();
        },
      }),
  },
  "a lookup is logged about a call that is done": {
    by: ["nothing-invented"],
    says: "which is done",
    trace: () =>
      traceOf({
        ...scenario("exec/R06"),
        repair: (s) => {
          s.verdict("c1", callSeqOf(s, "c1"), "undecidable");
          s.closeTurn();
        },
      }),
  },
  "a notice tells of a verdict that nobody gave": {
    by: ["nothing-invented"],
    says: "tells of a verdict, and there is none",
    trace: () =>
      traceOf({ story: unknownBefore(), deaths: [3], repair: (s) => (s.notice("c1 happened"), void s.closeTurn()) }),
  },
  "a session comes from nowhere": {
    by: ["nothing-invented"],
    says: "there was no log after the crash",
    trace: () => ({
      ...traceOf({ story: new Story(), flushed: 0 }),
      ...{ image: new Map(), recovered: traceOf({ story: paid() }).recovered, recoveredAgain: [], requests: [] },
    }),
  },
};

/** A whole log with a torn end, and nothing else to repair. */
function tornEnd(torn: number, compression: "none" | "zstd" = "none"): LabTrace {
  const story = paid();
  const flushed = story.flushes.length;
  story.begin("again");
  return traceOf({ story, flushed, torn, compression, effects: [{ callId: "c1" }] });
}

const bytes: Readonly<Record<string, Broken>> = {
  "a torn end was cut, and no copy kept": {
    by: ["bytes-equal"],
    says: "the torn end of 20 bytes",
    trace: () => {
      const trace = tornEnd(20);
      const recovered = new Map([...trace.recovered!].filter(([name]) => !name.includes(".torn-")));
      return { ...trace, recovered };
    },
  },
  "the copy of a torn end holds something else": {
    by: ["bytes-equal"],
    says: "holds a copy of it",
    trace: () => {
      const trace = tornEnd(20);
      const copy = [...trace.recovered!.keys()].find((name) => name.includes(".torn-"))!;
      return { ...trace, recovered: withFile(trace.recovered!, copy, encode([1], "zstd")) };
    },
  },
  "a torn end was left": {
    by: ["bytes-equal"],
    says: "left 20 torn bytes",
    trace: () => {
      const trace = tornEnd(20);
      return { ...trace, recovered: trace.image, recoveredAgain: [] };
    },
  },
  "a record of a torn frame that could be read is gone": {
    by: ["bytes-equal"],
    says: "in the torn end, and after the recovery it is gone",
    trace: () => {
      const story = paid();
      const flushed = story.flushes.length;
      const torn = encode(story.begin().rows.slice(story.flushes[flushed - 1]), "zstd").length - 2;
      const repair = (s: Story) => void s.closeTurn();
      const trace = traceOf({ story, flushed, torn, compression: "zstd", effects: [{ callId: "c1" }], repair });
      const files = new Map([[trace.log, trace.image.get(trace.log)!.slice(0, -torn)]]);
      return { ...trace, recovered: files, requests: [], recoveredAgain: [] };
    },
  },
  "whole frames were written anew": {
    by: ["bytes-equal"],
    says: "the recovery changed the byte at",
    trace: () => {
      const { story, ...plan } = scenario("exec/C06");
      const trace = traceOf({ story, ...plan, compression: "zstd" });
      const one = story.copy();
      one.flushes.length = 0;
      const now = traceOf({ story: one.flush(), ...plan, compression: "zstd" }).recovered!;
      return { ...trace, recovered: now, recoveredAgain: [] };
    },
  },
  "an older generation was removed": {
    by: ["bytes-equal"],
    says: `removed "${FOLDER}/session.v2.jsonl"`,
    trace: () => {
      const trace = left();
      return { ...trace, image: withFile(trace.image, `${FOLDER}/session.v2.jsonl`, new Uint8Array(3)) };
    },
  },
  "another session was changed": {
    by: ["bytes-equal"],
    says: 'changed "--root--/s2/session.v3.jsonl"',
    trace: () => {
      const trace = left();
      const name = "--root--/s2/session.v3.jsonl";
      return {
        ...trace,
        image: withFile(trace.image, name, new Uint8Array(3)),
        recovered: withFile(trace.recovered!, name, new Uint8Array(4)),
      };
    },
  },
  "a refused log was changed": {
    by: ["bytes-equal"],
    says: "its opening was refused",
    trace: () => {
      const trace = damaged();
      return { ...trace, recovered: withFile(trace.image, trace.log, trace.image.get(trace.log)!.slice(0, -8)) };
    },
  },
  "a damaged log was cut and gone on with": {
    by: ["bytes-equal", "liveness"],
    says: "it is damaged (no frame begins at",
    trace: () => {
      const trace = damaged();
      return {
        ...trace,
        recovered: withFile(trace.image, trace.log, trace.image.get(trace.log)!.slice(0, -8)),
        liveness: "went-on",
      };
    },
  },
};

const idempotent: Readonly<Record<string, Broken>> = {
  "opening again adds an event": {
    by: ["repair-idempotent"],
    says: "opened again: opening a recovered log added",
    trace: () => {
      const trace = left();
      const more = encode([{ type: "session/end-seed", seq: 11, time: 1, data: {} }], "none");
      const files = withFile(trace.recovered!, LOG, joined([trace.recovered!.get(LOG)!, more]));
      return { ...trace, recoveredAgain: [{ kind: "reopened", how: "opened again", files }] };
    },
  },
  "opening again is refused": {
    by: ["repair-idempotent"],
    says: "the opening was refused",
    trace: () => ({ ...left(), recoveredAgain: [{ kind: "reopened", how: "opened again", files: null }] }),
  },
  "a crash inside of the recovery leaves a closer out": {
    by: ["repair-idempotent"],
    says: "crash at 1: the recovery added",
    trace: () => ({
      ...left(),
      recoveredAgain: [{
        kind: "crashed",
        how: "crash at 1",
        files: left({ repair: (s) => s.closeTurn() }).recovered!,
      }],
    }),
  },
  "a crash inside of the recovery changes a class": {
    by: ["repair-idempotent"],
    says: "TOOL_NOT_STARTED",
    trace: () => ({
      ...left(),
      recoveredAgain: [{
        ...{ kind: "crashed", how: "crash at 1" },
        files: left({
          repair: (s) => {
            s.closer("c1", "TOOL_NOT_STARTED", callSeqOf(s, "c1"));
            s.closeTurn();
          },
        }).recovered!,
      }],
    }),
  },
  "a crash inside of the recovery loses an event": {
    by: ["repair-idempotent"],
    says: "could be read after the crash, and now it is nothing",
    trace: () => ({
      ...left(),
      recoveredAgain: [{
        kind: "crashed",
        how: "crash at 1",
        files: new Map([[LOG, bytesOf(new Story().policy().flush(), "none")]]),
      }],
    }),
  },
  "a closer has the time of now": {
    by: ["repair-idempotent"],
    says: "(step/end) has the time",
    trace: () =>
      left({
        repair: (s) => {
          s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(s, "c1"));
          s.setTime(9_999);
          s.add("step/end", { turn: 1, step: 1 });
          s.close("turn/end", { turn: 1, reason: { kind: "interrupted" } });
        },
      }),
  },
  "a closer has an id by chance": {
    by: ["repair-idempotent"],
    says: 'under the id "x"',
    trace: () =>
      left({
        repair: (s) => {
          s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(s, "c1"));
          (s.rows.at(-1)!.data.message as { id: string }).id = "x";
          s.closeTurn();
        },
      }),
  },
};

/** A request of a log in which one call was answered, changed. */
function requested(change: (messages: unknown[]) => unknown[]): LabTrace {
  return traceOf({ story: paid(), effects: [{ callId: "c1" }], project: change });
}

const transcript: Readonly<Record<string, Broken>> = {
  "the turn is left open": {
    by: ["well-formed-transcript"],
    says: "stays open",
    trace: () => ({ ...traceOf({ story: opened(), hasEndSeed: false }) }),
  },
  "a call is left without an answer": {
    by: ["well-formed-transcript"],
    says: "waits for its answer in turn 1",
    trace: () => left({ repair: (s) => s.closeTurn() }),
  },
  "answers come in another order than their calls": {
    by: ["well-formed-transcript"],
    says: "waits for its answer",
    trace: () =>
      traceOf({
        ...scenario("exec/R15 R21"),
        repair: (s) => {
          s.closer("c2", "TOOL_NOT_STARTED");
          s.closer("c1", "TOOL_OUTCOME_UNKNOWN", callSeqOf(s, "c1"));
          s.closer("c3", "TOOL_NOT_STARTED", callSeqOf(s, "c3"));
          s.closeTurn();
        },
      }),
  },
  "a call has two answers in the log": {
    by: ["well-formed-transcript"],
    says: "is answered 2 times",
    trace: () => {
      const story = dispatched();
      const callSeq = callSeqOf(story, "c1");
      story.result("c1", callSeq);
      story.result("c1", callSeq);
      return traceOf({ story: story.flush().endStep().end(), effects: [{ callId: "c1" }] });
    },
  },
  "a question stays open": {
    by: ["well-formed-transcript"],
    says: 'question "q1" (seq 6) is open before the answer',
    trace: () =>
      traceOf({
        ...asked(),
        repair: (s) => {
          s.closer("c1", "TOOL_NOT_STARTED", callSeqOf(s, "c1"));
          s.closeTurn();
        },
      }),
  },
  "a request leaves a call unanswered": {
    by: ["well-formed-transcript"],
    says: 'call "c1" of message 1 has no answer',
    trace: () => requested((messages) => messages.toSpliced(2, 1)),
  },
  "a request ends with a call": {
    by: ["well-formed-transcript"],
    says: 'it ends, and call "c1"',
    trace: () => requested((messages) => messages.slice(0, 2)),
  },
  "a request answers a call twice": {
    by: ["well-formed-transcript"],
    says: 'answers call "c1" again',
    trace: () => requested((messages) => messages.toSpliced(3, 0, messages[2])),
  },
  "a request answers a call that nobody made": {
    by: ["well-formed-transcript"],
    says: "which no message before it makes",
    trace: () => requested((messages) => [...messages, answer("x", "c7", false, "")]),
  },
  "a request answers in another order": {
    by: ["well-formed-transcript"],
    says: 'answers call "c2", and "c1" of message 1 is due',
    trace: () =>
      traceOf({ ...scenario("exec/C16"), project: ([user, call, first, second]) => [user, call, second, first] }),
  },
  "the next request does not tell what was closed": {
    by: ["well-formed-transcript"],
    says: "and the next request does not tell it",
    trace: () => left({ project: ([user]) => [user] }),
  },
  "the next request tells an error as a success": {
    by: ["well-formed-transcript"],
    says: "tells it as a success",
    trace: () => left({ project: (messages) => messages.with(2, answer("x", "c1", false, "fine")) }),
  },
  "what a lookup settled late is not told": {
    by: ["well-formed-transcript"],
    says: "and no notice tells the model",
    trace: () =>
      traceOf({
        ...scenario("exec/R16 an unknown of before"),
        repair: (s) => {
          s.verdict("c1", callSeqOf(s, "c1"), "happened");
          s.closeTurn();
        },
      }),
  },
};

const writers: Readonly<Record<string, Broken>> = {
  "two hold the lock": {
    by: ["single-writer"],
    says: "p0 held the lock from step 0 to 40, and p1 held it from step 30 on",
    trace: () => withWriters([0, 40, 5], [30, null, 45]),
  },
  "the first never let go": {
    by: ["single-writer"],
    says: "from step 0 on",
    trace: () => withWriters([0, null, 5], [30, null, 45]),
  },
  "one wrote before it held the lock": {
    by: ["single-writer"],
    says: "p1 wrote at step 3 and held the lock from step 30 on; p0 held it then",
    trace: () => withWriters([0, 20, 5], [30, null, 3]),
  },
  "one wrote after it had lost the lock": {
    by: ["single-writer"],
    says: "p0 wrote at step 25 and held the lock from step 0 to 20",
    trace: () => withWriters([0, 20, 25], [30, null, 31]),
  },
};

function withWriters(...of: (readonly [number, number | null, number])[]): LabTrace {
  const intervals = of.map(([heldFromStep, heldToStep, wrote], index) => {
    return { process: `p${index}`, heldFromStep, heldToStep, wroteAtSteps: [wrote] };
  });
  return { ...left(), writers: intervals };
}

/** A second call that equals an unknown one of before. */
function again(effect: string, key: string, more: Record<string, unknown>): LabTrace {
  const story = unknownBefore(effect).propose({ id: "c2", arguments: '{"to":"c1"}' });
  const callSeq = story.call({ id: "c2", arguments: '{"to":"c1"}' });
  story.marker("c2", callSeq, key, effect, more);
  story.flush();
  story.result("c2", callSeq);
  return traceOf({ story: story.flush().endStep().end(), deaths: [3], effects: [{ callId: "c2", effectKey: key }] });
}

/** A call whose outcome is unknown took effect after all, and after the crash another call repeated it, so often. */
export function repeated(
  ...repetitions: { readonly isGranted: boolean; readonly acceptedAtStep?: number }[]
): LabTrace {
  const trace = left({ effects: [{ callId: "c1", isGranted: true }] });
  const repetition = { ...trace.effects[0]!, callId: "c2", incarnation: 1, acceptedAtStep: 400 };
  return { ...trace, effects: [...trace.effects, ...repetitions.map((more) => ({ ...repetition, ...more }))] };
}

const duplicates: Readonly<Record<string, Broken>> = {
  "one key takes effect twice": {
    by: ["no-duplicate-effect"],
    says: "key key-c1 took effect twice",
    trace: () => left({ effects: [{ callId: "c1" }, { callId: "c1", acceptedAtStep: 400 }] }),
  },
  "an opaque effect is repeated, and nobody allowed this call": {
    by: ["no-duplicate-effect"],
    says: "key key-c1 took effect twice",
    trace: () => repeated({ isGranted: false }),
  },
  "what a person allowed once takes effect twice": {
    by: ["no-duplicate-effect"],
    says: "key key-c1 took effect twice",
    trace: () => repeated({ isGranted: true }, { isGranted: true, acceptedAtStep: 500 }),
  },
  "a body runs twice": {
    by: ["no-duplicate-effect"],
    says: "ran the body",
    trace: () => withSteps(left(), { bodyStarts: 2 }),
  },
  "one key of a keyed tool takes effect twice": {
    by: ["no-duplicate-effect"],
    says: "took effect twice",
    trace: () =>
      left({ story: dispatched("keyed"), effects: [{ callId: "c1" }, { callId: "c1", acceptedAtStep: 400 }] }),
  },
  "a call from before the crash is run again": {
    by: ["no-duplicate-effect"],
    says: "was run again after it",
    trace: () => left({ effects: [{ callId: "c1", incarnation: 1, acceptedAtStep: 400 }] }),
  },
  "an equal call gets a key of its own": {
    by: ["no-duplicate-effect"],
    says: "which is unresolved, and its marker, seq",
    trace: () => again("keyed", "key-c2", {}),
  },
  "an equal call of an opaque tool runs, and nobody allowed it": {
    by: ["no-duplicate-effect"],
    says: "it is opaque, and nobody allowed it",
    trace: () => again("opaque", "key-c1", { retryOf: 5 }),
  },
  "a retry names a call that was never dispatched": {
    by: ["no-duplicate-effect"],
    says: "tries seq 2 again under key key-c1, which was never dispatched",
    trace: () => again("keyed", "key-c1", { retryOf: 2 }),
  },
  "a retry has another key": {
    by: ["no-duplicate-effect"],
    says: "which was dispatched under key-c1",
    trace: () => again("keyed", "key-c2", { retryOf: 5 }),
  },
  "two calls have one key": {
    by: ["no-duplicate-effect"],
    says: "names no retryOf",
    trace: () => again("keyed", "key-c1", {}),
  },
  "a call has two markers": {
    by: ["no-duplicate-effect"],
    says: "has two markers: seq 6 and seq 7",
    trace: () => {
      const story = dispatched();
      story.marker("c1", callSeqOf(story, "c1"), "key-2");
      return left({ story: story.flush() });
    },
  },
};

const liveness: Readonly<Record<string, Broken>> = {
  "the session is stuck": {
    by: ["liveness"],
    says: "neither went on nor was refused",
    trace: () => ({ ...left(), liveness: "stuck" }),
  },
  "a whole log is refused": {
    by: ["liveness"],
    says: "refused as LOCK_HELD, and the log is whole",
    trace: () => refused(left(), "LOCK_HELD"),
  },
  "a torn log is refused": {
    by: ["liveness"],
    says: "refused as CORRUPT_LOG, and the log is whole: 13 events, 20 torn bytes",
    trace: () => refused(tornEnd(20), "CORRUPT_LOG"),
  },
  "a damaged log is refused for another reason": {
    by: ["liveness"],
    says: "the session was refused as STORAGE_LOST",
    trace: () => damaged({ liveness: { refused: "STORAGE_LOST" } }),
  },
  "a damaged log is gone on with": {
    by: ["liveness"],
    says: "as if it were whole",
    trace: () => damaged({ liveness: "went-on" }),
  },
  "a log is published before its header": {
    by: ["liveness"],
    says: "nobody can ever open it",
    trace: () => {
      const trace = damaged();
      const image = withFile(trace.image, trace.log, trace.image.get(trace.log)!.slice(0, 20));
      return { ...trace, image, recovered: image, acknowledgedThroughSeq: -1, effects: [], calls: [], reports: [] };
    },
  },
  "what salvage made does not go on": {
    by: ["liveness"],
    says: "did not go on",
    trace: () => {
      const log = `${LOG}.zstd`;
      return damaged({ salvaged: { log, files: new Map([[log, bytesOf(paid(), "zstd")]]), wentOn: false } });
    },
  },
};

function refused(trace: LabTrace, code: string): LabTrace {
  return {
    ...trace,
    recovered: trace.image,
    recoveredAgain: [],
    requests: [{ messages: messagesOf([]) }],
    liveness: { refused: code },
  };
}

const BLOB = new TextEncoder().encode("a long result");
const DIGEST = "d".repeat(64);
const BLOB_NAME = `${FOLDER}/blobs/${DIGEST}`;

/** A turn whose log names a blob. */
function spilling(): LabTrace {
  const story = opened();
  story.add("result/spilled", { callId: "c0", callSeq: 0, digest: DIGEST, sizeBytes: BLOB.length }, own);
  return traceOf({ story: story.flush(), repair: (s) => s.closeTurn() });
}

/** Between turns, these events of a compaction; a name is its type, `!` is an end with an error. */
function compacting(...names: readonly string[]): LabTrace {
  const story = opened().end();
  let startSeq = 0;
  for (const name of names) {
    const ids = { compactionId: "k", turn: null };
    if (name === "start") startSeq = story.add("compaction/start", ids);
    else if (name === "summary") story.add("compaction/summary", ids);
    else if (name === "end") story.add("compaction/end", ids);
    else if (name === "!") story.add("compaction/end", { ...ids, error: "no connection" });
    else if (name === "seed") story.endSeed();
    else if (name === "title") story.add("session/title", { title: "t" });
    else {
      const [asked] = story.rows.filter(({ type }) => type === "user/message");
      const message = {
        id: "k",
        role: "user",
        content: [{ type: "text", text: "before" }],
        source: { kind: "plugin" },
      };
      const { seq } = asked!;
      const summarySeq = story.rows.length - 1;
      story.add("user/message", message, {
        surfaceOp: { op: "replace", startSeq: seq, endSeq: seq },
        sourceEventSeqs: [startSeq, summarySeq, seq].filter((source, at, all) => all.indexOf(source) === at),
      });
    }
  }
  return traceOf({ story: story.flush() });
}

/** What a crash may leave of compactions and of results beside the log: nothing of it breaks a promise. */
export const LAWFUL_COMPACTIONS: Readonly<Record<string, () => LabTrace>> = {
  "a blob that is there": () => withBlob(spilling(), frameOf(BLOB)),
  "a blob whose name the medium had not made durable": () => ({ ...spilling(), lostNames: [`${FOLDER}/blobs`] }),
  "a whole compaction": () => compacting("start", "summary", "replacement", "end"),
  "one that failed": () => compacting("start", "!"),
  "a start alone": () => compacting("start"),
  "a start alone, and a whole one in the next lifecycle": () =>
    compacting("start", "seed", "start", "summary", "replacement", "end"),
  "cut off before its replacement": () => compacting("start", "summary"),
  "cut off before its end": () => compacting("start", "summary", "replacement"),
  "cut off before its end, and the next lifecycle": () =>
    compacting("start", "summary", "replacement", "seed", "title"),
};

function withBlob(trace: LabTrace, content: Uint8Array): LabTrace {
  const { image, recovered } = trace;
  return {
    ...trace,
    image: new Map([...image, [BLOB_NAME, content]]),
    recovered: new Map([...recovered!, [BLOB_NAME, content]]),
    recoveredAgain: trace.recoveredAgain!.map((again) => ({
      ...again,
      files: again.files === null ? null : new Map([...again.files, [BLOB_NAME, content]]),
    })),
  };
}

const compactions: Readonly<Record<string, Broken>> = {
  "a result beside the log that is not there": {
    by: ["lawful-compaction"],
    says: "which is not there after the crash",
    trace: spilling,
  },
  "a result beside the log that is torn": {
    by: ["lawful-compaction"],
    says: "which is not whole after the crash",
    trace: () => withBlob(spilling(), frameOf(BLOB).slice(0, -2)),
  },
  "a result beside the log of another length": {
    by: ["lawful-compaction"],
    says: "which is not whole after the crash",
    trace: () => withBlob(spilling(), frameOf(BLOB.slice(1))),
  },
  "a result that was lost with another name": {
    by: ["lawful-compaction"],
    says: "which is not there",
    trace: () => ({ ...spilling(), lostNames: [`${FOLDER}/blob`, `${BLOB_NAME}0`] }),
  },
  "a compaction inside of another": {
    by: ["lawful-compaction"],
    says: "begins inside of that of seq",
    trace: () => compacting("start", "start"),
  },
  "an event between a summary and its replacement": {
    by: ["lawful-compaction"],
    says: "its replacement does not follow it",
    trace: () => compacting("start", "summary", "title", "replacement", "end"),
  },
  "an event between a replacement and the end": {
    by: ["lawful-compaction"],
    says: "the end of its compaction does not follow its replacement",
    trace: () => compacting("start", "summary", "replacement", "title", "end"),
  },
  "an end that says all is well without a replacement": {
    by: ["lawful-compaction"],
    says: "no summary and replacement stand before its end",
    trace: () => compacting("start", "end"),
  },
  "an end of nothing": {
    by: ["lawful-compaction"],
    says: "an end belongs to no open compaction",
    trace: () => compacting("!"),
  },
  "an end of what a crash had cut off": {
    by: ["lawful-compaction"],
    says: "an end belongs to no open compaction",
    trace: () => compacting("start", "seed", "!"),
  },
  "a summary without a start": {
    by: ["lawful-compaction"],
    says: "a summary belongs to no open compaction",
    trace: () => compacting("summary"),
  },
  "messages replaced without a summary": {
    by: ["lawful-compaction"],
    says: "no summary stands before it",
    trace: () => compacting("start", "replacement", "!"),
  },
};

/** All of them. */
export const VIOLATIONS: Readonly<Record<string, Broken>> = {
  ...durableIntent,
  ...noFalseClass,
  ...noFalseVerdict,
  ...unknownWindow,
  ...kept,
  ...bytes,
  ...idempotent,
  ...transcript,
  ...compactions,
  ...writers,
  ...duplicates,
  ...liveness,
};
