/**
 * Reading a file that somebody may be writing to.
 *
 * A snapshot can be read until the file changes, so each slice is read from a fresh one, and again when the file was faster.
 * Reading takes no handle.
 *
 * @module
 */

import { StorageLostError } from "../../errors.ts";
import type { ByteRange } from "../../storage/storage_port.ts";
import type { FileHandle, FileSnapshot, OpfsPlatform } from "./platform.ts";
import { nameOf, refusal } from "./refusal.ts";
import type { Tree } from "./tree.ts";

/** How often one slice is tried. Beside a writer that never pauses 60 % of the tries fail, and more on a busy machine. */
export const READ_TRIES_MAX = 20;

/** After so many tries there is a pause before the next, so that a burst of writes can end. */
export const READ_TRIES_AT_ONCE = 5;

/** The longest pause before another try. The first is 1 ms, and each is twice the last. */
export const READ_PAUSE_MS_MAX = 64;

/** How much is read from one snapshot. */
export const READ_SLICE_BYTES = 1_048_576;

/** What a snapshot says once the file behind it has changed, or was removed. */
const OUTRUN: ReadonlySet<string> = new Set(["NotReadableError", "NotFoundError", "InvalidStateError"]);

/** A look at a published file. */
interface Look {
  readonly sizeBytes: number;
  readonly lastModified: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Reads published files below one root. */
export class SliceReader {
  readonly #platform: OpfsPlatform;
  readonly #tree: Tree;

  constructor(platform: OpfsPlatform, tree: Tree) {
    this.#platform = platform;
    this.#tree = tree;
  }

  /** A range, clipped to the size first seen; `null` when there is no such file, or it is not published. */
  async read(parts: readonly string[], range: ByteRange, what: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const { startBytes, endBytes = Infinity } = range;
    const first = await this.#look(parts, startBytes, Math.min(endBytes, startBytes + READ_SLICE_BYTES), what);
    if (first === null) return null;
    const wantedBytes = Math.max(0, Math.min(endBytes, first.sizeBytes) - startBytes);
    if (wantedBytes <= first.bytes.length) return first.bytes;
    const whole = new Uint8Array(wantedBytes);
    whole.set(first.bytes);
    let filledBytes = first.bytes.length;
    while (filledBytes < wantedBytes) {
      const at = startBytes + filledBytes;
      const next = await this.#look(parts, at, Math.min(startBytes + wantedBytes, at + READ_SLICE_BYTES), what);
      // Somebody removed the file, or cut it back, while we read.
      if (next === null || next.bytes.length === 0) return whole.slice(0, filledBytes);
      whole.set(next.bytes, filledBytes);
      filledBytes += next.bytes.length;
    }
    return whole;
  }

  /** Size and time of the last change; `null` when there is no such file, or it is not published. */
  async look(parts: readonly string[], what: string): Promise<Pick<Look, "sizeBytes" | "lastModified"> | null> {
    return await this.#look(parts, 0, 0, what);
  }

  /** Whether a file is published. */
  async isPublished(file: FileHandle, what: string): Promise<boolean> {
    return await this.#lookAt(file, 0, 0, what) !== null;
  }

  async #look(parts: readonly string[], startBytes: number, endBytes: number, what: string): Promise<Look | null> {
    const found = await this.#tree.findFile(parts, what);
    return found && await this.#lookAt(found.file, startBytes, endBytes, what);
  }

  async #lookAt(file: FileHandle, startBytes: number, endBytes: number, what: string): Promise<Look | null> {
    let lastError: unknown;
    for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
      const snapshot = await this.#tree.attempt(what, () => file.getFile());
      if (snapshot === null) return null;
      try {
        return await lookAt(snapshot, startBytes, endBytes);
      } catch (error) {
        if (!OUTRUN.has(nameOf(error))) throw await refusal(this.#platform, error, what);
        lastError = error;
      }
      const pauseMs = Math.min(READ_PAUSE_MS_MAX, 2 ** (tries + 1 - READ_TRIES_AT_ONCE));
      if (pauseMs >= 1 && tries + 1 < READ_TRIES_MAX) await this.#platform.delay(pauseMs);
    }
    throw new StorageLostError(`Cannot ${what}: it changed under ${READ_TRIES_MAX} tries`, { cause: lastError });
  }
}

/** What a snapshot shows, `null` when it is no more than a claim: no bytes, or a first byte that is not written yet. */
async function lookAt(snapshot: FileSnapshot, startBytes: number, endBytes: number): Promise<Look | null> {
  const { size, lastModified } = snapshot;
  if (size === 0) return null;
  const end = Math.min(endBytes, size);
  const hasBytes = startBytes < end;
  const [bytes, first] = await Promise.all([
    hasBytes ? bytesOf(snapshot, startBytes, end) : new Uint8Array(0),
    hasBytes && startBytes === 0 ? null : bytesOf(snapshot, 0, 1),
  ]);
  return (first ?? bytes)[0] === 0 ? null : { sizeBytes: size, lastModified, bytes };
}

/** Firefox gives fewer bytes where Chromium throws. */
async function bytesOf(snapshot: FileSnapshot, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await snapshot.slice(start, end).arrayBuffer());
  if (bytes.length === end - start) return bytes;
  throw new DOMException(`of ${end - start} bytes ${bytes.length} came`, "NotReadableError");
}
