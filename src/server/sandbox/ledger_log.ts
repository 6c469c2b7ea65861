/**
 * The log of a ledger: a session, and when it has grown enough the next one, which begins with what was known.
 *
 * Generations are sessions `sandbox-ledger-000001`, `-000002` and so on. One is in force when its last carried event is durable;
 * a later one without it was cut off by a crash and is removed. The one before goes only when the next is in force.
 *
 * @module
 */
import {
  CheckpointFailedError,
  CorruptLogError,
  createSession,
  type EventDraft,
  type EventPage,
  hasCode,
  type JsonObject,
  LockHeldError,
  openSession,
  type Session,
  type SessionStore,
} from "../../../mod.ts";
import { applyToEntries, carriedDrafts, type LedgerEntry, ROTATED, type StoredOutcome } from "./entries.ts";
import {
  GENERATION_BLOB_BYTES_MAX,
  GENERATION_KEYS_MAX,
  KEYS_PER_EVENT,
  OUTCOME_INLINE_BYTES_MAX,
  OUTCOMES_CARRIED_MAX,
} from "./limits.ts";

/** When the next generation begins, and what goes over into it. */
export interface GenerationLimits {
  /** Default GENERATION_KEYS_MAX. */
  readonly keysMax?: number;
  /** Default GENERATION_BLOB_BYTES_MAX. */
  readonly blobBytesMax?: number;
  /** Default OUTCOMES_CARRIED_MAX. */
  readonly outcomesCarriedMax?: number;
}

/** How a log is opened. */
export interface LedgerLogOptions {
  /** Of one token alone. */
  readonly store: SessionStore;
  /** Lets it be kept on a medium that promises nothing. Default false. */
  readonly volatile?: boolean;
  readonly limits?: GenerationLimits;
}

const GENERATION = /^sandbox-ledger-(\d{6})$/;
const GENERATIONS_MAX = 999_999;

/**
 * A log open for writing, and what it says. Its owner does one thing after another.
 *
 * @example
 * ```ts
 * import { openMemoryStore } from "../../entry/memory.ts";
 * import { ledgerDrafts } from "./entries.ts";
 * import { LedgerLog } from "./ledger_log.ts";
 *
 * await using store = openMemoryStore({ simulate: "disk" });
 * const log = await LedgerLog.open({ store });
 * log.append(ledgerDrafts.tombstone("0".repeat(32)));
 * await log.flush();
 * await log.close();
 * ```
 */
export class LedgerLog {
  readonly #options: LedgerLogOptions;
  #session: Session;
  /** What the events of `#session` say, those included that are not durable. */
  #entries: Map<string, LedgerEntry>;
  /** How many keys it had when its generation began. */
  #keysAtStart: number;
  #blobBytes: number;

  private constructor(options: LedgerLogOptions, { session, entries, keysAtStart }: Generation) {
    this.#options = options;
    this.#session = session;
    this.#entries = entries;
    this.#keysAtStart = keysAtStart;
    this.#blobBytes = blobBytesOf(entries);
  }

  /**
   * Opens the generation in force, or begins the first one. Removes what a crash left of others.
   *
   * @throws {CheckpointFailedError} when the medium promises nothing
   * @throws {LockHeldError} when another process writes it
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when it cannot be believed
   */
  static async open(options: LedgerLogOptions): Promise<LedgerLog> {
    const { store, volatile = false } = options;
    if (store.traits.sync === "none" && !volatile) {
      throw new CheckpointFailedError("Cannot open the ledger: its medium promises nothing, so no command may run");
    }
    const numbers: number[] = [];
    for await (const { id } of store.list()) {
      const number = GENERATION.exec(id)?.[1];
      if (number !== undefined) numbers.push(Number(number));
    }
    numbers.sort((a, b) => b - a);
    for (const [index, number] of numbers.entries()) {
      const generation = await readGeneration(options, number);
      if (generation === null) continue;
      // Whoever held it may have gone on to the next one between our look and our lock. From now on nobody can.
      if (index === 0 && await store.stat(idOf(number + 1)) !== null) {
        await generation.session.close();
        throw new LockHeldError(`Cannot open the ledger "${idOf(number)}": another process went on to the next one`);
      }
      for (const older of numbers.slice(index + 1)) await store.delete(idOf(older)).catch(() => {});
      return new LedgerLog(options, generation);
    }
    const session = await createSession({ store, id: idOf(1), volatile });
    await session.flush();
    return new LedgerLog(options, { session, entries: new Map(), keysAtStart: 0 });
  }

  /** What is known, oldest first. */
  get entries(): ReadonlyMap<string, LedgerEntry> {
    return this.#entries;
  }

  /** Whether it refuses to be written: it must be opened anew. */
  get hasFailed(): boolean {
    return this.#session.failure !== null;
  }

  /** Whether what is known about a key would survive a crash now. */
  isDurable({ seq }: LedgerEntry): boolean {
    return seq <= this.#session.durableSeq;
  }

