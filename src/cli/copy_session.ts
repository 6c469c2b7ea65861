/**
 * Copying a session from one store into another, and proving that it arrived.
 *
 * @module
 */
import {
  AlreadyExistsError,
  copyBlobs,
  CorruptLogError,
  FORMAT_VERSION,
  hasCode,
  jsonText,
  type LogReader,
  type LogWriter,
  namedBlobs,
  type SessionEvent,
  type SessionHeader,
  type SessionStore,
  UnsupportedFormatError,
} from "../../mod.ts";
import { faultError } from "./inspect.ts";

/** How many events become one batch of the copy. */
export const COPY_EVENTS_MAX = 10_000;

/** How much text becomes one batch of the copy, in UTF-16 units; it holds at least one event. */
export const COPY_SIZE_MAX: number = 16 * 1024 * 1024;

/** A log of an older version as one of the current version, header and all. */
export interface UpgradedLog {
  readonly header: SessionHeader;
  readonly events: readonly SessionEvent[];
}

/** Makes a log of an older version one of the current version. Throws {@linkcode UnsupportedFormatError} where it cannot. */
export type UpgradeLog = (reader: LogReader) => Promise<UpgradedLog>;

/** What is copied, and from where to where. */
export interface CopyRequest {
  readonly source: SessionStore;
  readonly target: SessionStore;
  readonly id: string;
  /** What makes old logs new ones; `null` where this build has none, and then they are refused. */
  readonly upgrade: UpgradeLog | null;
}

/** What was copied. */
export interface Copied {
  readonly events: number;
  /** How many of the events an earlier copy, that was interrupted, had brought already. */
  readonly resumedFrom: number;
  /** How many blobs the events name, and which of them the source has not. */
  readonly blobs: number;
  readonly missingBlobs: readonly string[];
  /** SHA-256 over header and events, the same on both sides. */
  readonly digest: string;
}

/**
 * Copies a session, compares the copy event by event with its source, and says the digest of both.
 *
 * A copy that was interrupted is gone on with when it is asked for again: what is there is then the beginning of the source.
 *
 * @throws {AlreadyExistsError} when the target has another session of this id
 * @throws {UnsupportedFormatError} when the log would have to be upgraded and cannot be
 * @throws {CorruptLogError} when the source is damaged, or the copy is not what was written
 */
export async function copySession({ source, target, id, upgrade }: CopyRequest): Promise<Copied> {
  await using reader = await source.open(id, "read");
  const what = `copy session "${id}"`;
  const { fault } = reader.state();
  if (fault !== null) throw faultError(fault, what);
  const log = await currentLog(reader, upgrade, what);

  const found = await beginningIn(target, log.header, log.pages, what);
  const digests = namedBlobs(await allEvents(log.pages));
  let missingBlobs: readonly string[] = [];
  await using writer = found === null ? await target.create(log.header) : await target.open(id, "write");
  // Before the events that name them.
  if (digests.length > 0) missingBlobs = (await copyBlobs(reader, writer, digests)).map(({ digest }) => digest);
  const nextSeq = await appendFrom(writer, log.pages, found ?? 0);
  await writer.materialize();

  const digest = await compare(log.header, log.pages(0), writer, nextSeq, what);
  return { events: nextSeq, resumedFrom: found ?? 0, blobs: digests.length, missingBlobs, digest };
}

/** A log as pages of events from a seq on. */
type Pages = (from: number) => AsyncIterable<readonly SessionEvent[]>;

interface CurrentLog {
  readonly header: SessionHeader;
  readonly pages: Pages;
}

async function currentLog(reader: LogReader, upgrade: UpgradeLog | null, what: string): Promise<CurrentLog> {
  const { version } = reader.header;
  if (version === FORMAT_VERSION) {
    // What comes in while it is copied is left for another copy.
    const end = reader.state().nextSeq;
    return { header: reader.header, pages: (from) => pagesOf(reader, from, end) };
  }
  if (upgrade === null) {
    const found = `it is of format version ${version}, and this build cannot make it one of version ${FORMAT_VERSION}`;
    throw new UnsupportedFormatError(`Cannot ${what}: ${found}`, { version });
  }
  const { header, events } = await upgrade(reader);
  return {
    header,
    async *pages(from) {
      for (let start = from; start < events.length; start += COPY_EVENTS_MAX) {
        yield await Promise.resolve(events.slice(start, start + COPY_EVENTS_MAX));
      }
    },
  };
}

