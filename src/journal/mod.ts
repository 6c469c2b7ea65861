/**
 * The journal: sessions over named bytes.
 *
 * @module
 */
export { type JournalOptions, openJournal } from "./journal.ts";
export { openLogFile } from "./log_file_reader.ts";
export { IMPORT_NOTE_NAME, type LogSource, RAW_LOG_BYTES_MAX, type RawLogs, rawLogs } from "./raw_logs.ts";
export type { LogEncoding } from "./layout.ts";
export type { ZstdCodec } from "../frame/mod.ts";
export * from "./limits.ts";
export { ARCHIVE_NAME, archivedBlobName, unpackLog } from "./log_archive.ts";
export { crc32, isZip, readZip, writeZip, type ZipMember, type ZipMemberFacts, ZipWriter } from "./zip.ts";
