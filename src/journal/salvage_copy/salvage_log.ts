/**
 * Writes what can be recovered of a log as new sessions. The source is only read.
 *
 * @module
 */
import { AlreadyExistsError, CorruptLogError, SourceDriftError } from "../../errors.ts";
import {
  checkAppendable,
  encodeHeader,
  encodeRow,
  FORMAT_VERSION,
  type SessionEvent,
  type SessionHeader,
} from "../../event/mod.ts";
import type { StagedFile, StorageLock } from "../../storage/storage_port.ts";
import { putBlob } from "../blobs.ts";
import type { LogBytes } from "../diagnose/source.ts";
import { encodeBatch } from "../frames_of.ts";
import type { JournalOptions } from "../journal.ts";
import { LOCK_NAME, logPath, sessionPath } from "../layout.ts";
import { JOURNAL_LIMITS } from "../limits.ts";
import { placeOf } from "../locate.ts";
import { startScan } from "../start_scan.ts";
import { copyBranch } from "./copy_branch.ts";
import { digestOf, foundOf, type PlannedBranch, type PlannedCopy, planSalvage, type SalvagePlan } from "./plan.ts";

/** What a salvage writes, and where. */
export interface SalvageOptions extends JournalOptions {
  /** Which branches of a forked log: letters, or all of them. Needed when there are several. */
  readonly keep?: readonly string[] | "all";
  /** Gives each copy its id. */
  readonly newId: () => string;
  /** A plan of the same source, so that it is not made again. */
  readonly plan?: SalvagePlan;
  /** A blob of the source session by its digest; `null` when it is not there or damaged. Without this none is copied. */
  readonly blob?: (digest: string) => Promise<Uint8Array<ArrayBuffer> | null>;
  /** See {@linkcode planSalvage}. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
}

/** A session that was written. */
export interface SalvagedSession extends PlannedCopy {
  readonly id: string;
  /** The log's whole name on the storage. */
  readonly log: string;
  /** Digests of blobs that its events name and that could not be copied. */
  readonly missingBlobs: readonly string[];
}

/** What a salvage came to. */
export interface Salvaged {
  readonly plan: SalvagePlan;
  readonly sessions: readonly SalvagedSession[];
}

/**
 * Salvages a log: writes a new session for each branch that is kept, with everything that can be recovered and, as its last event,
 * `log/salvaged`, which says exactly what was kept, dropped and inferred.
 *
 * A session appears whole or not at all, and only after what is about to appear was read back. When the promise resolves they are
 * durable as far as the storage's traits say. Memory as for {@linkcode planSalvage}.
 *
 * @throws {CorruptLogError} when there is no event in it
 * @throws {UnsupportedFormatError} of another version
 * @throws {SourceDriftError} when the source changed meanwhile; nothing was published for the branch at hand
 * @throws {TypeError} when the log is forked and `keep` does not say which branches
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../../adapters/memory/memory_storage.ts";
 * import { portableZstd } from "../../frame/portable_zstd.ts";
 * import { logBytes } from "../diagnose/mod.ts";
 * import { salvageLog } from "./salvage_log.ts";
 *
 * const text = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\nrubbish\n' +
 *   '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}\n';
 * const source = logBytes("a.jsonl", new TextEncoder().encode(text));
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * const storage = new MemoryStorage();
 * const options = { storage, codec: portableZstd(), clock, random, newId: () => "b" };
 * const { sessions: [session] } = await salvageLog(source, options);
 * if (session?.log !== "_no-cwd/b/session.v3.jsonl.zstd") throw new Error("unreachable");
 * ```
 */
export async function salvageLog(source: LogBytes, options: SalvageOptions): Promise<Salvaged> {
  const plan = options.plan ?? await planSalvage(source, options);
  const { branches } = foundOf(plan);
  const wanted = branchesKept(plan, options.keep);
  const sessions: SalvagedSession[] = [];
  for (const [index, copy] of plan.copies.entries()) {
    if (!wanted.has(copy.branch)) continue;
    sessions.push(await writeCopy(source, options, plan, copy, branches[index]!));
  }
  return { plan, sessions };
}

/** Which branches are wanted; those without an event are not there to be kept. */
function branchesKept({ source, copies }: SalvagePlan, keep: SalvageOptions["keep"]): ReadonlySet<string> {
  const names = copies.filter(({ events }) => events > 0).map(({ branch }) => branch);
  if (keep === undefined && names.length > 1) {
    throw new TypeError(
      `Cannot salvage "${source.name}": it is forked into ${names.join(", ")}, and nothing says which to keep`,
    );
  }
  if (keep === undefined || keep === "all") return new Set(names);
  const strange = keep.find((name) => !names.includes(name));
  if (strange === undefined) return new Set(keep);
  throw new TypeError(
    `Cannot salvage "${source.name}": there is no branch ${JSON.stringify(strange)}, only ${names.join(", ")}`,
  );
}

async function writeCopy(
  source: LogBytes,
  options: SalvageOptions,
  plan: SalvagePlan,
  copy: PlannedCopy,
  planned: PlannedBranch,
): Promise<SalvagedSession> {
  const { storage, compression = "zstd", newId } = options;
  const header = { ...planned.header, id: newId() };
  const folder = sessionPath(header);
  const log = logPath(header, compression);
  const lock = await storage.lock(folder + LOCK_NAME);
  try {
    const taken = placeOf(folder, await storage.list(folder));
    if (taken !== null) {
      throw new AlreadyExistsError(`Cannot salvage into session "${header.id}": "${taken.log}" is there already`);
    }
    const missingBlobs = await copyBlobs(options, folder, planned.copied.blobs, lock);
    const blobs = missingBlobs.map((digest) => `the blob ${digest}, which an event names, could not be copied`);
    const told = { ...copy, inferred: [...copy.inferred, ...blobs] };
    const staged = await storage.stage(log, lock);
    try {
      await writeLog(staged, source, options, plan, { copy: told, planned, header });
      const file = await staged.publish();
      await file.close();
    } finally {
      await staged.discard();
    }
    return { ...told, id: header.id, log, missingBlobs };
  } finally {
    await lock.release();
  }
}

/** A log never names what is not there yet, so blobs come first. */
async function copyBlobs(
  options: SalvageOptions,
  folder: string,
  digests: readonly string[],
  lock: StorageLock,
): Promise<readonly string[]> {
  const { storage, codec } = options;
  const limits = { ...JOURNAL_LIMITS, ...options.limits };
  const missing: string[] = [];
  for (const digest of digests) {
    const bytes = await options.blob?.(digest) ?? null;
    if (bytes === null || await putBlob({ storage, codec, limits, folder }, bytes, lock) !== digest) {
      missing.push(digest);
    }
  }
  return missing;
}

/** Writes the whole log into its stage, and reads it back from there. */
async function writeLog(
  staged: StagedFile,
  source: LogBytes,
  options: SalvageOptions,
  plan: SalvagePlan,
  { copy, planned, header }: {
    readonly copy: PlannedCopy;
    readonly planned: PlannedBranch;
    readonly header: SessionHeader;
  },
): Promise<void> {
  const { codec, clock, compression: encoding = "zstd", signal } = options;
  const limits = { ...JOURNAL_LIMITS, ...options.limits };
  const writer = new BatchWriter(
    staged,
    (rows) => encodeBatch(rows, { encoding, codec, limits }).bytes,
    limits.batchBytesMax,
  );
  await writer.add(encodeHeader(header));
  await writer.flush();
  const { found } = foundOf(plan);
  const look = { codec, limits, signal };
  const copied = await copyBranch(
    source,
    found,
    planned.branch,
    planned.rules,
    look,
    (event) => writer.add(encodeRow(event)),
  );
  const { name, sizeBytes, sha256 } = plan.source;
  if (copied.events !== copy.events || await digestOf(source, 0, source.sizeBytes, signal) !== sha256) {
    throw new SourceDriftError(`Cannot salvage "${name}": it changed meanwhile`);
  }
  const { kept, dropped, inferred } = copy;
  const data = { version: 1, source: { name, sizeBytes, sha256 }, kept, dropped, inferred };
  const last = checkAppendable({ type: "log/salvaged", data, ignorable: true }, copied.events, clock.now());
  await writer.add(encodeRow(last as SessionEvent));
  await writer.flush();
  await check(staged, writer.sizeBytes, options, copied.events + 1, name);
}

/** What is about to be published opens, and holds what it should. */
async function check(
  staged: StagedFile,
  sizeBytes: number,
  { codec, compression = "zstd", limits }: SalvageOptions,
  events: number,
  name: string,
): Promise<void> {
  const scan = startScan({ encoding: compression, codec, limits: { ...JOURNAL_LIMITS, ...limits } });
  const bytes = { name, read: (startBytes: number, endBytes: number) => staged.read({ startBytes, endBytes }) };
  await scan.advance(bytes, sizeBytes);
  const found = scan.finding?.message ??
    (scan.log.nextSeq === events ? null : `${scan.log.nextSeq} events, not ${events}`);
  if (found === null && scan.tailBytes === 0 && scan.header?.version === FORMAT_VERSION) return;
  throw new CorruptLogError(
    `Cannot salvage "${name}": what was written does not open again: ${found ?? "a torn tail"}`,
  );
}

/** Collects rows and writes them in batches. */
class BatchWriter {
  readonly #staged: StagedFile;
  readonly #encode: (rows: readonly string[]) => Uint8Array;
  readonly #lengthMax: number;
  #rows: string[] = [];
  #length = 0;
  sizeBytes = 0;

  constructor(staged: StagedFile, encode: (rows: readonly string[]) => Uint8Array, lengthMax: number) {
    this.#staged = staged;
    this.#encode = encode;
    this.#lengthMax = lengthMax;
  }

  async add(row: string): Promise<void> {
    this.#rows.push(row);
    this.#length += row.length;
    if (this.#length >= this.#lengthMax) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#rows.length === 0) return;
    const bytes = this.#encode(this.#rows);
    this.#rows = [];
    this.#length = 0;
    await this.#staged.append(bytes);
    this.sizeBytes += bytes.length;
  }
}
