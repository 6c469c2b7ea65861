/**
 * A log and the blobs that it names as one zip archive, written piece by piece.
 *
 * @module
 */
import { hasCode, type LogReader } from "../../mod.ts";
import { archivedBlobName, crc32, ZipWriter } from "../entry/file.ts";
import { encodeLog, type ExportFormat } from "./encode_log.ts";

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
 */
export async function archiveOf(
  reader: LogReader,
  format: Exclude<ExportFormat, "md">,
  named: readonly string[],
): Promise<ArchivedLog> {
  const present: string[] = [];
  const missing: string[] = [];
  for (const digest of named) (await blobOf(reader, digest) === null ? missing : present).push(digest);
  return { chunks: pieces(reader, format, present), blobs: present.length, missing };
}

async function* pieces(
  reader: LogReader,
  format: Exclude<ExportFormat, "md">,
  digests: readonly string[],
): AsyncGenerator<Uint8Array> {
  const zip = new ZipWriter();
  // A log that is written meanwhile grows: both readings end at the same event.
  const end = reader.state().nextSeq;
  let [sizeBytes, sum] = [0, 0];
  for await (const chunk of encodeLog(reader, format, end)) {
    sizeBytes += chunk.length;
    sum = crc32(chunk, sum);
  }
  const name = format === "zstd" ? "session.v3.jsonl.zstd" : "session.v3.jsonl";
  yield zip.begin({ name, sizeBytes, crc32: sum });
  yield* encodeLog(reader, format, end);
  for (const digest of digests) {
    const bytes = await reader.getBlob(digest);
    yield zip.begin({ name: archivedBlobName(digest), sizeBytes: bytes.length, crc32: crc32(bytes) });
    yield bytes;
  }
  yield zip.end();
}

async function blobOf(reader: LogReader, digest: string): Promise<Uint8Array | null> {
  try {
    return await reader.getBlob(digest);
  } catch (error) {
    if (hasCode(error, "NOT_FOUND") || hasCode(error, "CORRUPT_FRAME")) return null;
    throw error;
  }
}
