/**
 * Finds the one log that belongs to an id, and what stands in its way.
 *
 * @see session-format §1.3, §1.4
 * @module
 */
import { CorruptLogError, hasCode, NotFoundError, UnsupportedFormatError } from "../errors.ts";
import { FORMAT_VERSION, type SessionHeader } from "../event/mod.ts";
import type { StorageEntry, StoragePort } from "../storage/storage_port.ts";
import type { Finding } from "./finding.ts";
import {
  FOLDER_NAME_UNITS_MAX,
  type Generation,
  generationOf,
  idOfFolder,
  LOCK_NAME,
  type LogEncoding,
  logPath,
  sessionFolder,
} from "./layout.ts";

/** A log and its surroundings. */
export interface LogPlace {
  /** The id that leads here. */
  readonly id: string;
  /** The session's folder, with its `/`. */
  readonly folder: string;
  /** The selected generation's whole name. */
  readonly log: string;
  readonly lock: string;
  readonly version: number;
  readonly encoding: LogEncoding;
  /** Whole names of all generations, ascending by version. */
  readonly generations: readonly string[];
  /** What forbids writing, as far as names tell. */
  readonly objection: Finding | null;
}

/** Where an id lies. */
export interface Located {
  /** More than one is damage. */
  readonly places: readonly LogPlace[];
  /** Folders of this id without a log: nothing was published yet, or a removal did not get to its end. */
  readonly empty: readonly string[];
  /** A log of the old flat layout, which no version reads. */
  readonly flat: string | null;
  /** Why a project folder could not be searched. */
  readonly unreadable: unknown;
}

/** The project folders of a root, each with its `/`. */
export async function projectFolders(storage: StoragePort): Promise<string[]> {
  return (await storage.list("")).filter((entry) => entry.kind === "folder").map((entry) => entry.name);
}

/** Looks for an id in every project folder. One that cannot be read does not hide what lies in the others. */
export async function locate(storage: StoragePort, id: string): Promise<Located> {
  const name = sessionFolder(id);
  const places: LogPlace[] = [];
  const empty: string[] = [];
  let flat: string | null = null;
  let unreadable: unknown = null;
  if (name.length > FOLDER_NAME_UNITS_MAX) return { places, empty, flat, unreadable };
  for (const project of await projectFolders(storage)) {
    const folder = `${project}${name}/`;
    try {
      const entries = await storage.list(folder);
      const place = placeOf(folder, entries);
      if (place !== null) places.push(place);
      else if (entries.length > 0) empty.push(folder);
      flat ??= await flatLog(storage, project + name);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      // A name the storage does not take is none of ours: no session is behind it.
      if (!(error instanceof RangeError)) unreadable ??= error;
    }
  }
  return { places, empty, flat, unreadable };
}

/**
 * The log of an id.
 *
 * @throws {NotFoundError} when there is none
 * @throws {CorruptLogError} when there are two
 * @throws {UnsupportedFormatError} when it is of the flat layout
 */
export async function locateLog(storage: StoragePort, id: string): Promise<LogPlace> {
  const { places, flat, unreadable } = await locate(storage, id);
  const [place, second] = places;
  if (second !== undefined) throw new CorruptLogError(`Cannot open session "${id}": ${duplicateText(places)}`);
  if (place === undefined) {
    if (flat !== null) throw new UnsupportedFormatError(`Cannot open session "${id}": ${flatText(flat)}`);
    throw unreadable ?? new NotFoundError(`Cannot open session "${id}": there is no such session`);
  }
  return flat === null ? place : { ...place, objection: place.objection ?? flatFinding(flat) };
}

async function flatLog(storage: StoragePort, path: string): Promise<string | null> {
  for (const name of [`${path}.jsonl`, `${path}.jsonl.zstd`]) {
    try {
      if (await storage.stat(name) !== null) return name;
    } catch (error) {
      // A folder: that of a session whose id ends like this.
      if (!isUnreadable(error)) throw error;
    }
  }
  return null;
}

