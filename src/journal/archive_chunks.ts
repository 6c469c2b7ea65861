/**
 * A log and the blobs that it names as one zip archive, piece by piece.
 *
 * @module
 */
import { findBlob } from "../store/check_spilled.ts";
import type { LogReader } from "../store/session_store.ts";
import { archivedBlobName } from "./log_archive.ts";
import { crc32, ZipWriter } from "./zip.ts";

/** An archive that is about to be written. */
export interface ArchivedLog {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** How many blobs are in it. */
  readonly blobs: number;
  /** Digests of those that the log names and that are not there, or damaged. */
  readonly missing: readonly string[];
}

/**
 * Makes an archive of a log and its blobs. The log is encoded twice, because an archive says how long a member is before the
 * member; only one blob at a time is in memory.
 *
 * @param log what the log is called in it, and what encodes it: the same bytes each time
 * @param named digests of the blobs that the log names
 *
 * @example
 * ```ts
 * import type { LogReader } from "../store/session_store.ts";
 * import { archiveChunks } from "./archive_chunks.ts";
 *
 * async function sizeOf(reader: LogReader, text: string): Promise<number> {
 *   async function* encode() {
 *     yield new TextEncoder().encode(text);
 *   }
 *   const { chunks } = await archiveChunks(reader, { name: "session.v3.jsonl", encode }, []);
 *   let sizeBytes = 0;
 *   for await (const chunk of chunks) sizeBytes += chunk.length;
 *   return sizeBytes;
 * }
 * ```
 */
export async function archiveChunks(
  reader: Pick<LogReader, "getBlob">,
  log: { readonly name: string; readonly encode: () => AsyncIterable<Uint8Array> },
  named: readonly string[],
): Promise<ArchivedLog> {
  const present: string[] = [];
  const missing: string[] = [];
  for (const digest of named) ((await findBlob(reader, digest)).bytes === null ? missing : present).push(digest);
  return { chunks: pieces(reader, log, present), blobs: present.length, missing };
}

async function* pieces(
  reader: Pick<LogReader, "getBlob">,
  { name, encode }: { readonly name: string; readonly encode: () => AsyncIterable<Uint8Array> },
  digests: readonly string[],
): AsyncGenerator<Uint8Array> {
  const zip = new ZipWriter();
  let [sizeBytes, sum] = [0, 0];
  for await (const chunk of encode()) {
    sizeBytes += chunk.length;
    sum = crc32(chunk, sum);
  }
  yield zip.begin({ name, sizeBytes, crc32: sum });
  yield* encode();
  for (const digest of digests) {
    const bytes = await reader.getBlob(digest);
    yield zip.begin({ name: archivedBlobName(digest), sizeBytes: bytes.length, crc32: crc32(bytes) });
    yield bytes;
  }
  yield zip.end();
}
