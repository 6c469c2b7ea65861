/**
 * Every place where an event names other events by their seq, and how it is renumbered.
 *
 * @see session-format §10.3
 * @module
 */
import { isCount, isRecord, show } from "../../event/checks.ts";
import { refuse, refuseDamage } from "./refusal.ts";
import type { SeqMap } from "./seq_map.ts";
import type { LegacyEvent } from "./types.ts";

/**
 * The event with every reference renumbered; its own seq stays. The order of members stays too.
 *
 * @throws {UnsupportedFormatError} a reference to what the migration takes away
 * @throws {CorruptLogError} a replacement of what is not there
 */
export function renumbered(event: LegacyEvent, seqs: SeqMap): LegacyEvent {
  const { sourceEventSeqs, surfaceOp } = event;
  const data = renumberedData(event, seqs);
  if (data === event.data && sourceEventSeqs === undefined && !isRecord(surfaceOp)) return event;
  const next: Record<string, unknown> = { ...event, data };
  if (Array.isArray(sourceEventSeqs)) next.sourceEventSeqs = all(event, sourceEventSeqs, "sourceEventSeqs", seqs);
  if (isRecord(surfaceOp)) {
    const at = (seq: unknown) => {
      const found = isCount(seq) ? seqs.get(seq) : null;
      return found ?? refuseDamage(event, `a replacement of seq ${show(seq)}, which is not on the surface`);
    };
    next.surfaceOp = { ...surfaceOp, start: at(surfaceOp.start), end: at(surfaceOp.end) };
  }
  return next as unknown as LegacyEvent;
}

function renumberedData(event: LegacyEvent, seqs: SeqMap): LegacyEvent["data"] {
  const { data, type } = event;
  if (!isRecord(data)) return data;
  switch (type) {
    case "command/done":
      if (data.sourceEventSeq === undefined) return data;
      return { ...data, sourceEventSeq: one(event, data.sourceEventSeq, "data.sourceEventSeq", seqs) };
    case "session/title":
    case "session/title-llm-request":
      return { ...data, messageSeqs: all(event, data.messageSeqs, "data.messageSeqs", seqs) };
    case "compaction/summary":
    case "compaction/prune": {
      const { shadowedRange: range } = data;
      if (!isRecord(range)) return refuse(event, "no data.shadowedRange");
      return {
        ...data,
        shadowedRange: {
          ...range,
          start: one(event, range.start, "data.shadowedRange.start", seqs),
          end: one(event, range.end, "data.shadowedRange.end", seqs),
        },
        shadowedSeqs: all(event, data.shadowedSeqs, "data.shadowedSeqs", seqs),
      };
    }
    default:
      return data;
  }
}

function all(event: LegacyEvent, value: unknown, path: string, seqs: SeqMap): readonly number[] {
  if (!Array.isArray(value)) return refuse(event, `no list in ${path}`);
  return value.map((seq) => one(event, seq, path, seqs));
}

function one(event: LegacyEvent, seq: unknown, path: string, seqs: SeqMap): number {
  const found = isCount(seq) ? seqs.get(seq) : null;
  if (found !== null) return found;
  return refuse(event, `${path} names seq ${show(seq)}, which is no event that stays`);
}