async function* pagesOf(reader: LogReader, from: number, end: number): AsyncGenerator<readonly SessionEvent[]> {
  for (let next = from; next < end;) {
    const { events } = await reader.read({ from: next, limit: end - next });
    if (events.length === 0) throw new CorruptLogError(`Cannot read session "${reader.id}": event ${next} went away`);
    yield events;
    next += events.length;
  }
}

async function allEvents(pages: Pages): Promise<SessionEvent[]> {
  // Only those that name a blob are kept.
  const naming: SessionEvent[] = [];
  for await (const events of pages(0)) naming.push(...events.filter((event) => namedBlobs([event]).length > 0));
  return naming;
}

/** How many events of the source the target has already; `null` when it has no such session. */
async function beginningIn(
  target: SessionStore,
  header: SessionHeader,
  pages: Pages,
  what: string,
): Promise<number | null> {
  let there: LogReader;
  try {
    there = await target.open(header.id, "read");
  } catch (error) {
    if (hasCode(error, "NOT_FOUND")) return null;
    throw error;
  }
  await using _ = there;
  const taken = new AlreadyExistsError(`Cannot ${what}: the target has another session of this id`);
  if (canonicalHeader(there.header) !== canonicalHeader(header)) throw taken;
  const end = there.state().nextSeq;
  let compared = 0;
  for await (const events of pages(0)) {
    for (let done = 0; done < events.length && compared < end;) {
      const { events: others } = await there.read({ from: compared, limit: events.length - done });
      if (others.length === 0) throw taken;
      for (const other of others) {
        if (canonical(other) !== canonical(events[done]!)) throw taken;
        compared += 1;
        done += 1;
      }
    }
    if (compared === end) return end;
  }
  if (compared < end) throw taken; // The copy went on by itself.
  return compared;
}

/** Appends what is missing, in batches. Returns the next seq. */
async function appendFrom(writer: LogWriter, pages: Pages, from: number): Promise<number> {
  let next = from;
  let batch: SessionEvent[] = [];
  let size = 0;
  const flush = async () => {
    if (batch.length > 0) await writer.append(batch);
    batch = [];
    size = 0;
  };
  for await (const events of pages(from)) {
    for (const event of events) {
      batch.push(event);
      size += jsonText(event).length;
      next += 1;
      if (batch.length >= COPY_EVENTS_MAX || size >= COPY_SIZE_MAX) await flush();
    }
  }
  await flush();
  return next;
}

/** Reads the copy back beside its source. Returns the digest of both. */
async function compare(
  header: SessionHeader,
  source: AsyncIterable<readonly SessionEvent[]>,
  copy: LogReader,
  count: number,
  what: string,
): Promise<string> {
  const ours = new ChainDigest();
  const theirs = new ChainDigest();
  await ours.add(canonicalHeader(header));
  await theirs.add(canonicalHeader(copy.header));
  let seq = 0;
  for await (const events of source) {
    for (let done = 0; done < events.length;) {
      const { events: found } = await copy.read({ from: seq, limit: events.length - done });
      if (found.length === 0) throw differs(what, seq, "it is not there");
      for (const other of found) {
        const [wanted, got] = [canonical(events[done]!), canonical(other)];
        if (wanted !== got) throw differs(what, seq, "it is another one");
        await ours.add(wanted);
        await theirs.add(got);
        seq += 1;
        done += 1;
      }
    }
  }
  if (seq !== count || copy.state().nextSeq !== count) {
    throw differs(what, seq, `there are ${copy.state().nextSeq} events`);
  }
  if (ours.hex !== theirs.hex) throw differs(what, null, "the digests differ");
  return ours.hex;
}

/** SHA-256 over a row of texts: each link is the digest of the one before and the next text. */
class ChainDigest {
  #link: Uint8Array<ArrayBuffer> = new Uint8Array(32);

  async add(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    const joined = new Uint8Array(this.#link.length + bytes.length);
    joined.set(this.#link);
    joined.set(bytes, this.#link.length);
    this.#link = new Uint8Array(await crypto.subtle.digest("SHA-256", joined));
  }

  get hex(): string {
    return Array.from(this.#link, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

/** An event as one text, whatever the order of its keys; every value as it is, −0 and halves of characters included. */
function canonical(event: SessionEvent): string {
  return jsonText(sorted(event));
}

function canonicalHeader(header: SessionHeader): string {
  return jsonText(sorted(header));
}

/** The same value with the keys of every object in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1).map(([key, member]) => [key, sorted(member)]));
}

function differs(what: string, seq: number | null, found: string): CorruptLogError {
  const where = seq === null ? "" : ` at event ${seq}`;
  return new CorruptLogError(
    `Cannot ${what}: the copy is not what was written${where}: ${found}`,
    seq === null ? {} : { seq },
  );
}
