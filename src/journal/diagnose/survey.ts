/**
 * Reads a log whole, whatever state it is in, and says what stands in it: branches of rows, lost bytes, and everything wrong.
 *
 * @module
 */
import { hasCode } from "../../errors.ts";
import {
  FORMAT_VERSION,
  isRequiredUnknown,
  parseHeader,
  type SessionEvent,
  type SessionHeader,
  shapeProblem,
} from "../../event/mod.ts";
import { isRecord, type JsonRecord } from "../../event/checks.ts";
import { FRAME_MAGIC } from "../../frame/mod.ts";
import { type CheckedLog, emptyLog, withEvent } from "../checked_log.ts";
import { foundIn } from "../finding.ts";
import { generationOf, type LogEncoding } from "../layout.ts";
import {
  isLegacyVersion,
  type LegacyHeader,
  legacyHeaderOf,
  type LegacyRow,
  type LegacyVersion,
} from "../legacy/mod.ts";
import { startScan } from "../start_scan.ts";
import { type Branch, Branches, fingerprintOf, type Placed, type PlacedRow } from "./branches.ts";
import { type DamageKind, type Diagnosis, diagnosis, FINDINGS_MAX } from "./kinds.ts";
import { type FoundRow, readRows, type StoredRow } from "./rows.ts";
import type { BytePlace, LogBytes, LookOptions } from "./source.ts";

/** How many pieces of a file that are in no row are told one by one; of more, the last one stands for all that follow. */
export const LOST_PIECES_MAX = 16_384;

/** Bytes that are in no row. */
export interface LostPiece extends BytePlace {
  readonly reason: string;
}

/** What a log is made of. */
export interface Survey {
  readonly encoding: LogEncoding;
  /** As the header says, or without one the name of the file; else 3. `null` when this build does not read it. */
  readonly version: 3 | LegacyVersion | null;
  /** The record as it stands there; `null` when there is none. */
  readonly headerRecord: JsonRecord | null;
  /** Where it stands. */
  readonly headerPlace: BytePlace | null;
  /** The header of a version-3 log, when nothing is wrong with it. */
  readonly header: SessionHeader | null;
  /** The header of an older log, when nothing is wrong with it. */
  readonly legacyHeader: LegacyHeader | null;
  /** Time of the first event that was found; `null` when there is none. */
  readonly firstTime: number | null;
  /** One of each writer, in the order in which they began. The first may be without rows. */
  readonly branches: readonly Branch[];
  /** In the order of the file. */
  readonly lost: readonly LostPiece[];
  /** In the order of the file, at most FINDINGS_MAX. */
  readonly findings: readonly Diagnosis[];
  /** How many more there are. */
  readonly omitted: number;
}

/** Tells the encoding from the first bytes; what begins like neither is told by where frames are. */
export async function encodingOf(source: LogBytes): Promise<LogEncoding> {
  const head = await source.read(0, Math.min(source.sizeBytes, 64 * 1024));
  if (FRAME_MAGIC.every((byte, index) => head[index] === byte)) return "zstd";
  if (head[0] === OPENING_BRACE) return "none";
  for (let at = head.indexOf(FRAME_MAGIC[0]!); at !== -1; at = head.indexOf(FRAME_MAGIC[0]!, at + 1)) {
    if (FRAME_MAGIC.every((byte, index) => head[at + index] === byte)) return "zstd";
  }
  return "none";
}

const OPENING_BRACE = 0x7b;

/** Reads a log once, from its first byte to its last. Never throws because of what the bytes are. */
export async function survey(source: LogBytes, options: LookOptions): Promise<Survey> {
  // Where no header says it, the name of the file may.
  const named = generationOf(source.name.slice(source.name.lastIndexOf("/") + 1))?.version;
  const assumed = isLegacyVersion(named) ? named : FORMAT_VERSION;
  const found = await surveyAs(source, options, assumed);
  const { version } = found;
  // What stands before a header is read by the same rules as what stands behind it.
  const isOther = version !== null && version !== assumed && found.findings.some(({ kind }) => OUT_OF_PLACE.has(kind));
  return await withTail(isOther ? await surveyAs(source, options, version) : found, source, options);
}

/** Findings of a log whose header does not come first. */
const OUT_OF_PLACE: ReadonlySet<DamageKind> = new Set(["header-missing", "header-in-wrong-frame"]);

