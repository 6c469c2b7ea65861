/**
 * What a listing says about a log of version 0, 1 or 2.
 *
 * @module
 */
import { RowFault, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import { attentionText } from "../../fold/mod.ts";
import { LineScanner, walkFrame } from "../../frame/mod.ts";
import { bytesSource } from "../byte_source.ts";
import type { JournalContext } from "../context.ts";
import { type Finding, foundIn } from "../finding.ts";
import { foldedEvent, type LegacyRow, type LegacyVersion, parseLegacyHeader, readLegacyRow } from "../legacy/mod.ts";
import { LIST_BYTES_MAX, LIST_CONTENT_BYTES_MAX } from "../limits.ts";
import type { LogPlace } from "../locate.ts";
import { Listed } from "../../store/listed.ts";
import { type Content, judged, lastLines, SeenTail } from "../row_content.ts";
import { storedHeader } from "./old_dialect.ts";
import { type OldLog, readOldLog } from "./old_log.ts";

/** How much of a large log's beginning is read, in bytes; the rest of LIST_BYTES_MAX goes to its end. */
const HEAD_BYTES_MAX = 16 * 1024;

/** Everything when it is small, the two ends when it is not. */
export async function oldContent(
  context: JournalContext,
  place: LogPlace,
  version: LegacyVersion,
  sizeBytes: number,
): Promise<Content> {
  return sizeBytes <= LIST_BYTES_MAX
    ? await wholeContent(context, place, version, sizeBytes)
    : await endsContent(context, place, version, sizeBytes);
}

/** What a person should know of a log that is fine and old. */
function ageText(version: LegacyVersion): string {
  return `format version ${version}: the first write publishes the current one beside it`;
}

async function wholeContent(
  context: JournalContext,
  { log, encoding }: LogPlace,
  version: LegacyVersion,
  sizeBytes: number,
): Promise<Content> {
  const bytes = await context.storage.read(log, { startBytes: 0, endBytes: sizeBytes });
  const read = async (view: "migrated" | "viewed"): Promise<{ old: OldLog; seen: Listed }> => {
    const seen = new Listed();
    const old = await readOldLog({
      ...{ ...context, source: bytesSource(log, bytes), sizeBytes: bytes.length, encoding, version, view },
      contentBudgetBytes: LIST_CONTENT_BYTES_MAX,
      sink: (events) => {
        for (const event of events) seen.add(foldedEvent(event));
      },
    });
    return { old, seen };
  };
  const migrated = await read("migrated");
  const { old: { scan, refusal } } = migrated;
  const { seen } = refusal === null ? migrated : await read("viewed");
  const known = { header: scan.header, lastEventTime: seen.lastEventTime };
  const finding = scan.finding ?? refusal;
  if (finding !== null) return { ...known, ...judged(finding) };
  if (scan.isCutShort) {
    return { ...known, state: "unchecked", reason: "it holds a frame that is too large for a listing" };
  }
  const attention = attentionText(seen.turn, seen.unresolved);
  const reason = [attention, ageText(version)].filter(Boolean).join("; ");
  return { ...known, state: seen.turn === null ? "ok" : "open", reason };
}

async function endsContent(
  context: JournalContext,
  place: LogPlace,
  version: LegacyVersion,
  sizeBytes: number,
): Promise<Content> {
  const { storage } = context;
  const header = headerIn(await storage.read(place.log, { startBytes: 0, endBytes: HEAD_BYTES_MAX }), context, place);
  if (header !== null && "code" in header) return { header: null, lastEventTime: null, ...judged(header) };
  const startBytes = sizeBytes - (LIST_BYTES_MAX - HEAD_BYTES_MAX);
  const tail = await storage.read(place.log, { startBytes, endBytes: sizeBytes });
  const { lines, isWhole } = lastLines(tail, startBytes, context, place);
  const seen = new SeenTail();
  for (const line of lines) {
    const row = readLegacyRow(line, version, seen.nextSeq);
    // It may be a torn tail, and what is damage is told by whoever reads the whole.
    if (row instanceof RowFault) break;
    seen.add(glimpseOf(row), row.count);
  }
  const known = { header, lastEventTime: seen.lastEventTime };
  if (isWhole && seen.turn !== null) {
    return { ...known, state: "open", reason: `turn ${seen.turn} is open; ${ageText(version)}` };
  }
  const what = `not wholly read: it has more than ${LIST_BYTES_MAX} bytes`;
  return { ...known, state: "unchecked", reason: `${what}; ${ageText(version)}` };
}

/** As much of a row as the end of a listing looks at. A run lies inside its turn. */
function glimpseOf(row: LegacyRow): SessionEvent {
  if (row.kind === "event") return row.event as unknown as SessionEvent;
  const { firstSeq: seq, turn, step, record: { time0, dt } } = row;
  return { type: "assistant/message", seq, time: dt.reduce((sum, ms) => sum + ms, time0), data: { turn, step } };
}

/** The header at the beginning of a large log, or what is wrong there; `null` when it does not fit into what was read. */
function headerIn(
  head: Uint8Array<ArrayBuffer>,
  { codec }: JournalContext,
  { encoding }: LogPlace,
): SessionHeader | Finding | null {
  const at = { offsetBytes: 0, seq: null };
  try {
    let plain = head;
    if (encoding === "zstd") {
      const walk = walkFrame(head, 0);
      if (walk.kind === "torn") return null;
      if (walk.kind === "corrupt") return { code: "CORRUPT_FRAME", ...at, message: walk.message };
      plain = codec.decompress(head.subarray(0, walk.endOffset), LIST_CONTENT_BYTES_MAX);
    }
    const [line] = new LineScanner().feed(plain);
    if (line !== undefined) return storedHeader(parseLegacyHeader(line.text));
    return encoding === "none" ? null : { code: "CORRUPT_LOG", ...at, message: "its first frame is no header" };
  } catch (error) {
    const isForeign = error instanceof Error && "code" in error && error.code === "UNSUPPORTED_FORMAT";
    return { code: isForeign ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG", ...at, message: `header: ${foundIn(error)}` };
  }
}
