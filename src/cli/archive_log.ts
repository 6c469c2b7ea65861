/**
 * A log and the blobs that it names as one zip archive, written piece by piece.
 *
 * @module
 */
import type { LogReader } from "../../mod.ts";
import { archiveChunks, type ArchivedLog } from "../entry/raw_logs.ts";
import { encodeLog, type ExportFormat } from "./encode_log.ts";

/** Makes an archive of a log, in a format that opens again as a log, and its blobs. */
export async function archiveOf(
  reader: LogReader,
  format: Exclude<ExportFormat, "md">,
  named: readonly string[],
): Promise<ArchivedLog> {
  // A log that is written meanwhile grows: both readings end at the same event.
  const end = reader.state().nextSeq;
  const name = format === "zstd" ? "session.v3.jsonl.zstd" : "session.v3.jsonl";
  return await archiveChunks(reader, { name, encode: () => encodeLog(reader, format, end) }, named);
}
