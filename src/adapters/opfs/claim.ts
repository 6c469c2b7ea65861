/**
 * Publishing without overwriting: the name is claimed by its exclusive handle, and its first byte, written last, says that the
 * content is whole.
 *
 * OPFS `move()` replaces what has the name, so it is of no use here. A file of no bytes, or whose first byte is 0, counts as
 * absent; so a crash at any point leaves either nothing or the whole file.
 *
 * @module
 */

import { AlreadyExistsError, StorageFullError, StorageLostError } from "../../errors.ts";
import type { PooledHandle } from "./handle_pool.ts";
import { firstByteOf } from "./open_file.ts";
import type { FileHandle, FolderHandle, SyncHandle } from "./platform.ts";
import { isOtherKind, syncRefusal } from "./refusal.ts";
import type { OpfsResources } from "./resources.ts";
import { storedPart } from "./stored_names.ts";
import { writeAll } from "./write_bytes.ts";

/** How much of a stage is copied at once. */
export const COPY_CHUNK_BYTES = 65_536;

/** The name to publish under. */
export interface ClaimTarget {
  readonly parts: readonly string[];
  readonly folder: FolderHandle;
  /** Whether this storage has the name open, so that nobody need look. */
  readonly isOpen: boolean;
}

/**
 * Copies a stage into the free name.
 *
 * @returns the handle of the published file, durable
 * @throws {AlreadyExistsError} when the name is taken
 * @throws {LockHeldError} when another live writer is just claiming it
 */
export async function publishByClaim(
  resources: OpfsResources,
  target: ClaimTarget,
  source: FileHandle,
  sizeBytes: number,
  what: string,
): Promise<PooledHandle> {
  const { folder, parts } = target;
  const stored = storedPart(parts.at(-1) ?? "");
  // A name that is taken is told at once, without waiting for whoever has it open.
  if (target.isOpen || await resources.reader.look(parts, what) !== null) throw taken(what);
  const handle = await resources.pool.open(await claimName(folder, stored, what), what);
  let isOurs = false;
  handle.isPinned = true;
  try {
    if (await handle.use(what, isPublished)) throw taken(what);
    isOurs = true;
    await copyByteZeroLast(resources, source, handle, sizeBytes, what);
    handle.isPinned = false;
    resources.pool.touch(handle);
    return handle;
  } catch (error) {
    if (isOurs) await takeBack(handle, what);
    await handle.close();
    if (isOurs) await folder.removeEntry(stored).catch(() => {}); // Empty as it is now, it counts as absent.
    throw error;
  }
}

async function claimName(folder: FolderHandle, stored: string, what: string): Promise<FileHandle> {
  try {
    return await folder.getFileHandle(stored, { create: true });
  } catch (error) {
    throw isOtherKind(error) ? taken(what) : error;
  }
}

function isPublished(handle: SyncHandle): boolean {
  return handle.getSize() > 0 && firstByteOf(handle) !== 0;
}

async function copyByteZeroLast(
  resources: OpfsResources,
  source: FileHandle,
  handle: PooledHandle,
  sizeBytes: number,
  what: string,
): Promise<void> {
  await handle.use(what, (it) => it.truncate(0));
  let firstByte = new Uint8Array(0);
  for (let at = 0; at < sizeBytes; at += COPY_CHUNK_BYTES) {
    const snapshot = await source.getFile();
    const chunk = new Uint8Array(
      await snapshot.slice(at, Math.min(sizeBytes, at + COPY_CHUNK_BYTES)).arrayBuffer(),
    );
    if (chunk.length !== Math.min(COPY_CHUNK_BYTES, sizeBytes - at)) {
      throw new StorageLostError(`Cannot ${what}: its stage has become shorter`);
    }
    if (at === 0) {
      firstByte = chunk.slice(0, 1);
      chunk[0] = 0;
    }
    await handle.use(what, (it) => writeAll(it, chunk, at));
  }
  await flush(resources, handle, what);
  await handle.use(what, (it) => writeAll(it, firstByte, 0));
  await flush(resources, handle, what);
}

async function flush(resources: OpfsResources, handle: PooledHandle, what: string): Promise<void> {
  try {
    await handle.use(what, (it) => it.flush());
  } catch (error) {
    const refused = await syncRefusal(resources.platform, error, what);
    throw refused.cause instanceof StorageFullError ? refused.cause : refused;
  }
}

/** Nobody was told of the name yet, and empty it counts as absent: the same publish can be tried again. */
async function takeBack(handle: PooledHandle, what: string): Promise<void> {
  try {
    await handle.use(what, (it) => it.truncate(0));
  } catch {
    return; // Its first byte may be there: then the whole content is, and the name is published.
  }
}

function taken(what: string): AlreadyExistsError {
  return new AlreadyExistsError(`Cannot ${what}: the name is taken`);
}
