/**
 * One line of a log, read as a stranger's and written back.
 *
 * Two kinds of damage are told apart, because a log may end in the middle of a write. A row that merely does not decode is an
 * *issue*: at the end of a raw log it is a torn tail. A row that decodes into something this version must refuse is a
 * *refusal*, wherever it stands.
 *
 * @see session-format §3.1, §5.4
 * @module
 */
import { CorruptLogError, type DamageLocation, UnsupportedFormatError } from "../errors.ts";
import { isCount, isInt, isRecord, type JsonRecord, show, wrong } from "./checks.ts";
import type { SessionEvent } from "./event.ts";
import { systemMessageProblem } from "./core_shape.ts";
import { jsonText } from "./json_text.ts";
import { encodeSourceEventSeqs, expand } from "./source_seqs.ts";
import { isKnownType, isOwnType, isSurfaceType } from "./vocabulary.ts";

/** Why a line is no event. */
export class RowFault {
  /** Keeps what was found; `seq`, `type` and `cause` as far as the row could be read. */
  constructor(
    /** `issue`: does not decode; may be a torn tail. `corrupt`, `unsupported`: refused, whatever follows. */
    readonly kind: "issue" | "corrupt" | "unsupported",
    /** What was found, without a full stop. */
    readonly problem: string,
    /** Whether the row says of itself that it ends a turn: after an issue this proves that the issue is no torn tail. */
    readonly isTurnEnd: boolean,
    readonly seq?: number,
    readonly type?: string,
    readonly cause?: unknown,
  ) {}

  /** The fault as the error to throw. */
  toError(location: DamageLocation = {}): CorruptLogError | UnsupportedFormatError {
    const row = this.seq === undefined ? "row" : `event ${this.seq}`;
    const name = this.type === undefined ? row : `${row} (${show(this.type)})`;
    const message = `Cannot read ${name}: found ${this.problem}`;
    const seq = location.seq ?? this.seq;
    if (this.kind === "unsupported") return new UnsupportedFormatError(message, { seq, type: this.type });
    return new CorruptLogError(message, {
      ...location,
      seq,
      ...(this.cause === undefined ? {} : { cause: this.cause }),
    });
  }
}

/**
 * Reads one line and says what is wrong with it instead of throwing: what the scanner of a log calls.
 *
 * @param expectedSeq the position of the line in the log; another seq is an issue, found before anything is expanded
 *
 * @example
 * ```ts
 * import { readRow, RowFault } from "./row.ts";
 *
 * const row = readRow('{"type":"turn/end"}', 4);
 * if (!(row instanceof RowFault) || row.kind !== "issue" || !row.isTurnEnd) throw new Error("unreachable");
 * ```
 */
export function readRow(line: string, expectedSeq?: number): SessionEvent | RowFault {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    return new RowFault(
      "issue",
      line.trim() === "" ? "a blank line" : "text that is not valid JSON",
      false,
      undefined,
      undefined,
      error,
    );
  }
  return readRecord(row, expectedSeq);
}

/**
 * The same of a row that a database keeps in columns: a value that was parsed a moment ago and is the callee's, for its
 * `sourceEventSeqs` are expanded in place.
 *
 * @example
 * ```ts
 * import { readRecord, RowFault } from "./row.ts";
 *
 * if (!(readRecord({ type: "turn/end", seq: 3 }, 4) instanceof RowFault)) throw new Error("unreachable");
 * ```
 */
export function readRecord(row: unknown, expectedSeq?: number): SessionEvent | RowFault {
  if (!isRecord(row)) return new RowFault("issue", `${show(row)}, expected an event`, false);
  return refusal(row) ?? issue(row, expectedSeq) ?? row as unknown as SessionEvent;
}

/**
 * Reads one line of a version-3 log, without its newline.
 *
 * Checks what a row is: keys, types, spelling. What the event of its type must look like is {@linkcode shapeProblem}'s
 * matter. An event of an unknown type comes back as it is; {@linkcode isRequiredUnknown} tells whether it may be skipped.
 *
 * @throws {CorruptLogError} no event
 * @throws {UnsupportedFormatError} an event as only older versions write it
 *
 * @example
 * ```ts
 * import { parseRow } from "./row.ts";
 *
 * const event = parseRow('{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}');
 * if (event.type !== "turn/start") throw new Error("unreachable");
 * ```
 */
export function parseRow(line: string): SessionEvent {
  const row = readRow(line);
  if (row instanceof RowFault) throw row.toError();
  return row;
}