async function surveyAs(source: LogBytes, options: LookOptions, version: 3 | LegacyVersion): Promise<Survey> {
  const encoding = await encodingOf(source);
  const surveyor = new Surveyor(encoding, version);
  for await (const evidence of readRows(source, 0, { ...options, encoding, version })) {
    switch (evidence.kind) {
      case "header":
        // Whatever follows is written by rules that are not known here.
        if (!surveyor.takeHeader(evidence.record, evidence.text, evidence.place)) return surveyor.end(source.sizeBytes);
        break;
      case "row":
        surveyor.takeRow(evidence);
        break;
      case "damage":
        surveyor.takeDamage(evidence.finding, evidence.place, evidence.isLost);
    }
  }
  return surveyor.end(source.sizeBytes);
}

/**
 * Behind what a reader accepts stands a torn tail, whatever it looks like, when nothing accepted follows: the next
 * writer puts it in order.
 *
 * @see session-format §5.4
 */
async function withTail(found: Survey, source: LogBytes, { codec, limits, signal }: LookOptions): Promise<Survey> {
  const { encoding, version, findings } = found;
  if (version !== FORMAT_VERSION || findings.length === 0) return found;
  const scan = startScan({ encoding, codec, limits });
  await scan.advance(source, source.sizeBytes, { signal });
  const { finding } = scan;
  if (finding !== null && findings.every(({ severity }) => severity !== "damage")) {
    // Behind a torn tail nobody can say that the end of a seed is missing, but a reader does.
    const place = { offsetBytes: finding.offsetBytes };
    return { ...found, findings: [...findings, diagnosis("missing-seed-end", place, finding.seq, finding.message)] };
  }
  if (finding !== null || scan.tailBytes === 0) return found;
  const isTail = (finding: Diagnosis) => finding.severity === "damage" && (finding.offsetBytes ?? 0) >= scan.endBytes;
  return {
    ...found,
    findings: findings.map((finding) => isTail(finding) ? { ...finding, severity: "tail" } : finding),
  };
}

class Surveyor {
  readonly #encoding: LogEncoding;
  readonly #branches = new Branches();
  readonly #lost: LostPiece[] = [];
  readonly #findings: Diagnosis[] = [];
  #omitted = 0;
  /** The last finding, when it may be about the next event too. */
  #growing: { readonly kind: DamageKind; readonly firstSeq: number; lastSeq: number } | null = null;
  #version: Survey["version"];
  #headerRecord: JsonRecord | null = null;
  #headerPlace: BytePlace | null = null;
  #header: SessionHeader | null = null;
  #legacyHeader: LegacyHeader | null = null;
  #firstTime: number | null = null;
  /** What may come next, as long as nothing is missing. */
  #log: CheckedLog | null = emptyLog();
  /** A row that fits nowhere, until the next one shows whether it stands in its place with a wrong seq. */
  #misfit: FoundRow | null = null;

  constructor(encoding: LogEncoding, version: 3 | LegacyVersion) {
    this.#encoding = encoding;
    this.#version = version;
  }

  /** Returns whether its version is one that this build reads. */
  takeHeader(record: JsonRecord, text: string, place: BytePlace): boolean {
    this.#headerRecord = record;
    this.#headerPlace = place;
    const { version } = record;
    try {
      if (isLegacyVersion(version)) {
        this.#version = version;
        this.#legacyHeader = legacyHeaderOf(record);
      } else {
        this.#version = FORMAT_VERSION;
        this.#header = parseHeader(text);
      }
    } catch (error) {
      const isOther = typeof version === "number" && version !== FORMAT_VERSION && !isLegacyVersion(version);
      if (isOther) this.#version = null;
      const kind = isOther ? "unsupported-version" : "header-damaged";
      if (!hasCode(error, "CORRUPT_LOG") && !hasCode(error, "UNSUPPORTED_FORMAT")) throw error;
      this.#find(diagnosis(kind, place, null, `header: ${foundIn(error)}`));
    }
    return this.#version !== null;
  }

