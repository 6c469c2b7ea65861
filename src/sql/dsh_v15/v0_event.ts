/**
 * Events of format version 0, as schema 15 keeps them: shown as they are stored, and checked as what they mean.
 *
 * @see session-format §3, §4, §11
 * @module
 */
import { isCount, isInt, isRecord, show, wrong } from "../../event/checks.ts";
import { KNOWN_TYPES, RowFault, type SessionEvent } from "../../event/mod.ts";
import type { SqlRow } from "../sql_port.ts";

/** Types that came after version 0. */
const LATER_TYPES: ReadonlySet<string> = new Set([
  ...["assistant/attempt", "system/message", "deliverables/presented", "feedback/message-put"],
  ...["feedback/message-delete", "model/selection", "session-log-deepseek/delivery-accepted", "subagent/catalog"],
  ...["subagent/model-selection-policy", "tool/ptc-dispatch", "tool/ptc-dispatch-start"],
]);

/** The types of version 0. */
const V0_TYPES: ReadonlySet<string> = new Set([
  ...[...KNOWN_TYPES].filter((type) => !LATER_TYPES.has(type)),
  ...["assistant/chunk", "tool/code-dispatch", "tool/code-dispatch-start"],
]);

/** The types that put a message on the surface. */
const SURFACE: ReadonlySet<string> = new Set(["user/message", "assistant/message", "tool/result"]);

/** Whether an event is of a type that a reader of version 0 must not skip and does not know. */
export function isUnknownV0(event: SessionEvent): boolean {
  return event.ignorable !== true && !V0_TYPES.has(event.type);
}

/**
 * The event in a row, as it is stored; or why the row does not decode: then it may be a torn tail.
 *
 * @param expectedSeq the place in the log; another seq is a gap
 */
export function readV0Row(row: SqlRow, expectedSeq: number): SessionEvent | RowFault {
  const { seq, type, time, data, source_event_seqs, surface_op, ignorable } = row;
  const isTurnEnd = type === "turn/end";
  const fault = (problem: string, cause?: unknown) =>
    new RowFault("issue", problem, isTurnEnd, isCount(seq) ? seq : undefined, type as string, cause);
  if (seq !== expectedSeq) return fault(`a gap: seq ${seq}, expected ${expectedSeq}`);
  const event: Record<string, unknown> = { type, seq, time };
  const parts = [["data", data], ["sourceEventSeqs", source_event_seqs], ["surfaceOp", surface_op]] as const;
  for (const [name, text] of parts) {
    if (text === null || text === undefined) continue;
    try {
      event[name] = JSON.parse(text as string);
    } catch (error) {
      return fault(`${name} that is not valid JSON`, error);
    }
  }
  if (ignorable !== null) event.ignorable = ignorable === 1 ? true : ignorable;
  return event as unknown as SessionEvent;
}

/** What is wrong with the envelope of a row that decoded, to be read after "event 4: "; `null` when nothing is. */
export function v0Problem(event: SessionEvent): string | null {
  const { type, seq, time, data, ignorable, surfaceOp } = event;
  if (typeof type !== "string" || type === "") return wrong("type", type, "a non-empty string");
  if (!isInt(time)) return wrong("time", time, "an integer");
  if (data === undefined) return "no data";
  if (ignorable !== undefined && ignorable !== true) return wrong("ignorable", ignorable, "true or nothing");
  if (!V0_TYPES.has(type)) return null;
  if (surfaceOp !== undefined && !isV0SurfaceOp(surfaceOp)) {
    return wrong("surfaceOp", surfaceOp, '"append" or a replacement');
  }
  const seqs: unknown = event.sourceEventSeqs;
  if (seqs === undefined) return null;
  if (!SURFACE.has(type)) return "sourceEventSeqs on an event that is never on the surface";
  if (!Array.isArray(seqs) || !seqs.every((source) => isCount(source) && source < seq)) {
    return wrong("sourceEventSeqs", seqs, "seqs below its own");
  }
  if (new Set(seqs).size !== seqs.length) return `${show(seqs)} in sourceEventSeqs, expected each once`;
  return seqs.length === 0 && type !== "assistant/message" ? "no seq in sourceEventSeqs" : null;
}

/**
 * The event as the checks and the folds of the current version understand it. For checking alone: it is no migration, and nothing
 * of it is shown or kept.
 */
export function asCurrent(event: SessionEvent): SessionEvent {
  const { surfaceOp, sourceEventSeqs, ...rest } = event;
  const current: Record<string, unknown> = { ...rest };
  if (surfaceOp !== undefined) current.surfaceOp = currentSurfaceOp(surfaceOp);
  if (sourceEventSeqs !== undefined && event.type !== "assistant/message") current.sourceEventSeqs = sourceEventSeqs;
  const data: unknown = event.data;
  if (event.type === "assistant/message" && isRecord(data)) current.data = { ...data, stream: [] };
  if (event.type === "request/header" && isRecord(data) && isRecord(data.header)) {
    const { system: _, tools, adapterDefaults, ...header } = data.header;
    const isEmptyList = Array.isArray(tools) && tools.length === 0;
    const isEmptyObject = isRecord(adapterDefaults) && Object.keys(adapterDefaults).length === 0;
    current.data = {
      ...data,
      header: {
        ...header,
        ...(tools === undefined || isEmptyList ? {} : { tools }),
        ...(adapterDefaults === undefined || isEmptyObject ? {} : { adapterDefaults }),
      },
    };
  }
  return current as unknown as SessionEvent;
}

function currentSurfaceOp(op: unknown): unknown {
  if (!isRecord(op) || op.op !== "replace") return op;
  return { op: "replace", startSeq: op.start, endSeq: op.end };
}

function isV0SurfaceOp(op: unknown): boolean {
  if (op === "append") return true;
  return isRecord(op) && op.op === "replace" && isCount(op.start) && isCount(op.end) && Object.keys(op).length === 3;
}
