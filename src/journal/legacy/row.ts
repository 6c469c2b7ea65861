/**
 * One line of an old log, read as a stranger's and written back.
 *
 * Versions 0 and 1 look at little here: a line is an event when it is JSON and has the seq that must come next. What else must
 * hold is checked before somebody goes on with the session (`restored.ts`), and so a log is never cut because of it. Version 2
 * checks rows as version 3 does.
 *
 * @see session-format §3.1 to §3.3, §5.4
 * @module
 */
import { encodeSourceEventSeqs, jsonText, RowFault } from "../../event/mod.ts";
import { isCount, isInt, isRecord, type JsonRecord, show, wrong } from "../../event/checks.ts";
import { expand } from "../../event/source_seqs.ts";
import { isKnownLegacyType } from "./inventory.ts";
import { isPackedType, PACKED_DELTAS_MAX, packRow, unpackRow } from "./packed_row.ts";
import type { LegacyEvent, LegacyRow, LegacyVersion } from "./types.ts";

/**
 * Reads one line and says what is wrong with it instead of throwing, as `readRow` does for version 3.
 *
 * @param expectedSeq the seq that must come next; another one is an issue
 *
 * @example
 * ```ts
 * import { RowFault } from "../../event/mod.ts";
 * import { readLegacyRow } from "./row.ts";
 *
 * const packed = { turn: 1, step: 1, index: 0, dt: [2], texts: ["a", "b"] };
 * const row = readLegacyRow(JSON.stringify({ type: "text-chunks", seq0: 4, time0: 1, data: packed }), 0, 4);
 * if (row instanceof RowFault || row.count !== 2) throw new Error("unreachable");
 * ```
 */
export function readLegacyRow(line: string, version: LegacyVersion, expectedSeq?: number): LegacyRow | RowFault {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (cause) {
    const problem = line.trim() === "" ? "a blank line" : "text that is not valid JSON";
    return new RowFault("issue", problem, false, undefined, undefined, cause);
  }
  if (!isRecord(row)) return new RowFault("issue", `${show(row)}, expected an event`, false);
  if (version < 2 && isPackedType(row.type)) return readRun(row, expectedSeq);
  const problem = seqProblem(row.seq, expectedSeq) ?? (version === 2 ? strictProblem(row) : null);
  if (problem !== null) return issue(row, row.seq, problem);
  return { kind: "event", firstSeq: row.seq as number, count: 1, event: row as unknown as LegacyEvent };
}

/**
 * Tells whether a line says of itself that it ends a turn, even when it is otherwise no event.
 *
 * @example
 * ```ts
 * import { legacyRowLooksLikeTurnEnd } from "./row.ts";
 *
 * if (!legacyRowLooksLikeTurnEnd('{"type":"turn/end"}') || legacyRowLooksLikeTurnEnd("null")) throw new Error("unreachable");
 * ```
 */
export function legacyRowLooksLikeTurnEnd(line: string): boolean {
  const row = readLegacyRow(line, 0);
  if (row instanceof RowFault) return row.isTurnEnd;
  return row.kind === "event" && row.event.type === "turn/end";
}

/**
 * Writes one row as one line, without the newline, in the spelling of that version.
 *
 * @example
 * ```ts
 * import { RowFault } from "../../event/mod.ts";
 * import { encodeLegacyRow, readLegacyRow } from "./row.ts";
 *
 * const line = '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}';
 * const row = readLegacyRow(line, 1);
 * if (row instanceof RowFault || encodeLegacyRow(row, 1) !== line) throw new Error("unreachable");
 * ```
 */
export function encodeLegacyRow(row: LegacyRow, version: LegacyVersion): string {
  if (row.kind === "run") return jsonText(packRow(row));
  const { event } = row;
  const seqs = event.sourceEventSeqs;
  if (version < 2 || !Array.isArray(seqs) || !isKnownLegacyType(event.type, 2)) return jsonText(event);
  return jsonText({ ...event, sourceEventSeqs: encodeSourceEventSeqs(seqs) });
}

/** `"append"`, or exactly `{op, start, end}`. */
export function isLegacySurfaceOp(value: unknown): boolean {
  if (value === "append") return true;
  if (!isRecord(value) || value.op !== "replace" || !isCount(value.start) || !isCount(value.end)) return false;
  return Object.keys(value).length === 3;
}

function readRun(row: JsonRecord, expectedSeq: number | undefined): LegacyRow | RowFault {
  const run = unpackRow(row);
  if (typeof run === "string") return issue(row, row.seq0, `a malformed ${row.type} row: ${run}`);
  if (run.count > PACKED_DELTAS_MAX) {
    const found = `a packed row of ${run.count} deltas, of which at most ${PACKED_DELTAS_MAX} are read`;
    return new RowFault("unsupported", found, false, run.firstSeq, String(row.type));
  }
  const problem = seqProblem(run.firstSeq, expectedSeq);
  return problem === null ? run : issue(row, run.firstSeq, problem);
}

function seqProblem(seq: unknown, expectedSeq: number | undefined): string | null {
  if (!isCount(seq)) return wrong("seq", seq, "a count");
  return expectedSeq === undefined || seq === expectedSeq ? null : `seq ${seq}, expected ${expectedSeq}`;
}

/** What version 2 refuses in any row. Expands `sourceEventSeqs` in place: the row was parsed a moment ago and is ours. */
function strictProblem(row: JsonRecord): string | null {
  const { type, time, data, ignorable } = row;
  if (typeof type !== "string") return wrong("type", type, "a string");
  if (!isInt(time)) return wrong("time", time, "an integer");
  if (data === undefined) return "no data";
  if (ignorable !== undefined && ignorable !== true) return wrong("ignorable", ignorable, "true or nothing");
  // The envelope of an unknown type is opaque beyond this point.
  if (!isKnownLegacyType(type, 2)) return null;
  for (const key in row) {
    switch (key) {
      case "type":
      case "seq":
      case "time":
      case "data":
      case "ignorable":
        break;
      case "surfaceOp":
        if (!isLegacySurfaceOp(row.surfaceOp)) return wrong("surfaceOp", row.surfaceOp, '"append" or a replacement');
        break;
      case "sourceEventSeqs": {
        const seqs = expand(row.sourceEventSeqs, row.seq as number);
        if (typeof seqs === "string") return `${seqs} (in sourceEventSeqs)`;
        (row as { sourceEventSeqs: unknown }).sourceEventSeqs = seqs;
        break;
      }
      default:
        return `the unknown field ${show(key)}`;
    }
  }
  return null;
}

function issue(row: JsonRecord, seq: unknown, problem: string): RowFault {
  const type = typeof row.type === "string" ? row.type : undefined;
  return new RowFault("issue", problem, type === "turn/end", isCount(seq) ? seq : undefined, type);
}
