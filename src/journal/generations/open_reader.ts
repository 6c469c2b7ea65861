/**
 * The reader that fits a log, whatever its version.
 *
 * @module
 */
import { UnsupportedFormatError } from "../../errors.ts";
import type { SessionHeader } from "../../event/mod.ts";
import type { LogReader, OpenOptions } from "../../store/session_store.ts";
import { fileSource } from "../byte_source.ts";
import type { JournalContext } from "../context.ts";
import type { Finding } from "../finding.ts";
import { isLegacyVersion } from "../legacy/mod.ts";
import { newerVersionText } from "../locate.ts";
import type { ReadPlace } from "../log_view.ts";
import { JournalReader } from "../reader.ts";
import { FUTURE_DIALECT, isFutureVersion } from "./future_dialect.ts";
import { OldReader } from "./old_reader.ts";
import { peekVersion } from "./peek_version.ts";

/** Opens a log of which the header says the version: what its name says is for `judge`. */
export async function openReader(
  context: JournalContext,
  place: ReadPlace,
  judge: (header: SessionHeader) => Promise<Finding | null>,
  options: OpenOptions,
  onClose: () => void = () => {},
): Promise<LogReader> {
  const sizeBytes = (await context.storage.stat(place.log))?.sizeBytes ?? 0;
  const version = await peekVersion(fileSource(context.storage, place.log), sizeBytes, place.encoding, context);
  if (isLegacyVersion(version)) return await OldReader.open({ context, place, version, judge, open: options, onClose });
  if (version === null && place.version !== undefined && isFutureVersion(place.version)) {
    const found = `"${place.log}" has ${newerVersionText(place.version)}; this build does not understand its header`;
    throw new UnsupportedFormatError(`Cannot open session "${place.id}": ${found}`, { version: place.version });
  }
  const dialect = version !== null && isFutureVersion(version) ? FUTURE_DIALECT : undefined;
  return await JournalReader.open(context, { ...place, dialect }, judge, options, onClose);
}
