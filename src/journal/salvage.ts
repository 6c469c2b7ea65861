/**
 * What a torn tail still yields. Pure: bytes in, rows out.
 *
 * @see architecture "Torn tail of a log"; session-format §5.3
 * @module
 */
import { isRequiredUnknown, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import { LineScanner, type ZstdCodec } from "../frame/mod.ts";
import type { CheckedLog } from "./checked_log.ts";
import { CURRENT_DIALECT, type Dialect, isRow } from "./dialect.ts";
import { type Finding, rowFinding, unknownEvent } from "./finding.ts";

/** Records that follow the last complete frame. */
export interface Salvage {
  readonly events: readonly SessionEvent[];
  /** Exactly the lines of `events`, each with its `\n`: what the next writer puts back. */
  readonly rows: Uint8Array<ArrayBuffer>;
  /** The log with them. */
  readonly log: CheckedLog;
  /** A row among or right behind them that forbids writing. */
  readonly objection: Finding | null;
}

/** The log a tail continues. */
export interface TailContext {
  readonly log: CheckedLog;
  readonly header: SessionHeader;
  /** Where the tail begins. */
  readonly offsetBytes: number;
  readonly codec: ZstdCodec;
  readonly contentSizeBytesMax: number;
  /** One whose rows are events. Default: version 3. */
  readonly dialect?: Dialect<SessionEvent>;
}

/** The tail that yields the most contiguous records; the first one of several such. `null` when none yields any. */
export function salvageBest(tails: readonly Uint8Array[], context: TailContext): Salvage | null {
  let best: Salvage | null = null;
  for (const tail of tails) {
    const salvage = salvageRows(tail, context);
    const isBetter = salvage.events.length > (best?.events.length ?? 0);
    if (isBetter || (best === null && salvage.objection !== null)) best = salvage;
  }
  return best;
}

/** The whole, valid, contiguous records at the start of one tail. Without a checksum nothing behind a bad record is believed. */
function salvageRows(tail: Uint8Array, context: TailContext): Salvage {
  const { codec, header, offsetBytes, contentSizeBytesMax, dialect = CURRENT_DIALECT } = context;
  const plain = codec.salvage(tail, contentSizeBytesMax);
  const events: SessionEvent[] = [];
  let { log } = context;
  let rowsBytes = 0;
  let objection: Finding | null = null;
  for (const line of new LineScanner(0, contentSizeBytesMax).feed(plain)) {
    const event = dialect.readRow(line.text, log.nextSeq);
    if (!isRow(event)) {
      if (event.kind !== "issue") objection ??= rowFinding(event, offsetBytes, log.nextSeq);
      break;
    }
    const next = dialect.accept(log, event, header);
    if (typeof next === "string") break;
    if (isRequiredUnknown(event)) objection ??= unknownEvent(event, offsetBytes);
    log = next;
    events.push(event);
    rowsBytes = line.endOffset;
  }
  return { events, rows: plain.slice(0, rowsBytes), log, objection };
}