/** Whether an error says that this one thing can not be read: it is not what it should be, or has a name no storage takes. */
export function isUnreadable(error: unknown): boolean {
  return hasCode(error, "STORAGE_LOST") || error instanceof RangeError;
}

/** The log in a session's folder: its highest generation. `null` when it holds none. */
export function placeOf(folder: string, entries: readonly StorageEntry[]): LogPlace | null {
  const generations: (Generation & { readonly name: string })[] = [];
  for (const { name, kind } of entries) {
    const generation = kind === "folder" ? null : generationOf(name.slice(folder.length));
    if (generation !== null) generations.push({ ...generation, name });
  }
  // Of one version in both encodings, the compressed one is shown: it is what is written by default.
  generations.sort((a, b) => a.version - b.version || (a.encoding === "zstd" ? 1 : -1));
  const selected = generations.at(-1);
  if (selected === undefined) return null;
  const other = generations.find(({ encoding }) => encoding !== selected.encoding);
  const sessionName = folder.slice(folder.lastIndexOf("/", folder.length - 2) + 1, -1);
  return {
    id: idOfFolder(sessionName) ?? sessionName,
    folder,
    log: selected.name,
    lock: folder + LOCK_NAME,
    version: selected.version,
    encoding: selected.encoding,
    generations: generations.map(({ name }) => name),
    objection: other === undefined ? null : corruptPlace(`"${other.name}" lies beside it in the other encoding`),
  };
}

/** Whether a log lies where its header says; the finding when it does not. */
export async function misplaced(
  storage: StoragePort,
  place: LogPlace,
  header: SessionHeader,
): Promise<Finding | null> {
  if (header.version !== place.version) {
    const message = `its header says version ${header.version} where its name says ${place.version}`;
    return { code: "UNSUPPORTED_FORMAT", offsetBytes: 0, seq: null, message, version: header.version };
  }
  // Only a version that did not look at the folder it worked in can hold such a header.
  if (header.cwd === "") return corruptPlace("its header names an empty working directory");
  const wanted = logPath(header, place.encoding, place.version);
  if (wanted === place.log) return null;
  if (wanted.toLowerCase() === place.log.toLowerCase()) {
    // A file system that ignores case shows one file under both names.
    const [there, here] = await Promise.all([storage.stat(wanted), storage.stat(place.log)]);
    if (there !== null && there.revision === here?.revision) return null;
  }
  return corruptPlace(`its header belongs to "${wanted}"`);
}

/** What forbids writing a log, beside what is in it: asked once its header is known. */
export function judgeOf(storage: StoragePort, place: LogPlace): (header: SessionHeader) => Promise<Finding | null> {
  return async (header) => place.objection ?? await misplaced(storage, place, header);
}

/** Why an id with several logs cannot be opened. */
export function duplicateText(places: readonly LogPlace[]): string {
  return `it lies in ${places.length} places: ${places.map(({ log }) => `"${log}"`).join(", ")}`;
}

/** Why a log of the flat layout is not read. */
export function flatText(name: string): string {
  return `"${name}" is of the old flat layout, which this build does not read`;
}

/** Why a log of a later version is not written. */
export function newerVersion({ id, log, version }: LogPlace): UnsupportedFormatError {
  const message = `Cannot open session "${id}" for writing: "${log}" has ${newerVersionText(version)}`;
  return new UnsupportedFormatError(message, { version });
}

/** What forbids writing a log of a later version. */
export function newerVersionText(version: number): string {
  return `format version ${version} where ${FORMAT_VERSION} is current: written by a newer program; upgrade to write it`;
}

function flatFinding(name: string): Finding {
  return { code: "UNSUPPORTED_FORMAT", offsetBytes: null, seq: null, message: flatText(name) };
}

function corruptPlace(message: string): Finding {
  return { code: "CORRUPT_LOG", offsetBytes: null, seq: null, message };
}
