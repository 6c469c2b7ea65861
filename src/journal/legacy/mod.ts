/**
 * Old logs: versions 0, 1 and 2 of the format, decoded as they are and migrated to version 3.
 *
 * Pure and streaming: lines go in one after the other, events come out, and nothing here reads or writes a file. How frames and
 * lines are found is the same in every version and is the scan's matter. A reader does this:
 *
 * ```ts ignore
 * const header = parseLegacyHeader(headerLine); // throws UNSUPPORTED_FORMAT or CORRUPT_LOG
 * const migration = migrateLegacy(header); // the same
 * let seq = 0;
 * for (const line of lines) {
 *   const row = readLegacyRow(line, header.version, seq); // as readRow() of version 3: a RowFault may be a torn tail
 *   if (row instanceof RowFault) break;
 *   for (const event of migration.push(row)) use(event); // seqs dense from 0, each may stand next in a version-3 log
 *   seq += row.count;
 * }
 * for (const event of migration.end()) use(event);
 * ```
 *
 * `push()` and `end()` throw `UNSUPPORTED_FORMAT` for what is intact and has no place in version 3: such a log is read with a
 * {@linkcode LegacyDecoder} instead, and nothing is published from it. `CORRUPT_LOG` is damage, which the file's own version
 * refuses too.
 *
 * @see session-format §10
 * @module
 */
export type { LegacyEvent, LegacyEventRow, LegacyHeader, LegacyRow, LegacyRunRow, LegacyVersion } from "./types.ts";
export { encodeLegacyHeader, isLegacyVersion, legacyHeaderOf, parseLegacyHeader } from "./header.ts";
export { encodeLegacyRow, legacyRowLooksLikeTurnEnd, readLegacyRow } from "./row.ts";
export { foldedEvent, LegacyDecoder, type LegacyDecoderOptions, viewedEvent } from "./decoder.ts";
export { type LegacyMigration, migrateLegacy } from "./migrate.ts";
