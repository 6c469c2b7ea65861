/**
 * Publishing where the file system has no hard links: the name is claimed first, and its first byte, written last, says that
 * the content is whole.
 *
 * While a `.claim` stage lies beside a name, a file of no bytes or with a first byte 0 counts as absent. So a crash at any
 * point leaves either nothing or the whole file, and a second creator is stopped by the exclusive create.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { AlreadyExistsError, LockHeldError, LockLostError, ShortWriteError } from "../../errors.ts";
import { attempt, codeOf, isMissing, refusal } from "./errno.ts";
import { FILE_MODE, type FileSystem, FLAGS, identityOf } from "./file_system.ts";
import type { Guard, KernelLock } from "./guard.ts";
import { acquireGuard } from "./kernel_lock.ts";
import { parseStagingName } from "./staging_names.ts";

const COPY_CHUNK_BYTES = 65_536;

/**
 * Copies the stage at `stagePath`, which is named as a claim and synced, into the free name `path`.
 *
 * @returns the guard of the published file
 * @throws {AlreadyExistsError} when the name is taken
 * @throws {LockHeldError} when another live writer is just claiming it
 */
export async function publishByClaim(
  fs: FileSystem,
  kernel: KernelLock,
  stagePath: string,
  path: string,
  what: string,
): Promise<Guard> {
  const descriptor = createExclusively(fs, path, stagePath, what);
  const identity = identityOf(attempt(what, () => fs.fstatSync(descriptor)));
  let guard: Guard | null = null;
  try {
    attempt(what, () => fs.fchmodSync(descriptor, FILE_MODE));
    guard = await acquireGuard(kernel, path, what);
    // Between the create and the guard a sweeper may have taken our claim for a dead one.
    if (guard === null || guard.identity !== identity) {
      throw new LockLostError(`Cannot ${what}: the claim was taken from us`);
    }
    copyByteZeroLast(fs, stagePath, descriptor, what);
    return guard;
  } catch (error) {
    if (guard?.identity === identity) removeOwn(fs, path, identity);
    guard?.release();
    throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * Whether the file at `path`, open as `descriptor`, is only a claim: of a writer at work, or of one that died.
 *
 * @param ownStagePath a stage that proves nothing, because it is ours
 */
export function isUnfinishedClaim(
  fs: FileSystem,
  path: string,
  descriptor: number,
  what: string,
  ownStagePath?: string,
): boolean {
  const first = new Uint8Array(1);
  attempt(what, () => fs.readSync(descriptor, first, 0, 1, 0));
  if (first[0] !== 0) return false;
  return attempt(what, () => fs.readdirSync(dirname(path), { withFileTypes: true })).some((entry) => {
    const staging = parseStagingName(entry.name);
    if (staging === null || !staging.isClaim || staging.finalName !== basename(path)) return false;
    return join(dirname(path), entry.name) !== ownStagePath;
  });
}

/** Removes the unfinished final file of a dead claim. The caller holds the stage's guard, so its writer is dead. */
export function removeDeadClaim(fs: FileSystem, kernel: KernelLock, stagePath: string, what: string): void {
  const staging = parseStagingName(basename(stagePath));
  if (staging === null || !staging.isClaim) return;
  const path = join(dirname(stagePath), staging.finalName);
  const descriptor = openIfThere(fs, path, what);
  if (descriptor === null) return;
  let guard: Guard | null = null;
  try {
    const stat = attempt(what, () => fs.fstatSync(descriptor));
    if (!stat.isFile() || !isUnfinishedClaim(fs, path, descriptor, what)) return;
    // A writer of today may have the claim. Only the file that is locked and looked at may go.
    guard = attempt(what, () => kernel.acquire(path));
    if (guard?.identity === identityOf(stat) && isUnfinishedClaim(fs, path, descriptor, what)) {
      removeOwn(fs, path, guard.identity);
    }
  } finally {
    guard?.release();
    fs.closeSync(descriptor);
  }
}

function createExclusively(fs: FileSystem, path: string, stagePath: string, what: string): number {
  try {
    return fs.openSync(path, FLAGS.createWrite, FILE_MODE);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw refusal(error, what);
  }
  const descriptor = openIfThere(fs, path, what);
  try {
    if (descriptor === null || isUnfinishedClaim(fs, path, descriptor, what, stagePath)) {
      throw new LockHeldError(`Cannot ${what}: another writer has claimed the name`);
    }
    throw new AlreadyExistsError(`Cannot ${what}: the name is taken`);
  } finally {
    if (descriptor !== null) fs.closeSync(descriptor);
  }
}

function openIfThere(fs: FileSystem, path: string, what: string): number | null {
  try {
    return fs.openSync(path, FLAGS.read);
  } catch (error) {
    if (isMissing(error)) return null;
    throw refusal(error, what);
  }
}

function copyByteZeroLast(fs: FileSystem, stagePath: string, target: number, what: string): void {
  const source = attempt(what, () => fs.openSync(stagePath, FLAGS.read));
  try {
    const chunk = new Uint8Array(COPY_CHUNK_BYTES);
    let offsetBytes = 0;
    let firstByte: number | undefined;
    for (;;) {
      const readBytes = attempt(what, () => fs.readSync(source, chunk, 0, chunk.length, offsetBytes));
      if (readBytes === 0) break;
      const skippedBytes = offsetBytes === 0 ? 1 : 0;
      if (offsetBytes === 0) firstByte = chunk[0];
      writeAt(fs, target, chunk.subarray(skippedBytes, readBytes), offsetBytes + skippedBytes, what);
      offsetBytes += readBytes;
    }
    attempt(what, () => fs.fdatasyncSync(target));
    if (firstByte === undefined) return;
    writeAt(fs, target, Uint8Array.of(firstByte), 0, what);
    attempt(what, () => fs.fdatasyncSync(target));
  } finally {
    fs.closeSync(source);
  }
}

function writeAt(fs: FileSystem, descriptor: number, bytes: Uint8Array, offsetBytes: number, what: string): void {
  for (let doneBytes = 0; doneBytes < bytes.length;) {
    const leftBytes = bytes.length - doneBytes;
    const takenBytes = attempt(
      what,
      () => fs.writeSync(descriptor, bytes, doneBytes, leftBytes, offsetBytes + doneBytes),
    );
    if (!(takenBytes > 0 && takenBytes <= leftBytes)) {
      throw new ShortWriteError(`Cannot ${what}: the system took ${takenBytes} bytes`);
    }
    doneBytes += takenBytes;
  }
}

function removeOwn(fs: FileSystem, path: string, identity: string): void {
  try {
    if (identityOf(fs.lstatSync(path)) === identity) fs.unlinkSync(path);
  } catch {
    // What stays is a claim without its first byte, which counts as absent and is swept later.
  }
}
