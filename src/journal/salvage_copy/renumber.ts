/**
 * Every place where an event names other events by their seq, and what becomes of it when events are missing.
 *
 * @see session-format §10.3; architecture "Crash classes": what renumbers a log renumbers the references in our own events too
 * @module
 */
import { isCount, isRecord, type JsonRecord } from "../../event/checks.ts";
import { isKnownType, isOwnType, SOURCE_SEQS_MAX } from "../../event/mod.ts";

/** An event of any version. */
export interface AnyEvent {
  readonly type: string;
  readonly seq: number;
  readonly data: unknown;
  readonly surfaceOp?: unknown;
  /** A list of seqs; in version 2 also of ranges. */
  readonly sourceEventSeqs?: unknown;
}

/** The new seq of an old one; `null` when that event is not there any more. */
export type SeqOf = (seq: number) => number | null;

/** What came of an event: itself under its new seq, or why it has no place. */
export type Renumbered<Event> =
  | {
    readonly event: Event;
    /** What was taken out of it; `null` when nothing was. */
    readonly note: string | null;
    /** Whether it replaces on the surface what is not wholly there. */
    readonly hasLostSpan: boolean;
  }
  | { readonly dropped: string };

/**
 * An event under a new seq, with its references.
 *
 * What it cites and is lost is left out. An event that says nothing without what it refers to is dropped.
 *
 * @example
 * ```ts
 * import { renumber } from "./renumber.ts";
 *
 * const event = { type: "approval/bound", seq: 9, data: { id: "q", callSeq: 7, argumentsDigest: "" } };
 * const found = renumber(event, 4, (seq) => seq - 5);
 * if (!("event" in found) || (found.event.data as { callSeq: number }).callSeq !== 2) throw new Error("unreachable");
 * if (!("dropped" in renumber(event, 4, () => null))) throw new Error("unreachable");
 * ```
 */
export function renumber<Event extends AnyEvent>(event: Event, seq: number, seqOf: SeqOf): Renumbered<Event> {
  const lost: number[] = [];
  const many = (seqs: readonly unknown[]): number[] => {
    return seqs.flatMap((old) => {
      const found = isCount(old) ? seqOf(old) : null;
      if (found === null && isCount(old)) lost.push(old);
      return found === null ? [] : [found];
    });
  };
  const data = dataOf(event, many, seqOf);
  if (typeof data === "string") return { dropped: data };
  // What an event of an unknown type carries under these names means nothing to us.
  const isOurs = isKnownType(event.type) || isOwnType(event.type) || LEGACY_SURFACE.has(event.type);
  const { sourceEventSeqs, surfaceOp } = event;
  const changed: Record<string, unknown> = { ...(event as object), seq, data };
  let hasLostSpan = false;
  if (isOurs && Array.isArray(sourceEventSeqs)) {
    const sources = many(expanded(sourceEventSeqs, event.seq));
    // An empty list says of an old answer that its stream is known and empty.
    if (sources.length > 0 || sourceEventSeqs.length === 0) changed.sourceEventSeqs = sources;
    else delete changed.sourceEventSeqs;
  }
  if (isOurs && isRecord(surfaceOp)) {
    const mapped: Record<string, unknown> = { ...surfaceOp };
    for (const key of ["startSeq", "endSeq", "start", "end"]) {
      if (!isCount(surfaceOp[key])) continue;
      const found = seqOf(surfaceOp[key]);
      if (found === null) hasLostSpan = true;
      mapped[key] = found ?? -1;
    }
    changed.surfaceOp = mapped;
  }
  const note = lost.length === 0 ? null : `it named seq ${[...new Set(lost)].join(", ")}, which are lost`;
  return { event: changed as unknown as Event, note, hasLostSpan };
}

/** Seqs with their ranges written out, as long as they are ranges of what comes before. */
function expanded(list: readonly unknown[], ownSeq: number): readonly unknown[] {
  return list.flatMap((item) => {
    if (!Array.isArray(item) || !isCount(item[0]) || !isCount(item[1])) return [item];
    const [first, last] = [item[0], Math.min(item[1], ownSeq - 1)];
    return Array.from({ length: Math.max(0, Math.min(last - first + 1, SOURCE_SEQS_MAX)) }, (_, at) => first + at);
  });
}

/** A type that only old versions know and that stands on the surface. */
const LEGACY_SURFACE: ReadonlySet<string> = new Set(["steering/message"]);

/** The data with its references, or why the event has no place without them. */
function dataOf(
  { type, data }: AnyEvent,
  many: (seqs: readonly unknown[]) => number[],
  seqOf: SeqOf,
): unknown {
  if (!isRecord(data)) return data;
  switch (type) {
    case "command/done": {
      if (!isCount(data.sourceEventSeq)) return data;
      const { sourceEventSeq, ...rest } = data;
      const found = seqOf(sourceEventSeq as number);
      return found === null ? rest : { ...data, sourceEventSeq: found };
    }
    case "session/title":
    case "session/title-llm-request": {
      if (!Array.isArray(data.messageSeqs) || data.messageSeqs.length === 0) return data;
      const messageSeqs = many(data.messageSeqs);
      return messageSeqs.length === 0 ? "the messages it was made from are lost" : { ...data, messageSeqs };
    }
    case "compaction/summary":
    case "compaction/prune":
    case "compact/summary":
    case "compact/prune": {
      if (!Array.isArray(data.shadowedSeqs) || !isRecord(data.shadowedRange)) return data;
      const shadowedSeqs = many(data.shadowedSeqs);
      if (shadowedSeqs.length === 0) return "what it stands for is lost";
      const shadowedRange = { ...data.shadowedRange, start: shadowedSeqs[0], end: shadowedSeqs.at(-1) };
      return { ...data, shadowedRange, shadowedSeqs };
    }
    case "effect/dispatched":
    case "effect/reconciled":
    case "approval/bound":
    case "result/spilled": {
      const callSeq = isCount(data.callSeq) ? seqOf(data.callSeq) : null;
      if (callSeq === null) return `the call it is about, seq ${data.callSeq}, is lost`;
      if (!isCount(data.retryOf)) return { ...data, callSeq };
      const { retryOf, ...rest } = data;
      const original = seqOf(retryOf as number);
      return original === null ? { ...rest, callSeq } : { ...rest, callSeq, retryOf: original };
    }
    case "agent/inbox/spliced":
      if (!Array.isArray(data.inserted)) return data;
      return { ...data, inserted: data.inserted.map((message) => withNotice(message, seqOf)) };
    case "user/message":
      return withNotice(data, seqOf);
    case "session-log-deepseek/delivery-accepted":
      return "it says what a service has accepted of the session this one was salvaged from";
    default:
      return data;
  }
}

/** The id of a notice of ours names the call it is about. */
function withNotice(message: unknown, seqOf: SeqOf): unknown {
  if (!isRecord(message) || typeof message.id !== "string" || !isOurNotice(message)) return message;
  const match = /^effect-settled-(\d+)-(\d+)$/.exec(message.id);
  const callSeq = match === null ? null : seqOf(Number(match[1]));
  return callSeq === null ? message : { ...message, id: `effect-settled-${callSeq}-${match![2]}` };
}

function isOurNotice({ source }: JsonRecord): boolean {
  return isRecord(source) && source.kind === "plugin" && source.plugin === "holdfast" && source.form === "notice";
}
