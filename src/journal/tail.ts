/**
 * What stands behind the last complete record of a log, and what of it is still readable.
 *
 * @see architecture "Torn tail of a log"
 * @module
 */
import type { ZstdCodec } from "../frame/mod.ts";
import type { StoragePort } from "../storage/storage_port.ts";
import type { TornTail } from "../store/session_store.ts";
import type { SessionEvent } from "../event/mod.ts";
import type { Dialect } from "./dialect.ts";
import type { Finding } from "./finding.ts";
import { frameBehind } from "./frame_behind.ts";
import type { JournalLimits } from "./limits.ts";
import { type Salvage, salvageBest } from "./salvage.ts";
import type { LogScan } from "./scan.ts";
import { readTornCopies, type TornCopies } from "./torn_tail.ts";

/** The end of a log. */
export interface LogTail {
  readonly torn: TornTail | null;
  readonly salvage: Salvage | null;
  /** Copies that belong to this end were not all read. */
  readonly isCutShort: boolean;
}

/** A log that ends with a complete record. */
export const CLEAN_TAIL: LogTail = { torn: null, salvage: null, isCutShort: false };

/** Where a log and the copies of its torn tails lie. */
export interface TailPlace {
  readonly folder: string;
  readonly log: string;
  /** How its rows are read. Default: as version 3. */
  readonly dialect?: Dialect<SessionEvent>;
}

/**
 * Looks at the tail a scan ended with, and at the copies beside the log: whichever yields the most records counts.
 *
 * @param copiesBytesMax the most bytes to read of copies
 */
export async function readTail(
  context: { readonly storage: StoragePort; readonly codec: ZstdCodec; readonly limits: JournalLimits },
  place: TailPlace,
  scan: LogScan,
  copiesBytesMax = Infinity,
): Promise<LogTail> {
  if (scan.stop !== null || scan.header === null) return CLEAN_TAIL;
  const { endBytes, tailBytes, log, header } = scan;
  let salvage: Salvage | null = null;
  let isCutShort = false;
  if (scan.mayHaveSalvage) {
    const copies: TornCopies = { ...context, ...place };
    const tails = await readTornCopies(copies, endBytes, copiesBytesMax);
    isCutShort = tails === null;
    const { codec, limits: { contentSizeBytesMax } } = context;
    const { dialect } = place;
    salvage = salvageBest([scan.tornFrame, ...(tails ?? [])], {
      ...{ log, header, codec, contentSizeBytesMax, dialect },
      offsetBytes: endBytes,
    });
    const isDamage = tails?.some((tail) =>
      frameBehind(tail, {
        ...{ codec, nextSeq: log.nextSeq, contentSizeBytesMax, dialect },
        contentBudgetBytes: contentSizeBytesMax,
      }) !== "none"
    );
    if (isDamage === true) {
      salvage = { ...(salvage ?? { events: [], rows: new Uint8Array(0), log }), objection: cutOff(scan) };
    }
  }
  const salvagedEvents = salvage?.events.length ?? 0;
  if (tailBytes === 0 && salvagedEvents === 0) return { torn: null, salvage, isCutShort };
  return { torn: { offsetBytes: endBytes, bytes: tailBytes, salvagedEvents }, salvage, isCutShort };
}

/** What was taken for a torn tail and cut off was damage, and nothing was written since: going on here would bury it. */
function cutOff({ endBytes, log: { nextSeq } }: LogScan): Finding {
  const message = "a copy of what was cut off here holds whole frames of later events";
  return { code: "CORRUPT_FRAME", offsetBytes: endBytes, seq: nextSeq, message };
}