  takeDamage(finding: Diagnosis, place: BytePlace, isLost: boolean): void {
    this.#settleMisfit(null);
    const seq = finding.seq ?? (finding.kind.startsWith("header") ? null : this.#branches.last.nextSeq);
    this.#find({ ...finding, seq });
    if (!isLost) return;
    this.#log = null;
    this.#lose(place, finding.message);
  }

  takeRow(row: FoundRow): void {
    this.#firstTime ??= timeOf(row.stored);
    if (this.#misfit !== null) {
      this.#settleMisfit(row);
    } else if (
      !this.#branches.continues(row) && this.#branches.last.fingerprintAt(row.seq) !== fingerprintOf(row.text)
    ) {
      this.#misfit = row;
      return;
    }
    this.#place(row);
  }

  end(sizeBytes: number): Survey {
    this.#settleMisfit(null);
    const header = this.#header;
    if (header?.isSeeded === true && this.#log !== null && !this.#log.hasInheritedSeed) {
      const message = "the header says that events were inherited, and no session/end-seed says which";
      this.#find(diagnosis("missing-seed-end", { offsetBytes: sizeBytes }, this.#log.nextSeq, message));
    }
    const known = { encoding: this.#encoding, version: this.#version, branches: this.#branches.all };
    const headers = { headerRecord: this.#headerRecord, headerPlace: this.#headerPlace, firstTime: this.#firstTime };
    return {
      ...{ ...known, ...headers, header, legacyHeader: this.#legacyHeader },
      ...{ lost: this.#lost, findings: this.#findings, omitted: this.#omitted },
    };
  }

  /** When the next row skips exactly the place of the misfit, the misfit stands there with a wrong seq. */
  #settleMisfit(next: FoundRow | null): void {
    const row = this.#misfit;
    if (row === null) return;
    this.#misfit = null;
    const wanted = this.#branches.last.nextSeq;
    if (next === null || next.seq !== wanted + row.count || row.count !== 1) {
      this.#place(row);
      return;
    }
    const message = `the event between seq ${wanted - 1} and seq ${next.seq} says that it is seq ${row.seq}`;
    this.#find(diagnosis("wrong-seq", row.place, wanted, message));
    this.#log = null;
    this.#branches.place({
      ...row,
      ...cuesOf(row),
      seq: wanted,
      saysSeq: row.seq,
      fingerprint: fingerprintOf(row.text),
    });
  }

  #place(row: FoundRow): void {
    const placed = this.#branches.place({ ...row, ...cuesOf(row), fingerprint: fingerprintOf(row.text) });
    this.#tell(row, placed);
    if (placed.how === "next" && this.#log !== null) this.#check(row);
    else this.#log = null;
  }

  /** Says what is strange about the place of a row. */
  #tell({ seq, place }: FoundRow, placed: Placed): void {
    switch (placed.how) {
      case "next":
        return;
      case "gap": {
        const [first, last] = placed.missing;
        const message = first === last ? `seq ${first} is not there` : `seq ${first} to ${last} are not there`;
        this.#find(diagnosis("missing-seq", { offsetBytes: place.offsetBytes }, first, message));
        return;
      }
      case "late":
        this.#findMany("out-of-order", place, seq, (range) => `seq ${range} stand behind events that follow them`);
        return;
      case "doubled":
        this.#findMany("doubled-seq", place, seq, (range) => `seq ${range} a second time, the same`);
        this.#lose(place, "events that are there already");
        return;
      case "fork": {
        const { branch } = placed;
        const message = `a second writer begins: another seq ${seq} than the one before (branch ${branch.name})`;
        this.#find(diagnosis("forked-sequence", place, seq, message));
        return;
      }
      case "too many branches":
        this.#find(diagnosis("forked-sequence", place, seq, "more branches than can be told apart"));
        this.#lose(place, `seq ${seq} of one branch too many`);
    }
  }

  /** Whether the event may stand here. Of old versions only their own decoder could tell. */
  #check({ stored, place }: FoundRow): void {
    if (stored.version !== FORMAT_VERSION) return;
    const { event } = stored as { readonly event: SessionEvent };
    const header = this.#header ?? ASSUMED_HEADER;
    const next = withEvent(this.#log!, event, header);
    if (typeof next === "string") {
      const message = `event ${event.seq} (${JSON.stringify(event.type)}): ${next}`;
      this.#find(diagnosis("unlawful-event", place, event.seq, message));
      // What it would have done to the surface is not known, and later events are measured by that.
      if (shapeProblem(event) === null) this.#log = null;
      else this.#log = { ...this.#log!, nextSeq: event.seq + 1 };
      return;
    }
    this.#log = next;
    if (isRequiredUnknown(event)) {
      const message = `event ${event.seq} is of the type ${JSON.stringify(event.type)}, which a newer program wrote`;
      this.#find(diagnosis("unknown-event", place, event.seq, message));
    }
  }

  /** A finding that grows as long as the next event has it too. */
  #findMany(
    kind: DamageKind,
    { offsetBytes, sizeBytes }: BytePlace,
    seq: number,
    say: (range: string) => string,
  ): void {
    const growing = this.#growing;
    const endBytes = offsetBytes + sizeBytes;
    if (growing !== null && growing.kind === kind && growing.lastSeq + 1 === seq && this.#findings.length > 0) {
      growing.lastSeq = seq;
      const last = this.#findings.at(-1)!;
      const message = say(`${growing.firstSeq} to ${seq}`);
      this.#findings[this.#findings.length - 1] = { ...last, sizeBytes: endBytes - last.offsetBytes!, message };
      return;
    }
    this.#find(diagnosis(kind, { offsetBytes, sizeBytes }, seq, say(String(seq))));
    this.#growing = this.#omitted > 0 ? null : { kind, firstSeq: seq, lastSeq: seq };
  }

