/**
 * What a listing says about one log: everything when it is small, the two ends when it is not.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import { FORMAT_VERSION, RowFault, type SessionEvent, type SessionHeader, shapeProblem } from "../event/mod.ts";
import { attentionText } from "../fold/mod.ts";
import { LineScanner, walkFrame } from "../frame/mod.ts";
import { Listed } from "../store/listed.ts";
import type { SessionRow } from "../store/session_store.ts";
import { bytesSource } from "./byte_source.ts";
import type { JournalContext } from "./context.ts";
import { type Finding, foundIn } from "./finding.ts";
import { LIST_BYTES_MAX, LIST_CONTENT_BYTES_MAX } from "./limits.ts";
import { type LogPlace, misplaced, newerVersionText } from "./locate.ts";
import { CURRENT_DIALECT, type Dialect } from "./dialect.ts";
import { FUTURE_DIALECT } from "./generations/future_dialect.ts";
import { oldContent } from "./generations/old_row.ts";
import { isLegacyVersion } from "./legacy/mod.ts";
import { type Content, judged, lastLines, SeenTail } from "./row_content.ts";
import { startScan } from "./start_scan.ts";
import { readTail } from "./tail.ts";
import { hasTornCopies } from "./torn_tail.ts";

/** How much of a large log's beginning is read, in bytes; the rest of LIST_BYTES_MAX goes to its end. */
const HEAD_BYTES_MAX = 16 * 1024;

/**
 * The row of one log; `null` when it went away meanwhile. Never rejects because of what the bytes are, or because this one log
 * cannot be read.
 */
export async function rowOf(context: JournalContext, place: LogPlace): Promise<SessionRow | null> {
  const { storage } = context;
  let sizeBytes = 0;
  let content: Content;
  let lock: LockLook = { live: false, problem: null };
  try {
    sizeBytes = (await storage.stat(place.log))?.sizeBytes ?? 0;
    lock = await lookAtLock(context, place);
    content = await contentOf(context, place, sizeBytes);
  } catch (error) {
    if (hasCode(error, "NOT_FOUND")) return null;
    if (!hasCode(error, "STORAGE_LOST")) throw error;
    content = { header: null, state: "damaged", reason: foundIn(error), lastEventTime: null };
  }
  const { id, log, version, encoding } = place;
  const reason = lock.problem === null ? content.reason : [content.reason, lock.problem].filter(Boolean).join("; ");
  return { id, name: log, ...content, reason, sizeBytes, version, encoding, live: lock.live };
}

/** Whether a session is held, or why nobody can tell. */
interface LockLook {
  readonly live: boolean;
  readonly problem: string | null;
}

/** What stands in the place of a lock says nothing about the log beside it, which stays as readable as it was. */
async function lookAtLock({ storage }: JournalContext, { lock }: LogPlace): Promise<LockLook> {
  try {
    return { live: await storage.isLocked(lock), problem: null };
  } catch (error) {
    if (!hasCode(error, "STORAGE_LOST")) throw error;
    return { live: false, problem: `whether it is in use is not known, and it cannot be written: ${foundIn(error)}` };
  }
}

/** A row for something that stands where a session should, and is none. */
export function strangerRow(id: string, name: string, state: "damaged" | "unsupported", reason: string): SessionRow {
  return {
    ...{ id, name, header: null, state, reason },
    ...{ sizeBytes: 0, version: null, encoding: null, lastEventTime: null, live: false },
  };
}

async function contentOf(context: JournalContext, place: LogPlace, sizeBytes: number): Promise<Content> {
  let content = isLegacyVersion(place.version)
    ? await oldContent(context, place, place.version, sizeBytes)
    : sizeBytes <= LIST_BYTES_MAX
    ? await wholeContent(context, place, sizeBytes)
    : await endsContent(context, place, sizeBytes);
  // Whatever is odd in a log of a later version, nobody here can say that it is damage.
  if (place.version > FORMAT_VERSION) {
    const odd = content.state === "damaged" ? `; this build does not understand it: ${content.reason}` : "";
    content = { ...content, state: "unsupported", reason: newerVersionText(place.version) + odd };
  }
  if (content.header === null || content.state === "damaged") return content;
  const objection = place.objection ?? await misplaced(context.storage, place, content.header);
  return objection === null ? content : { ...content, ...judged(objection) };
}

/** How the rows of a log are read, by the version in its name. An older version has a way of its own. */
function dialectOf({ version }: LogPlace): Dialect<SessionEvent> {
  return version > FORMAT_VERSION ? FUTURE_DIALECT : CURRENT_DIALECT;
}

