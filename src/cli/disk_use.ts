/**
 * What lies below the root: how much, and what others may read or write.
 *
 * @module
 */
import { type Dirent, existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** How many entries are looked at. */
const ENTRIES_MAX = 100_000;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** What was found. */
export interface DiskUse {
  files: number;
  sizeBytes: number;
  /** Whether everything was looked at. */
  isComplete: boolean;
  /** What could not be looked at, and why. */
  unreadable: { name: string; reason: string }[];
  /** What gives others more than its mode should; modes in octal. */
  loose: { name: string; mode: string; wanted: string }[];
}

/** Walks the root. Follows no link. */
export function diskUse(root: string): DiskUse {
  const use: DiskUse = { files: 0, sizeBytes: 0, isComplete: true, unreadable: [], loose: [] };
  const folders = existsSync(root) ? [realpathSync(root)] : [];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    look(use, folder, FOLDER_MODE);
    for (const entry of entriesOf(use, folder)) {
      if (use.files >= ENTRIES_MAX) return { ...use, isComplete: false };
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) {
        use.files++;
        use.sizeBytes += look(use, path, FILE_MODE);
      }
    }
  }
  return use;
}

function entriesOf(use: DiskUse, folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return []; // It went away meanwhile.
    use.unreadable.push({ name: folder, reason: (error as Error).message });
    return [];
  }
}

/** Notes a mode that gives others more than `wanted`; returns the size. A file that went away meanwhile has none. */
function look(use: DiskUse, path: string, wanted: number): number {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  const mode = found.mode & 0o777;
  if (process.platform !== "win32" && (mode & ~wanted) !== 0) {
    use.loose.push({ name: path, mode: mode.toString(8), wanted: wanted.toString(8) });
  }
  return found.size;
}
