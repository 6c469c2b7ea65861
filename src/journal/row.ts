/**
 * What a listing says about one log: everything when it is small, the two ends when it is not.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import {
  FORMAT_VERSION,
  parseHeader,
  readRow,
  RowFault,
  type SessionEvent,
  type SessionHeader,
  shapeProblem,
} from "../event/mod.ts";
import { attentionText, type Brackets, bracketsFold, type Unresolved, unresolvedFold } from "../fold/mod.ts";
import { lastFrames, LineScanner, walkFrame } from "../frame/mod.ts";
import type { SessionRow } from "../store/session_store.ts";
import { bytesSource } from "./byte_source.ts";
import type { JournalContext } from "./context.ts";
import { type Finding, foundIn } from "./finding.ts";
import { LIST_BYTES_MAX, LIST_CONTENT_BYTES_MAX } from "./limits.ts";
import { type LogPlace, misplaced, versionText } from "./locate.ts";
import { startScan } from "./start_scan.ts";
import { readTail } from "./tail.ts";

/** How much of a large log's beginning is read, in bytes; the rest of LIST_BYTES_MAX goes to its end. */
const HEAD_BYTES_MAX = 16 * 1024;

/** The part of a row that depends on the content. */
type Content = Pick<SessionRow, "header" | "state" | "reason" | "lastEventTime">;

/**
 * The row of one log; `null` when it went away meanwhile. Never rejects because of what the bytes are, or because this one log
 * cannot be read.
 */
export async function rowOf(context: JournalContext, place: LogPlace): Promise<SessionRow | null> {
  const { storage } = context;
  let sizeBytes = 0;
  let content: Content;
  let live = false;
  try {
    sizeBytes = (await storage.stat(place.log))?.sizeBytes ?? 0;
    live = await storage.isLocked(place.lock);
    content = await contentOf(context, place, sizeBytes);
  } catch (error) {
    if (hasCode(error, "NOT_FOUND")) return null;
    if (!hasCode(error, "STORAGE_LOST")) throw error;
    content = { header: null, state: "damaged", reason: foundIn(error), lastEventTime: null };
  }
  const { id, log, version, encoding } = place;
  return { id, name: log, ...content, sizeBytes, version, encoding, live };
}

/** A row for something that stands where a session should, and is none. */
export function strangerRow(id: string, name: string, state: "damaged" | "unsupported", reason: string): SessionRow {
  return {
    ...{ id, name, header: null, state, reason },
    ...{ sizeBytes: 0, version: null, encoding: null, lastEventTime: null, live: false },
  };
}

async function contentOf(context: JournalContext, place: LogPlace, sizeBytes: number): Promise<Content> {
  if (place.version !== FORMAT_VERSION) {
    return { header: null, state: "unsupported", reason: versionText(place.log, place.version), lastEventTime: null };
  }
  const content = sizeBytes <= LIST_BYTES_MAX
    ? await wholeContent(context, place, sizeBytes)
    : await endsContent(context, place, sizeBytes);
  if (content.header === null || content.state === "damaged") return content;
  const objection = place.objection ?? await misplaced(context.storage, place, content.header);
  return objection === null ? content : { ...content, ...judged(objection) };
}

/** Reads and checks the whole log. */
async function wholeContent(context: JournalContext, place: LogPlace, sizeBytes: number): Promise<Content> {
  const { storage } = context;
  const bytes = await storage.read(place.log, { startBytes: 0, endBytes: sizeBytes });
  const scan = startScan({ ...context, encoding: place.encoding, contentBudgetBytes: LIST_CONTENT_BYTES_MAX });
  const seen = new Seen();
  await scan.advance(bytesSource(place.log, bytes), bytes.length, { visit: (event) => seen.add(event) });
  const { header } = scan;
  const tail = await readTail(context, place, scan, LIST_BYTES_MAX - bytes.length);
  for (const event of tail.salvage?.events ?? []) seen.add(event);
  const { lastEventTime } = seen;

  const finding = scan.finding ?? tail.salvage?.objection ?? null;
  if (finding !== null) return { header, lastEventTime, ...judged(finding) };
  const attention = attentionText(seen.turn, seen.unresolved);
  if (seen.turn !== null) return { header, lastEventTime, state: "open", reason: attention };
  if (scan.isCutShort || tail.isCutShort) {
    const reason = scan.isCutShort
      ? "it holds a frame that is too large for a listing"
      : "copies of its torn tail are too large";
    return { header, lastEventTime, state: "unchecked", reason };
  }
  return { header, lastEventTime, state: "ok", reason: attention };
}