/** Reads and checks the whole log. */
async function wholeContent(context: JournalContext, place: LogPlace, sizeBytes: number): Promise<Content> {
  const { storage } = context;
  const bytes = await storage.read(place.log, { startBytes: 0, endBytes: sizeBytes });
  const dialect = dialectOf(place);
  const scan = startScan({ ...context, encoding: place.encoding, contentBudgetBytes: LIST_CONTENT_BYTES_MAX, dialect });
  const seen = new Listed();
  await scan.advance(bytesSource(place.log, bytes), bytes.length, { visit: (event) => seen.add(event) });
  const { header } = scan;
  const tail = await readTail(context, { ...place, dialect }, scan, LIST_BYTES_MAX - bytes.length);
  for (const event of tail.salvage?.events ?? []) if (dialect.eventOf(event) !== null) seen.add(event);

  const finding = scan.finding ?? tail.salvage?.objection ?? null;
  if (scan.isCutShort || tail.isCutShort) {
    // What was seen is not the end of the log: nothing about its end may be told from it.
    const ends = scan.isCutShort
      ? await endOf(context, place, bytes.subarray(scan.endBytes), scan.endBytes)
      : UNKNOWN_END;
    if (finding !== null) return { header, lastEventTime: ends.lastEventTime, ...judged(finding) };
    const what = scan.isCutShort
      ? "it holds a frame that is too large for a listing"
      : "copies of its torn tail are too large";
    return contentOfEnd(header, ends, what);
  }
  const { lastEventTime } = seen;
  if (finding !== null) return { header, lastEventTime, ...judged(finding) };
  const attention = attentionText(seen.turn, seen.unresolved);
  return { header, lastEventTime, state: seen.turn === null ? "ok" : "open", reason: attention };
}

/** Reads the header and the last records of a log. */
async function endsContent(context: JournalContext, place: LogPlace, sizeBytes: number): Promise<Content> {
  const { storage } = context;
  const head = await storage.read(place.log, { startBytes: 0, endBytes: HEAD_BYTES_MAX });
  const header = headerIn(head, context, place);
  if (header !== null && "code" in header) return { header: null, lastEventTime: null, ...judged(header) };

  const startBytes = sizeBytes - (LIST_BYTES_MAX - HEAD_BYTES_MAX);
  const tail = await storage.read(place.log, { startBytes, endBytes: sizeBytes });
  const end = await endOf(context, place, tail, startBytes);
  return contentOfEnd(header, end, `not wholly read: it has more than ${LIST_BYTES_MAX} bytes`);
}

/** What the last records of a log say, as far as they are certain; all `null` when they say nothing. */
interface LogEnd {
  readonly lastEventTime: number | null;
  /** The turn they leave open. */
  readonly turn: number | null;
  /** What is wrong with one of them. */
  readonly problem: string | null;
}

const UNKNOWN_END: LogEnd = { lastEventTime: null, turn: null, problem: null };

/** Looks at the last whole records in the last bytes of a log. */
async function endOf(
  context: JournalContext,
  place: LogPlace,
  tail: Uint8Array<ArrayBuffer>,
  startBytes: number,
): Promise<LogEnd> {
  const endBytes = startBytes + tail.length;
  // Where a writer died between the cut of a torn tail and the append of what it yielded, a copy holds the last records.
  if (place.encoding === "zstd" && await hasTornCopies({ ...context, ...place }, endBytes)) return UNKNOWN_END;
  const { lines, isWhole } = lastLines(tail, startBytes, context, place);
  const seen = new SeenTail();
  for (const line of lines) {
    const row = dialectOf(place).readRow(line, seen.nextSeq);
    const problem = row instanceof RowFault ? row.problem : shapeProblem(row);
    if (problem === null) {
      seen.add(row as SessionEvent);
      continue;
    }
    // What does not decode at the end of a raw log may be a torn tail.
    if (place.encoding === "none" && row instanceof RowFault && row.kind === "issue") break;
    return { lastEventTime: seen.lastEventTime, turn: null, problem };
  }
  const { lastEventTime, turn } = seen;
  return isWhole ? { lastEventTime, turn, problem: null } : UNKNOWN_END;
}

/** The content of a log of which only the end is known. */
function contentOfEnd(header: SessionHeader | null, { lastEventTime, turn, problem }: LogEnd, what: string): Content {
  const known = { header, lastEventTime };
  if (problem !== null) return { ...known, state: "damaged", reason: `a row near its end: ${problem}` };
  if (turn !== null) return { ...known, state: "open", reason: `turn ${turn} is open` };
  return { ...known, state: "unchecked", reason: what };
}

/** The header at the beginning of a large log, or what is wrong there; `null` when it does not fit into what was read. */
function headerIn(
  head: Uint8Array<ArrayBuffer>,
  { codec }: JournalContext,
  place: LogPlace,
): SessionHeader | Finding | null {
  const at = { offsetBytes: 0, seq: null };
  try {
    let plain = head;
    if (place.encoding === "zstd") {
      const walk = walkFrame(head, 0);
      if (walk.kind === "torn") return null;
      if (walk.kind === "corrupt") return { code: "CORRUPT_FRAME", ...at, message: walk.message };
      plain = codec.decompress(head.subarray(0, walk.endOffset), LIST_CONTENT_BYTES_MAX);
    }
    const [line] = new LineScanner().feed(plain);
    if (line !== undefined) return dialectOf(place).parseHeader(line.text);
    return place.encoding === "none" ? null : { code: "CORRUPT_LOG", ...at, message: "its first frame is no header" };
  } catch (error) {
    const code = hasCode(error, "UNSUPPORTED_FORMAT") ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
    return { code, ...at, message: `header: ${foundIn(error)}` };
  }
}
