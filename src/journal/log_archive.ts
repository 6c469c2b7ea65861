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
import { CorruptLogError } from "../errors.ts";
import { sha256Hex } from "./digest.ts";
import { generationOf } from "./layout.ts";
import { isZip, readZip, writeZip, type ZipMember } from "./zip.ts";

/** The name of an archive. */
export const ARCHIVE_NAME = "session.zip";

const BLOB_NAME = /^blobs\/([0-9a-f]{64})$/;

/** What an archive holds. */
export interface LogArchive {
  /** What the log is called in it. */
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Each of them has the digest it is named by. */
  readonly blobs: readonly Uint8Array<ArrayBuffer>[];
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
 * const { name, blobs } = await unpackLog("session.zip", packed) ?? {};
 * if (name !== "session.v3.jsonl" || blobs?.length !== 1) throw new Error("unreachable");
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
 * Reads an archive; `null` when the bytes are none. Members that are neither log nor blob are left alone.
 *
 * @throws {CorruptLogError} when it is damaged, holds no log or several, or a blob is not what it is named by
 * @throws {UnsupportedFormatError} when a member is compressed
 *
 * @example
 * ```ts
 * import { unpackLog } from "./log_archive.ts";
 *
 * if (await unpackLog("a.jsonl", new TextEncoder().encode("{}")) !== null) throw new Error("unreachable");
 * ```
 */
export async function unpackLog(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<LogArchive | null> {
  if (!isZip(bytes)) return null;
  const members = readZip(name, bytes);
  const logs = members.filter((member) => isLogName(member.name));
  const [log] = logs;
  if (log === undefined || logs.length > 1) {
    throw new CorruptLogError(`Cannot read "${name}": it holds ${logs.length} session logs, not one`);
  }
  const blobs: Uint8Array<ArrayBuffer>[] = [];
  for (const member of members) {
    const [, digest] = BLOB_NAME.exec(member.name) ?? [];
    if (digest === undefined) continue;
    if (await sha256Hex(member.bytes) !== digest) {
      throw new CorruptLogError(`Cannot read "${name}": "${member.name}" in it has another SHA-256`);
    }
    blobs.push(member.bytes);
  }
  return { name: log.name, bytes: log.bytes, blobs };
}

/** Also what a person gave another name, as long as it lies at the top. */
function isLogName(name: string): boolean {
  return generationOf(name) !== null || /^[^/]+\.jsonl(\.zstd)?$/.test(name);
}
