/**
 * Reads session logs out of a browser's profile folder, without the browser: OPFS keeps each file as one plain file with a number
 * for a name, so a log is known by what is in it.
 *
 * @module
 */
import { readRaw } from "../../kill/raw_log.ts";

/** First bytes of a zstd frame, RFC 8878 §3.1.1. */
const FRAME_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/**
 * The bytes of a session's log as they lie in the profile; `null` when there is none.
 *
 * A log is staged in a file of its own before it gets its name, and the names are not in the files. Where both are there, the log
 * is the longer one; where only a stage is there, it is taken for the log.
 */
export function readLogOnDisk(profile: string, sessionId: string): Uint8Array | null {
  const found = filesOf(profile).map(readIfThere).filter((bytes) => bytes !== null && idOf(bytes) === sessionId);
  return found.reduce((longest, bytes) => (bytes!.length > (longest?.length ?? -1) ? bytes : longest), null);
}

/** Whether the profile holds, in any log, a complete frame with a marker of this key. */
export function isMarkerOnDisk(profile: string, effectKey: string): boolean {
  return filesOf(profile).some((path) => {
    const bytes = readIfThere(path);
    if (bytes === null || !isLog(bytes)) return false;
    return readRaw(bytes).rows.some(({ type, data }) => type === "effect/dispatched" && data.effectKey === effectKey);
  });
}

/** The content of every file that lies in the profile. */
export function filesOnDisk(profile: string): Uint8Array[] {
  return filesOf(profile).flatMap((path) => readIfThere(path) ?? []);
}

/** Side files of a log (torn tails, blobs) are frames too, and hold no header. */
function idOf(bytes: Uint8Array): string | null {
  if (!isLog(bytes)) return null;
  try {
    const [header] = readRaw(bytes).rows;
    return header?.type === "session" ? JSON.parse(header.text).id : null;
  } catch {
    return null;
  }
}

function isLog(bytes: Uint8Array): boolean {
  return FRAME_MAGIC.every((byte, index) => bytes[index] === byte);
}

/** Where Chromium keeps the OPFS of all origins. */
function filesOf(profile: string): string[] {
  const found: string[] = [];
  const walk = (folder: string) => {
    for (const entry of entriesOf(folder)) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory) walk(path);
      else if (/^\d+$/.test(entry.name)) found.push(path);
    }
  };
  walk(`${profile}/Default/File System`);
  return found;
}

function entriesOf(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The browser may remove a file while we look. */
function readIfThere(path: string): Uint8Array | null {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