  /** Appends an event. It is durable after the next flush. */
  append(draft: EventDraft): void {
    applyToEntries(this.#entries, this.#session.append(draft));
  }

  /**
   * Makes everything durable.
   *
   * @throws whatever refused it; what was appended waits for the next flush
   */
  async flush(): Promise<void> {
    const seq = this.#session.nextSeq - 1;
    if (seq <= this.#session.durableSeq) return;
    const durableSeq = await this.#session.flush();
    if (durableSeq < seq) {
      throw new CheckpointFailedError(`Cannot make the ledger durable: it is so through ${durableSeq}`);
    }
  }

  /** Keeps an outcome, in the event or as a blob, which is durable when this resolves. */
  async keep(outcome: JsonObject): Promise<StoredOutcome> {
    const bytes = new TextEncoder().encode(JSON.stringify(outcome));
    if (bytes.length <= OUTCOME_INLINE_BYTES_MAX) return { inline: outcome };
    const blob = await this.#session.putBlob(bytes);
    this.#blobBytes += bytes.length;
    return { blob, sizeBytes: bytes.length };
  }

  /** The outcome that was kept. */
  async outcomeOf(stored: StoredOutcome): Promise<JsonObject> {
    if ("inline" in stored) return stored.inline;
    return JSON.parse(new TextDecoder().decode(await this.#session.getBlob(stored.blob)));
  }

  /**
   * Begins the next generation when this one has grown enough. When it fails, this one stays in force.
   *
   * @throws whatever refused the next one
   */
  async makeRoom(): Promise<void> {
    const { keysMax = GENERATION_KEYS_MAX, blobBytesMax = GENERATION_BLOB_BYTES_MAX } = this.#options.limits ?? {};
    const keys = this.#entries.size - this.#keysAtStart;
    if (keys >= keysMax || this.#blobBytes >= blobBytesMax) await this.#rotate();
  }

  /** Makes everything durable and gives the log free. */
  async close(): Promise<void> {
    await this.#session.close();
  }

  async #rotate(): Promise<void> {
    const { store, volatile = false, limits } = this.#options;
    await this.flush();
    const old = this.#session;
    const number = Number(GENERATION.exec(old.id)![1]) + 1;
    if (number > GENERATIONS_MAX) {
      throw new RangeError(`Cannot rotate the ledger: it has ${GENERATIONS_MAX} generations`);
    }
    const outcomesMax = limits?.outcomesCarriedMax ?? OUTCOMES_CARRIED_MAX;
    const drafts = carriedDrafts(this.#entries, old.id, outcomesMax, KEYS_PER_EVENT);
    // One that an earlier try left behind holds nothing that is in force.
    await store.delete(idOf(number)).catch(ignoreNotFound);
    const session = await createSession({ store, id: idOf(number), volatile });
    const entries = new Map<string, LedgerEntry>();
    try {
      for (const draft of drafts) {
        const blob = blobIn(draft);
        // First the bytes, then the event that needs them.
        if (blob !== null) await session.putBlob(await old.getBlob(blob));
        applyToEntries(entries, session.append(draft));
      }
      await session.flush();
    } catch (error) {
      await session.close().catch(() => {});
      await store.delete(session.id).catch(() => {});
      throw error;
    }
    this.#session = session;
    this.#entries = entries;
    this.#keysAtStart = entries.size;
    this.#blobBytes = blobBytesOf(entries);
    await old.close().catch(() => {});
    await store.delete(old.id).catch(() => {});
  }
}

/**
 * Every key that the generations in a store know, as far as they can be read. Writes nothing, and takes no lock.
 *
 * @example
 * ```ts
 * import { openMemoryStore } from "../../entry/memory.ts";
 * import { keysOf } from "./ledger_log.ts";
 *
 * await using store = openMemoryStore({ simulate: "disk" });
 * if ((await keysOf(store)).size !== 0) throw new Error("unreachable");
 * ```
 */
export async function keysOf(store: SessionStore): Promise<ReadonlySet<string>> {
  const entries = new Map<string, LedgerEntry>();
  for await (const { id } of store.list()) {
    if (!GENERATION.test(id)) continue;
    const reader = await store.open(id, "read");
    await using _ = reader;
    for (let from: number | null = 0; from !== null;) {
      const page: EventPage = await reader.read({ from });
      for (const event of page.events) applyToEntries(entries, event);
      from = page.nextFrom;
    }
  }
  return new Set(entries.keys());
}

/** A generation that was opened. */
interface Generation {
  readonly session: Session;
  readonly entries: Map<string, LedgerEntry>;
  readonly keysAtStart: number;
}

/** Opens a generation; one that was never in force is removed, and `null`. */
async function readGeneration({ store, volatile }: LedgerLogOptions, number: number): Promise<Generation | null> {
  const { session } = await openSession({ store, id: idOf(number), volatile });
  try {
    const entries = new Map<string, LedgerEntry>();
    let keysAtStart = number === 1 ? 0 : null;
    for (let from: number | null = 0; from !== null;) {
      const page = await session.history({ from });
      for (const event of page.events) {
        applyToEntries(entries, event);
        if (event.type === ROTATED) keysAtStart = entries.size;
      }
      from = page.nextFrom;
    }
    if (keysAtStart !== null) return { session, entries, keysAtStart };
  } catch (error) {
    await session.close().catch(() => {});
    if (error instanceof TypeError) throw new CorruptLogError(error.message);
    throw error;
  }
  await session.close();
  await store.delete(idOf(number));
  return null;
}

function idOf(number: number): string {
  return `sandbox-ledger-${String(number).padStart(6, "0")}`;
}

function blobIn({ data }: EventDraft): string | null {
  const outcome = (data as { readonly outcome?: StoredOutcome }).outcome;
  return outcome !== undefined && "blob" in outcome ? outcome.blob : null;
}

function blobBytesOf(entries: ReadonlyMap<string, LedgerEntry>): number {
  let sizeBytes = 0;
  for (const entry of entries.values()) {
    if (entry.kind === "finished" && "blob" in entry.outcome) sizeBytes += entry.outcome.sizeBytes;
  }
  return sizeBytes;
}

function ignoreNotFound(error: unknown): void {
  if (!hasCode(error, "NOT_FOUND")) throw error;
}