/** Reads the header and the last records of a log. */
async function endsContent(context: JournalContext, place: LogPlace, sizeBytes: number): Promise<Content> {
  const { storage } = context;
  const head = await storage.read(place.log, { startBytes: 0, endBytes: HEAD_BYTES_MAX });
  const header = headerIn(head, context, place);
  if (header !== null && "code" in header) return { header: null, lastEventTime: null, ...judged(header) };

  const startBytes = sizeBytes - (LIST_BYTES_MAX - HEAD_BYTES_MAX);
  const tail = await storage.read(place.log, { startBytes, endBytes: sizeBytes });
  const seen = new SeenTail();
  for (const line of lastLines(tail, startBytes, context, place)) {
    const row = readRow(line);
    const problem = row instanceof RowFault ? row.problem : shapeProblem(row);
    if (problem === null) {
      seen.add(row as SessionEvent);
      continue;
    }
    // What does not decode at the end of a raw log may be a torn tail.
    if (place.encoding === "none" && row instanceof RowFault && row.kind === "issue") break;
    return { header, lastEventTime: seen.lastEventTime, state: "damaged", reason: `a row near its end: ${problem}` };
  }
  const { lastEventTime, turn } = seen;
  if (turn !== null) return { header, lastEventTime, state: "open", reason: `turn ${turn} is open` };
  return {
    ...{ header, lastEventTime, state: "unchecked" },
    reason: `not wholly read: it has more than ${LIST_BYTES_MAX} bytes`,
  };
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
    if (line !== undefined) return parseHeader(line.text);
    return place.encoding === "none" ? null : { code: "CORRUPT_LOG", ...at, message: "its first frame is no header" };
  } catch (error) {
    const code = hasCode(error, "UNSUPPORTED_FORMAT") ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
    return { code, ...at, message: `header: ${foundIn(error)}` };
  }
}

/** The last whole lines of a large log, as far as they are certain. */
function* lastLines(
  tail: Uint8Array<ArrayBuffer>,
  startBytes: number,
  { codec }: JournalContext,
  { encoding }: LogPlace,
): Generator<string, void, undefined> {
  const pieces = encoding === "zstd"
    ? lastFrames(tail, startBytes, codec).map(({ content }) => content)
    : [tail.subarray(tail.indexOf(0x0a) + 1)];
  const lines = new LineScanner();
  for (const piece of pieces) for (const { text } of lines.feed(piece)) yield text;
}

/** What a listing wants to know of all events of a log. */
class Seen {
  lastEventTime: number | null = null;
  unresolved: Unresolved = unresolvedFold.initial();
  #brackets: Brackets = bracketsFold.initial();

  add(event: SessionEvent): void {
    this.lastEventTime = event.time;
    this.unresolved = unresolvedFold.apply(this.unresolved, event);
    this.#brackets = bracketsFold.apply(this.#brackets, event);
  }

  get turn(): number | null {
    return this.#brackets.turn;
  }
}

/** Events that stand nowhere but inside a turn, and name it. */
const INSIDE_TURN: ReadonlySet<string> = new Set([
  ...["turn/start", "step/start", "step/end", "assistant/message", "tool/call"],
]);

/** The same of the last events only: the start of the turn may lie before them. */
class SeenTail {
  lastEventTime: number | null = null;
  turn: number | null = null;

  add(event: SessionEvent): void {
    this.lastEventTime = event.time;
    if (event.type === "turn/end") this.turn = null;
    else if (INSIDE_TURN.has(event.type)) this.turn = (event.data as { readonly turn: number }).turn;
  }
}

function judged({ code, message }: Finding): Pick<SessionRow, "state" | "reason"> {
  return { state: code === "UNSUPPORTED_FORMAT" ? "unsupported" : "damaged", reason: message };
}
