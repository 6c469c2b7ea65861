/**
 * A log open for reading.
 *
 * @module
 */
import { NotFoundError } from "../errors.ts";
import type { SessionHeader } from "../event/mod.ts";
import type { Bell } from "./bells.ts";
import { fileSource } from "./byte_source.ts";
import type { JournalContext } from "./context.ts";
import { CURRENT_DIALECT } from "./dialect.ts";
import { errorOf, type Finding } from "./finding.ts";
import type { LogEncoding } from "./layout.ts";
import { LogView, type ReadPlace } from "./log_view.ts";
import type { AdvanceOptions, LogScan } from "./scan.ts";
import { startScan } from "./start_scan.ts";
import { CLEAN_TAIL, type LogTail, readTail } from "./tail.ts";

/** A log that somebody else may write meanwhile. */
export class JournalReader extends LogView {
  readonly id: string;
  readonly header: SessionHeader;
  readonly encoding: LogEncoding;
  protected readonly place: ReadPlace;
  protected readonly objection: Finding | null;
  #scan: LogScan;
  #seen: { readonly sizeBytes: number; readonly revision: string };
  /** Where the scan stood when `tail` was looked at. */
  #tailKey: string;
  readonly #onClose: () => void;
  /** Looks are taken one after the other. */
  #refreshing: Promise<void> = Promise.resolve();

  private constructor(
    context: JournalContext,
    place: ReadPlace,
    header: SessionHeader,
    opened: OpenedLog,
    onClose: () => void,
  ) {
    super(context, place.log);
    this.#onClose = onClose;
    this.id = header.id;
    this.place = place;
    this.encoding = place.encoding;
    this.header = header;
    this.objection = opened.objection;
    this.#scan = opened.scan;
    this.#seen = opened.seen;
    this.tail = opened.tail;
    this.#tailKey = tailKey(opened.scan, opened.seen.revision);
  }

  /**
   * Reads a log whole, up to its end or to damage.
   *
   * @param judge says what forbids writing, once the header is known
   * @throws the finding, as an error, when not even the header can be read
   */
  static async open(
    context: JournalContext,
    place: ReadPlace,
    judge: (header: SessionHeader) => Promise<Finding | null>,
    options: AdvanceOptions = {},
    onClose: () => void = () => {},
  ): Promise<JournalReader> {
    const bell = context.bells.acquire(place.log);
    try {
      const scan = startScan({ ...context, encoding: place.encoding, dialect: place.dialect });
      const seen = await look(context, place, bell);
      await scan.advance(fileSource(context.storage, place.log), seen.sizeBytes, options);
      const { header } = scan;
      if (header === null) throw errorOf(scan.stop!, `open session "${place.id}"`);
      const tail = await readTail(context, place, scan);
      const { eventOf } = place.dialect ?? CURRENT_DIALECT;
      for (const event of tail.salvage?.events ?? []) if (eventOf(event) !== null) options.visit?.(event);
      const opened = { scan, seen, tail, objection: await judge(header) };
      return new JournalReader(context, place, header, opened, onClose);
    } finally {
      context.bells.release(place.log);
    }
  }

  override close(): Promise<void> {
    this.#onClose();
    return super.close();
  }

  protected get scan(): LogScan {
    return this.#scan;
  }

  protected get sizeBytes(): number {
    return this.#seen.sizeBytes;
  }

  protected refresh(options: { readonly withTail: boolean }): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#refresh(options));
    this.#refreshing = refreshed.catch(() => {});
    return refreshed;
  }

  async #refresh({ withTail }: { readonly withTail: boolean }): Promise<void> {
    const { context, place } = this;
    const seen = await look(context, place, this.bell);
    const isNews = seen.sizeBytes !== this.#seen.sizeBytes || seen.revision !== this.#seen.revision;
    if (isNews) await this.#advance(seen.sizeBytes);
    this.#seen = seen;
    const key = tailKey(this.#scan, seen.revision);
    if (key === this.#tailKey) return;
    this.tail = withTail ? await readTail(context, place, this.#scan) : CLEAN_TAIL;
    this.#tailKey = withTail ? key : "";
  }

  async #advance(sizeBytes: number): Promise<void> {
    const source = fileSource(this.context.storage, this.place.log);
    const wasStopped = this.#scan.stop !== null;
    if (sizeBytes >= this.#scan.endBytes && !wasStopped) {
      await this.#scan.advance(source, sizeBytes);
      if (this.#scan.stop === null) return;
    }
    // The file is shorter than what was read, or goes on otherwise: a writer took back a batch that it could not make durable,
    // and may have written another. Only a reading from the start tells that from damage.
    const dialect = this.place.dialect;
    const scan = startScan({ ...this.context, encoding: this.encoding, dialect });
    await scan.advance(source, sizeBytes);
    if (scan.header !== null && scan.header.createdAt !== this.header.createdAt) {
      throw new NotFoundError(`Cannot read session "${this.id}": another log took its place`);
    }
    this.#scan = scan;
    this.tail = CLEAN_TAIL;
    this.#tailKey = "";
  }
}

/** What opening a log found. */
interface OpenedLog {
  readonly scan: LogScan;
  readonly seen: { readonly sizeBytes: number; readonly revision: string };
  readonly tail: LogTail;
  readonly objection: Finding | null;
}

/** How large the log is now. What a writer of this store has not acknowledged is left out. */
async function look(
  { storage }: JournalContext,
  { id, log }: ReadPlace,
  bell: Bell,
): Promise<{ sizeBytes: number; revision: string }> {
  const stat = await storage.stat(log);
  if (stat === null) throw new NotFoundError(`Cannot read session "${id}": "${log}" is not there`);
  return { sizeBytes: Math.min(stat.sizeBytes, bell.acknowledgedBytes ?? Infinity), revision: stat.revision };
}

function tailKey({ endBytes, tailBytes }: LogScan, revision: string): string {
  return `${endBytes}+${tailBytes}:${revision}`;
}