/**
 * Writes one event as one line, without the newline. Keys keep the order of the object, and every value stays what it is: −0
 * and numbers beyond the doubles, in what another program wrote, too.
 *
 * @example
 * ```ts
 * import { encodeRow, parseRow } from "./row.ts";
 *
 * const line = '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}';
 * if (encodeRow(parseRow(line)) !== line) throw new Error("unreachable");
 * ```
 */
export function encodeRow(event: SessionEvent): string {
  // What was appended here is lossless and frozen. What another program wrote may hold what JSON.stringify changes.
  const text = Object.isFrozen(event) ? JSON.stringify : jsonText;
  // What an event of an unknown type carries under this name is not ours to rewrite.
  if (event.sourceEventSeqs === undefined || !isSurfaceType(event.type)) return text(event);
  return text({ ...event, sourceEventSeqs: encodeSourceEventSeqs(event.sourceEventSeqs) });
}

/**
 * Tells whether a line says of itself that it ends a turn, even when it is otherwise no event.
 *
 * @see session-format §5.4
 *
 * @example
 * ```ts
 * import { rowLooksLikeTurnEnd } from "./row.ts";
 *
 * if (!rowLooksLikeTurnEnd('{"type":"turn/end"}') || rowLooksLikeTurnEnd('[{"type":"turn/end"}]')) throw new Error("unreachable");
 * ```
 */
export function rowLooksLikeTurnEnd(line: string): boolean {
  const row = readRow(line);
  return row instanceof RowFault ? row.isTurnEnd : row.type === "turn/end";
}

/** What version 3 refuses in any row, even in one that follows an issue. */
function refusal(row: JsonRecord): RowFault | null {
  switch (row.type) {
    case "request/header":
      if (!isRecord(row.data)) return refuse("corrupt", row, wrong("data", row.data, "an object"));
      if (!isRecord(row.data.header) || !Object.hasOwn(row.data.header, "system")) return null;
      return refuse("unsupported", row, "a system prompt in the request header, as only older versions write it");
    case "system/message": {
      const problem = systemMessageProblem(row.data);
      return problem === null ? null : refuse("corrupt", row, problem);
    }
    case "tool/code-dispatch":
    case "tool/code-dispatch-start":
      return row.ignorable === true ? null : refuse("unsupported", row, "an event as only older versions write it");
    default:
      return null;
  }
}

/** What makes a row undecodable. Expands `sourceEventSeqs` in place: the row was parsed a moment ago and is ours. */
function issue(row: JsonRecord, expectedSeq: number | undefined): RowFault | null {
  const { type, seq, ignorable } = row;
  if (typeof type !== "string") return fault(row, wrong("type", type, "a string"));
  if (!isCount(seq)) return fault(row, wrong("seq", seq, "a count"));
  if (expectedSeq !== undefined && seq !== expectedSeq) {
    return fault(row, `seq ${seq}, expected ${expectedSeq}`);
  }
  if (!isInt(row.time)) return fault(row, wrong("time", row.time, "an integer"));
  if (row.data === undefined) return fault(row, "no data");
  if (ignorable !== undefined && ignorable !== true) {
    return fault(row, wrong("ignorable", ignorable, "true or nothing"));
  }
  // The envelope of an unknown type is opaque beyond this point: it may carry anything, and means nothing to us.
  if (!isKnownType(type) && !isOwnType(type)) return null;

  for (const key in row) {
    switch (key) {
      case "type":
      case "seq":
      case "time":
      case "data":
      case "ignorable":
        break;
      case "surfaceOp":
        if (!isSurfaceOp(row.surfaceOp)) {
          return fault(row, wrong("surfaceOp", row.surfaceOp, '"append" or a replacement'));
        }
        break;
      case "sourceEventSeqs": {
        const seqs = expand(row.sourceEventSeqs, seq);
        if (typeof seqs === "string") return fault(row, `${seqs} (in sourceEventSeqs)`);
        (row as { sourceEventSeqs: unknown }).sourceEventSeqs = seqs;
        break;
      }
      default:
        return fault(row, `the unknown field ${show(key)}`);
    }
  }
  return null;
}

/** `"append"`, or exactly `{op, startSeq, endSeq}`: the older spelling is corruption here. */
export function isSurfaceOp(value: unknown): boolean {
  if (value === "append") return true;
  if (!isRecord(value) || value.op !== "replace" || !isCount(value.startSeq) || !isCount(value.endSeq)) return false;
  return Object.keys(value).length === 3;
}

function fault(row: JsonRecord, problem: string): RowFault {
  return refuse("issue", row, problem);
}

function refuse(kind: RowFault["kind"], row: JsonRecord, problem: string): RowFault {
  const type = typeof row.type === "string" ? row.type : undefined;
  return new RowFault(kind, problem, type === "turn/end", isCount(row.seq) ? row.seq : undefined, type);
}
