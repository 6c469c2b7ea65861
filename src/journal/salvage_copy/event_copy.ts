/**
 * Takes the events that were found, one after the other, and gives those of a log that opens: dense, lawful, with references that fit.
 *
 * @module
 */
import { isRecord } from "../../event/checks.ts";
import { isEvent, isRequiredUnknown, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import { type PendingCalls, pendingCallsFold, type Surface } from "../../fold/mod.ts";
import { type CheckedLog, emptyLog, withEvent } from "../checked_log.ts";
import { SeqMap } from "../legacy/seq_map.ts";
import { bridgeTo } from "./bridge.ts";
import { renumber } from "./renumber.ts";

/** What became of one event. */
export interface CopiedEvent {
  /** What comes next in the copy: the event itself last, and before it what has to stand there. Empty when it was dropped. */
  readonly events: readonly SessionEvent[];
  /** Why it was dropped; `null` when it was not. */
  readonly dropped: string | null;
  /** What is not as it was, or was added, each in a plain sentence. */
  readonly notes: readonly string[];
}

/** See the module. */
export class EventCopy {
  readonly #header: SessionHeader;
  readonly #seqs = new SeqMap();
  #log: CheckedLog = emptyLog();
  #pending: PendingCalls = pendingCallsFold.initial();
  /** Whether events are missing before here. Until then nothing is changed, however strange it is. */
  #isBehindGap = false;

  /** @param header one that is seeded accepts the end of an inherited seed */
  constructor(header: SessionHeader) {
    this.#header = header;
  }

  /** The seq of the next event of the copy. */
  get nextSeq(): number {
    return this.#log.nextSeq;
  }

  /** Whether the end of an inherited seed was copied. */
  get hasInheritedSeed(): boolean {
    return this.#log.hasInheritedSeed;
  }

  /** Takes note that events are missing here. */
  gap(): void {
    this.#isBehindGap = true;
  }

  /** Copies the next event of the source. */
  take(event: SessionEvent): CopiedEvent {
    const before = { log: this.#log, pending: this.#pending };
    const notes: string[] = [];
    const events: SessionEvent[] = [];
    const drop = (why: string): CopiedEvent => {
      [this.#log, this.#pending] = [before.log, before.pending];
      this.gap();
      return { events: [], dropped: `seq ${event.seq} (${event.type}): ${why}`, notes: [] };
    };
    // Before a gap it stays what it is: the log/salvaged at the end takes what it promises back, in every lifecycle.
    if (event.type === "checkpoint/policy" && this.nextSeq !== event.seq) {
      return drop("events before it are missing, so that the barriers it promises prove nothing");
    }
    if (isRequiredUnknown(event)) return drop("it is of a type that this build must not skip and does not know");
    if (this.#isBehindGap) {
      for (const bridge of bridgeTo(event, this.#pending, this.#log.surface, this.nextSeq)) {
        const added = { seq: this.nextSeq, time: event.time, ...bridge } as unknown as SessionEvent;
        if (this.#add(added) !== null) continue;
        events.push(inOrder(added));
        notes.push(`${bridge.type} at seq ${added.seq} of the copy was added, before seq ${event.seq}`);
      }
    }
    const seq = this.nextSeq;
    const isAsItWas = seq === event.seq && !this.#isBehindGap;
    let next = event;
    if (!isAsItWas) {
      const found = renumber(event, seq, (old) => this.#seqs.get(old));
      if ("dropped" in found) return drop(found.dropped);
      next = found.event;
      if (found.note !== null) notes.push(`seq ${event.seq}: ${found.note}`);
      if (found.hasLostSpan) {
        const mended = mendSpan(next, this.#log.surface);
        if (mended === null) return drop("what it replaces is lost");
        next = mended;
        notes.push(`seq ${event.seq}: a part of what it replaces is lost`);
      }
    }
    const problem = this.#add(next);
    if (problem !== null) return drop(problem);
    this.#seqs.add(event.seq, seq);
    events.push(next);
    return { events, dropped: null, notes };
  }

  /** The log with one more event; or why it must not come next. */
  #add(event: SessionEvent): string | null {
    const next = withEvent(this.#log, event, this.#header);
    if (typeof next === "string") return next;
    this.#log = next;
    this.#pending = pendingCallsFold.apply(this.#pending, event);
    return null;
  }
}

/** A replacement of what is still there of its span; `null` when it has no place any more. */
function mendSpan(event: SessionEvent, { nodes }: Surface): SessionEvent | null {
  const head = nodes.at(0);
  if (isEvent(event, "system/message")) {
    if (nodes.length === 0) {
      return { ...event, surfaceOp: "append", sourceEventSeqs: undefined } as unknown as SessionEvent;
    }
    if (head?.type !== "system/message") return null;
    return replacing(event, [head.seq]);
  }
  // A shortened result says less than nothing of a result that is lost.
  if (event.type === "tool/result") return null;
  const indexes = (event.sourceEventSeqs ?? [])
    .map((seq) => nodes.findIndex(seq))
    .filter((index) => index !== -1)
    .sort((left, right) => left - right);
  const first = indexes[0];
  const last = indexes.at(-1);
  if (first === undefined || last === undefined) {
    const { sourceEventSeqs: _, ...rest } = event;
    return { ...rest, surfaceOp: "append" };
  }
  const isWhole = last - first + 1 === indexes.length;
  const isPinned = first === 0 && head?.type === "system/message";
  if (!isWhole || isPinned) return null;
  return replacing(event, [...nodes.between(first, last)].map(({ seq }) => seq));
}

function replacing(event: SessionEvent, span: readonly number[]): SessionEvent {
  const surfaceOp = { op: "replace" as const, startSeq: span[0]!, endSeq: span.at(-1)! };
  const sourceEventSeqs = [...new Set([...event.sourceEventSeqs ?? [], ...span])];
  return { ...event, surfaceOp, sourceEventSeqs };
}

/** The members of an event in the order in which they are written. */
function inOrder(event: SessionEvent): SessionEvent {
  const { type, seq, time, data, ...rest } = event;
  return { type, seq, time, data: isRecord(data) ? { ...data } : data, ...rest } as SessionEvent;
}
