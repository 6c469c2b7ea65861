/**
 * The journal: sessions over named bytes.
 *
 * @module
 */
export { type JournalOptions, openJournal } from "./journal.ts";
export { openLogFile } from "./log_file_reader.ts";
export type { LogEncoding } from "./layout.ts";
export type { ZstdCodec } from "../frame/mod.ts";
export * from "./limits.ts";
