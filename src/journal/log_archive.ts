/**
 * A log and its blobs as one file.
 *
 * ```
 * session.v3.jsonl.zstd     the log, as it is
 * blobs/<sha256>            each blob that it names, as it was before it was stored
 * ```
 *
 * @module
 */
import { CorruptLogError, NotFoundError } from "../errors.ts";
import type { LogReader } from "../store/session_store.ts";
import { sha256Hex } from "./digest.ts";
import { generationOf } from "./layout.ts";
import { isZip, listZip, writeZip, type ZipBounds, type ZipEntry, type ZipMember } from "./zip.ts";

/** The name of an archive. */
export const ARCHIVE_NAME = "session.zip";

/** What an archive holds. */
export interface LogArchive extends Pick<LogReader, "getBlob"> {
  /** What the log is called in it. */
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of the blobs, each once. What is under it has this digest, which was checked. */
  readonly digests: readonly string[];
}

/**
 * The name that a blob has in an archive.
 *
 * @example
 * ```ts
 * import { archivedBlobName } from "./log_archive.ts";
 *
 * if (!archivedBlobName("0".repeat(64)).startsWith("blobs/")) throw new Error("unreachable");
 * ```
 */
export function archivedBlobName(digest: string): string {
  return `blobs/${digest}`;
}

/**
 * Makes an archive.
 *
 * @throws {TooLargeError} when it would have more than 4 GiB
 *
 * @example
 * ```ts
 * import { packLog, unpackLog } from "./log_archive.ts";
 *
 * const packed = await packLog("session.v3.jsonl", new TextEncoder().encode("{}"), [new TextEncoder().encode("text")]);
 * const { name, digests } = await unpackLog("session.zip", packed) ?? {};
 * if (name !== "session.v3.jsonl" || digests?.length !== 1) throw new Error("unreachable");
 * ```
 */
export async function packLog(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  blobs: readonly Uint8Array<ArrayBuffer>[],
): Promise<Uint8Array<ArrayBuffer>> {
  const members: ZipMember[] = [{ name, bytes }];
  for (const blob of blobs) members.push({ name: archivedBlobName(await sha256Hex(blob)), bytes: blob });
  return writeZip(members);
}

/**
 * Reads an archive; `null` when the bytes are none. Members that are neither log nor blob are left alone, and whatever they are
 * called, nothing is written under a member's name. Log and blobs may lie in one folder, as they do when a folder was packed.
 *
 * Blobs are unpacked one at a time: here to check them, and again by `getBlob`.
 *
 * @throws {CorruptLogError} when it is damaged, holds no log or several, or a blob is not what it is named by
 * @throws {UnsupportedFormatError} when it is encrypted, or packed by a method that is not read
 * @throws {TooLargeError} when it holds more than the bounds allow
 *
 * @example
 * ```ts
 * import { unpackLog } from "./log_archive.ts";
 *
 * if (await unpackLog("a.jsonl", new TextEncoder().encode("{}")) !== null) throw new Error("unreachable");
 * ```
 */
export async function unpackLog(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  bounds: ZipBounds = {},
): Promise<LogArchive | null> {
  if (!isZip(bytes)) return null;
  const entries = listZip(name, bytes, bounds);
  const logs = entries.flatMap((entry) => {
    const place = placeOfLog(entry.name);
    return place === null ? [] : [{ entry, ...place }];
  });
  const [log] = logs;
  if (log === undefined || logs.length > 1) {
    throw new CorruptLogError(`Cannot read "${name}": it holds ${logs.length} session logs, not one`);
  }
  const blobs = new Map<string, ZipEntry>();
  for (const entry of entries) {
    const digest = digestOf(entry.name, log.folder);
    if (digest === null) continue;
    if (await sha256Hex(await entry.read()) !== digest) {
      throw new CorruptLogError(`Cannot read "${name}": "${entry.name}" in it has another SHA-256`);
    }
    blobs.set(digest, entry);
  }
  return {
    name: log.file,
    bytes: await log.entry.read(),
    digests: [...blobs.keys()],
    async getBlob(digest) {
      const entry = blobs.get(digest);
      if (entry === undefined) throw new NotFoundError(`Cannot read blob "${digest}": it is not in "${name}"`);
      return await entry.read();
    },
  };
}

/** Where a log lies in an archive, with the folder's `/`; also one that a person gave another name. */
function placeOfLog(name: string): { readonly folder: string; readonly file: string } | null {
  const [, folder = "", file] = /^([^/]+\/)?([^/]+)$/.exec(name) ?? [];
  // What macOS adds beside each file begins so.
  if (file === undefined || folder === "./" || folder === "../" || /^\._/.test(file)) return null;
  return generationOf(file) !== null || /\.jsonl(\.zstd)?$/.test(file) ? { folder, file } : null;
}

/** The digest that a member of this folder is named by; `null` when it is no blob. */
function digestOf(name: string, folder: string): string | null {
  if (!name.startsWith(`${folder}blobs/`)) return null;
  const digest = name.slice(`${folder}blobs/`.length);
  return /^[0-9a-f]{64}$/.test(digest) ? digest : null;
}