  #find(finding: Diagnosis): void {
    this.#growing = null;
    if (this.#findings.length < FINDINGS_MAX) this.#findings.push(finding);
    else this.#omitted += 1;
  }

  /** Neighbours become one piece, and so do all pieces of one frame. */
  #lose({ offsetBytes, sizeBytes }: BytePlace, reason: string): void {
    const last = this.#lost.at(-1);
    const endBytes = offsetBytes + sizeBytes;
    if (last !== undefined) {
      const isInside = offsetBytes < last.offsetBytes + last.sizeBytes;
      const isBehind = offsetBytes === last.offsetBytes + last.sizeBytes && reason === last.reason;
      if (isInside || isBehind || this.#lost.length >= LOST_PIECES_MAX) {
        const reasons = last.reason.includes(reason) || last.reason.length > REASON_LENGTH_MAX
          ? last.reason
          : `${last.reason}; ${reason}`;
        const end = Math.max(endBytes, last.offsetBytes + last.sizeBytes);
        this.#lost[this.#lost.length - 1] = {
          offsetBytes: last.offsetBytes,
          sizeBytes: end - last.offsetBytes,
          reason: reasons,
        };
        return;
      }
    }
    this.#lost.push({ offsetBytes, sizeBytes, reason });
  }
}

/** `null`: it has none, for version 0 takes any value there. */
function timeOf(stored: StoredRow): number | null {
  const event = eventIn(stored);
  const time = event === null ? (stored as { row: { record: { time0: unknown } } }).row.record.time0 : event.time;
  return typeof time === "number" ? time : null;
}

/** What tells the writer of a row. */
function cuesOf({ stored, type }: FoundRow): Pick<PlacedRow, "time" | "callId" | "proposes"> {
  const time = timeOf(stored) ?? 0;
  const data = eventIn(stored)?.data;
  if (!isRecord(data)) return { time };
  switch (type) {
    case "assistant/message": {
      const content = isRecord(data.message) ? data.message.content : data.content;
      const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
      return {
        time,
        proposes: blocks.flatMap((block) => isRecord(block) && typeof block.id === "string" ? [block.id] : []),
      };
    }
    case "tool/call":
    case "effect/dispatched":
      return typeof data.callId === "string" ? { time, callId: data.callId } : { time };
    case "tool/result": {
      const source = isRecord(data.message) ? data.message.source : data;
      const callId = isRecord(source) ? source.callId : undefined;
      return typeof callId === "string" ? { time, callId } : { time };
    }
    default:
      return { time };
  }
}

/** The event of a row; `null` for a packed one. */
function eventIn(stored: StoredRow): { readonly time: unknown; readonly data: unknown } | null {
  if (stored.version === FORMAT_VERSION) return (stored as { readonly event: SessionEvent }).event;
  const { row } = stored as { readonly row: LegacyRow };
  return row.kind === "event" ? row.event : null;
}

/** How long the reasons of one piece may become together, in UTF-16 units. */
const REASON_LENGTH_MAX = 400;

/** What a log without a header is measured by: it may hold the end of a seed. */
const ASSUMED_HEADER: SessionHeader = {
  ...{ type: "session", version: FORMAT_VERSION, id: "?", createdAt: 0, isSeeded: true, delegationDepth: 0 },
};
