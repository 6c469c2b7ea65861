/**
 * Copies of torn tails: no byte that a writer cuts off is lost, and no record that was readable stops being readable while
 * the tail is rewritten.
 *
 * A crash between any two steps of a recovery leaves the tail, a copy of it, or both. Another program sees a torn log or a
 * clean shorter one.
 *
 * @see architecture "Torn tail of a log"
 * @module
 */
import { CorruptLogError, hasCode } from "../errors.ts";
import type { ZstdCodec } from "../frame/mod.ts";
import { publish, type StorageEntry, type StorageLock, type StoragePort } from "../storage/storage_port.ts";
import { sha256Hex } from "./digest.ts";
import { tornCopyName, tornCopyOf } from "./layout.ts";
import { type JournalLimits, TORN_COPIES_BYTES_MAX, TORN_COPIES_MAX } from "./limits.ts";

/** Where the copies of one log lie, and how they are stored. */
export interface TornCopies {
  readonly storage: StoragePort;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  /** The session's folder, with its `/`. */
  readonly folder: string;
  /** The log's whole name. */
  readonly log: string;
}

/**
 * The tails that were once cut off at `offsetBytes`. A copy that cannot be read is left out: it can not yield anything.
 *
 * @param bytesMax the most bytes to read from the medium; with less than all of them the answer is `null`
 */
export async function readTornCopies(
  copies: TornCopies,
  offsetBytes: number,
  bytesMax = Infinity,
): Promise<Uint8Array[] | null> {
  const tails: Uint8Array[] = [];
  let leftBytes = bytesMax;
  for (const name of copyNames(copies, await copies.storage.list(copies.folder), offsetBytes)) {
    const stat = await copies.storage.stat(name);
    if (stat === null || stat.sizeBytes > copies.limits.frameSizeBytesMax) continue;
    leftBytes -= stat.sizeBytes;
    if (leftBytes < 0) return null;
    const tail = await readTornCopy(copies, name);
    if (tail !== null) tails.push(tail);
  }
  return tails;
}

/** Whether there are copies of tails that were once cut off at `offsetBytes`. Reads names only. */
export async function hasTornCopies(
  copies: Pick<TornCopies, "storage" | "folder" | "log">,
  offsetBytes: number,
): Promise<boolean> {
  return copyNames(copies, await copies.storage.list(copies.folder), offsetBytes).length > 0;
}

/**
 * Publishes a copy of the bytes from `offsetBytes` on, durable when it resolves. The log still holds them.
 *
 * @throws {CorruptLogError} when another copy has this name: eight digits of SHA-256 met, or the copy is damaged
 */
export async function keepTornTail(
  copies: TornCopies,
  offsetBytes: number,
  tail: Uint8Array<ArrayBuffer>,
  lock: StorageLock,
): Promise<void> {
  const { storage, codec, log } = copies;
  const name = tornCopyName(log, offsetBytes, await sha256Hex(tail));
  const frame = codec.compress(tail);
  try {
    return await publish(storage, name, frame, lock);
  } catch (error) {
    if (!hasCode(error, "ALREADY_EXISTS")) throw error;
  }
  const found = await readTornCopy(copies, name);
  if (found === null || !areEqual(found, tail)) {
    throw new CorruptLogError(`Cannot keep the torn tail of "${log}": "${name}" is there and holds something else`);
  }
  // Whoever published the copy may have died before its name was durable, and the next step relies on it. The tail itself is
  // still in the log, so the copy may be missing for a moment.
  await storage.remove(name, lock);
  await publish(storage, name, frame, lock);
}

/**
 * Removes old copies. Kept are all with the current offset, and of the others the newest TORN_COPIES_MAX (8), together at
 * most TORN_COPIES_BYTES_MAX (16 MiB), but always the newest one. A log only grows, so the higher offset is the newer copy.
 */
export async function pruneTornCopies(
  copies: TornCopies,
  currentOffsetBytes: number,
  lock: StorageLock,
): Promise<void> {
  const { storage, log, folder } = copies;
  const others = (await storage.list(folder))
    .map((entry) => tornCopyOf(log, entry.name))
    .filter((copy) => copy !== null && copy.offsetBytes !== currentOffsetBytes)
    .map((copy) => copy!)
    .sort((a, b) => b.offsetBytes - a.offsetBytes);
  let keptBytes = 0;
  for (const [index, { name }] of others.entries()) {
    keptBytes += (await storage.stat(name))?.sizeBytes ?? 0;
    const isKept = index === 0 || (index < TORN_COPIES_MAX && keptBytes <= TORN_COPIES_BYTES_MAX);
    if (!isKept) await storage.remove(name, lock);
  }
}

/** The names of the copies that belong to one offset, in a fixed order. */
function copyNames(
  { log }: Pick<TornCopies, "log">,
  entries: readonly StorageEntry[],
  offsetBytes: number,
): string[] {
  return entries
    .filter((entry) => entry.kind === "file" && tornCopyOf(log, entry.name)?.offsetBytes === offsetBytes)
    .map((entry) => entry.name);
}

/** The tail a copy holds; `null` when it is not there or does not decode. */
async function readTornCopy({ storage, codec, limits }: TornCopies, name: string): Promise<Uint8Array | null> {
  try {
    return codec.decompress(await storage.read(name), limits.contentSizeBytesMax);
  } catch (error) {
    if (hasCode(error, "NOT_FOUND") || hasCode(error, "CORRUPT_FRAME") || hasCode(error, "TOO_LARGE")) return null;
    throw error;
  }
}

function areEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
