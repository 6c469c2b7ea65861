/**
 * What is written down about a run while it runs: what was handed to the store, what was acknowledged, and when.
 *
 * Everything only grows, so a moment of a run is a few lengths, and a run that branches off there copies so much.
 *
 * @module
 */
import type { SessionEvent } from "../../event/event.ts";
import type { AppendedBatch, CallSteps, WriterInterval } from "../judge/trace.ts";
import type { Steps } from "./world.ts";

/** What a call passed. */
type Passage = "markerFlushStarted" | "markerFlushEnded" | "bodyStarted" | "resultFlushStarted" | "resultFlushEnded";

interface Mark {
  readonly callId: string;
  readonly callSeq: number;
  readonly incarnation: number;
  readonly passage: Passage;
  readonly step: number;
}

interface Turn {
  readonly process: string;
  readonly what: "took" | "left" | "wrote";
  readonly step: number;
}

/** The record of one run, up to now. */
export class Record {
  readonly steps: Steps;
  readonly batches: AppendedBatch[];
  readonly #marks: Mark[];
  readonly #turns: Turn[];
  /** When the medium last made the log durable. */
  #syncedAtStep = -1;
  /** The highest seq that was acknowledged to anybody; −1 before the first. */
  acknowledgedThroughSeq: number;

  constructor(steps: Steps, other?: Record) {
    this.steps = steps;
    this.batches = other === undefined ? [] : [...other.batches];
    this.#marks = other === undefined ? [] : [...other.#marks];
    this.#turns = other === undefined ? [] : [...other.#turns];
    this.#syncedAtStep = other === undefined ? -1 : other.#syncedAtStep;
    this.acknowledgedThroughSeq = other?.acknowledgedThroughSeq ?? -1;
  }

  /** The same record at the same moment, to go on by itself. */
  fork(steps: Steps): Record {
    return new Record(steps, this);
  }

  /** A batch is handed to the store. Returns what is to be called with the last seq when it is acknowledged. */
  batch(incarnation: number, events: readonly SessionEvent[]): (lastSeq: number) => void {
    const step = this.steps.take();
    this.#hand(incarnation, events);
    const mark = (which: "Started" | "Ended", at: number) => {
      for (const event of events) {
        const call = callOf(event);
        if (call === null) continue;
        this.#marks.push({ ...call.call, incarnation, passage: `${call.flush}Flush${which}`, step: at });
      }
    };
    mark("Started", step);
    return (lastSeq) => {
      this.steps.take();
      // The medium's word, not the store's: a flush that never reached it has not ended.
      if (this.#syncedAtStep > step) mark("Ended", this.#syncedAtStep);
      this.acknowledgedThroughSeq = Math.max(this.acknowledgedThroughSeq, lastSeq);
    };
  }

  /** What a recovery hands to the store. Its closers are no results: nothing is said about when a result was flushed. */
  recovery(incarnation: number, events: readonly SessionEvent[]): (lastSeq: number) => void {
    this.steps.take();
    this.#hand(incarnation, events);
    return (lastSeq) => {
      this.steps.take();
      this.acknowledgedThroughSeq = Math.max(this.acknowledgedThroughSeq, lastSeq);
    };
  }

  #hand(incarnation: number, events: readonly SessionEvent[]): void {
    const { acknowledgedThroughSeq } = this;
    if (events.length > 0) {
      this.batches.push({ incarnation, seqFrom: events[0]!.seq, acknowledgedThroughSeq, rows: events });
    }
  }

  /** A session that was opened says how much of it is durable. */
  promised(durableSeq: number): void {
    this.steps.take();
    this.acknowledgedThroughSeq = Math.max(this.acknowledgedThroughSeq, durableSeq);
  }

  /** The body of a call begins. */
  body(incarnation: number, callId: string, callSeq: number): void {
    this.#marks.push({ callId, callSeq, incarnation, passage: "bodyStarted", step: this.steps.take() });
  }

  /** What became of the lock, and who wrote into the log. */
  turn(process: string, what: Turn["what"]): void {
    this.#turns.push({ process, what, step: this.steps.take() });
  }

  /** The call that was last dispatched under a key; empty when none was. */
  callOf(effectKey: string): string {
    for (const { rows } of this.batches.toReversed()) {
      for (const row of rows) {
        const { type, data } = row as SessionEvent;
        if (type !== "effect/dispatched") continue;
        const { effectKey: key, callId } = data as { readonly effectKey: string; readonly callId: string };
        if (key === effectKey) return callId;
      }
    }
    return "";
  }

  /** The medium makes the log durable. */
  synced(): void {
    this.#syncedAtStep = this.steps.take();
  }

  /** When each call passed its flushes, so far. */
  calls(): CallSteps[] {
    const calls = new Map<string, { -readonly [Key in keyof CallSteps]: CallSteps[Key] }>();
    for (const { callId, callSeq, incarnation, passage, step } of this.#marks) {
      const key = `${incarnation} ${callSeq} ${callId}`;
      let call = calls.get(key);
      if (call === undefined) calls.set(key, call = { callId, callSeq, incarnation });
      if (passage === "bodyStarted" && call.bodyStartedAtStep !== undefined) {
        call.bodyStarts = (call.bodyStarts ?? 1) + 1;
      }
      call[`${passage}AtStep`] ??= step;
    }
    return [...calls.values()];
  }

  /** Who held the lock, and when it wrote, so far. */
  writers(): WriterInterval[] {
    const writers: { process: string; heldFromStep: number; heldToStep: number | null; wroteAtSteps: number[] }[] = [];
    for (const { process, what, step } of this.#turns) {
      if (what === "took") {
        writers.push({ process, heldFromStep: step, heldToStep: null, wroteAtSteps: [] });
        continue;
      }
      const writer = writers.findLast((each) => each.process === process);
      if (writer === undefined) continue;
      if (what === "left") writer.heldToStep ??= step;
      else writer.wroteAtSteps.push(step);
    }
    return writers;
  }
}

function callOf(event: SessionEvent): { flush: "marker" | "result"; call: { callId: string; callSeq: number } } | null {
  if (event.type === "effect/dispatched") {
    const { callId, callSeq } = event.data as { callId: string; callSeq: number };
    return { flush: "marker", call: { callId, callSeq } };
  }
  if (event.type !== "tool/result") return null;
  const { message } = event.data as { message: { source: { callId?: unknown } } };
  const callSeq = event.sourceEventSeqs?.[0];
  const { callId } = message.source;
  if (typeof callId !== "string" || callSeq === undefined) return null;
  return { flush: "result", call: { callId, callSeq } };
}
