/**
 * The journal: sessions over named bytes.
 *
 * @module
 */
export { type JournalOptions, openJournal } from "./journal.ts";
export { migrateLog, type Migration } from "./generations/migrate_log.ts";
export { legacyHeaderOf, migrateLegacy, readLegacyRow } from "./legacy/mod.ts";
export { type StagedFacts, type StagedLog, type StageVerifier, verifyHere } from "./generations/verify_stage.ts";
export { openLogFile } from "./log_file_reader.ts";
export {
  IMPORT_NOTE_NAME,
  type LogSource,
  RAW_LOG_BYTES_MAX,
  type RawLogs,
  rawLogs,
  type TakenLog,
} from "./raw_logs.ts";
export type { LogEncoding } from "./layout.ts";
export type { ZstdCodec } from "../frame/mod.ts";
export * from "./limits.ts";
export { archiveChunks, type ArchivedLog } from "./archive_chunks.ts";
export { ARCHIVE_NAME, archivedBlobName, type LogArchive, unpackLog } from "./log_archive.ts";
export {
  crc32,
  isZip,
  listZip,
  readZip,
  writeZip,
  type ZipBounds,
  type ZipEntry,
  type ZipMember,
  type ZipMemberFacts,
  ZipWriter,
} from "./zip.ts";
export * from "./diagnose/mod.ts";
export * from "./salvage_copy/mod.ts";
