/**
 * Where a session lies: folder and file names, as pure functions.
 *
 * ```
 * <project>/<session>/session.v3.jsonl.zstd          the log (or .jsonl, uncompressed)
 * <project>/<session>/session.lock                   one writer
 * <project>/<session>/session.v3.jsonl.zstd.torn-…   copies of torn tails
 * <project>/<session>/session.v3.jsonl.zstd.snapshot-…   what its events come to: disposable
 * <project>/<session>/blobs/<sha256>                 attachments, one zstd frame each
 * ```
 *
 * @see session-format §1
 * @module
 */
import { FORMAT_VERSION } from "../event/mod.ts";

/** How the records of a log are stored: zstd frames, or plain lines. */
export type LogEncoding = "zstd" | "none";

/** One file that holds a generation of a log. */
export interface Generation {
  readonly version: number;
  readonly encoding: LogEncoding;
}

/** A project folder's slug is cut to this many UTF-16 units. */
const SLUG_UNITS_MAX = 251;

/** The most UTF-16 units (all of them ASCII, so bytes) a session's folder name may have: what file systems take. */
export const FOLDER_NAME_UNITS_MAX = 255;

/** The name of the lock file in a session's folder. */
export const LOCK_NAME = "session.lock";

/**
 * The folder, directly below the root, of all sessions with this working directory. Lossy on purpose.
 *
 * @throws {RangeError} for an empty `cwd`
 * @see session-format §1.1
 *
 * @example
 * ```ts
 * import { projectFolder } from "./layout.ts";
 *
 * if (projectFolder("/srv/proj") !== "--srv-proj--") throw new Error("unreachable");
 * ```
 */
export function projectFolder(cwd: string | undefined): string {
  if (cwd === undefined) return "_no-cwd";
  if (cwd === "") throw new RangeError('Cannot name the project folder of "": the working directory is empty');
  const slug = cwd
    .replace(/[/\\:]+|[^A-Za-z0-9._/\\:-]/g, (match) => /^[/\\:]/.test(match) ? "-" : escapeUnits(match))
    .replace(/^-+/, "");
  return `--${(slug === "" ? "root" : slug).slice(0, SLUG_UNITS_MAX)}--`;
}

/**
 * The folder of one session inside its project folder. Two ids never share one.
 *
 * @throws {RangeError} for an empty id
 * @see session-format §1.2
 *
 * @example
 * ```ts
 * import { sessionFolder } from "./layout.ts";
 *
 * if (sessionFolder("../a") !== "..~002Fa") throw new Error("unreachable");
 * ```
 */
export function sessionFolder(id: string): string {
  if (id === "") throw new RangeError('Cannot name the folder of session "": the id is empty');
  if (id === "." || id === "..") return id.replaceAll(".", "~002E");
  return id.replace(/[^A-Za-z0-9._-]/g, escapeUnits);
}

/**
 * The id whose folder this is, or `null` when no id has a folder of this name.
 *
 * @example
 * ```ts
 * import { idOfFolder } from "./layout.ts";
 *
 * if (idOfFolder("..~002Fa") !== "../a" || idOfFolder("a b") !== null) throw new Error("unreachable");
 * ```
 */
export function idOfFolder(folder: string): string | null {
  const id = folder.replace(/~([0-9A-F]{4})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return id !== "" && sessionFolder(id) === folder ? id : null;
}

/**
 * The file name of a generation.
 *
 * @see session-format §1.3
 *
 * @example
 * ```ts
 * import { logName } from "./layout.ts";
 *
 * if (logName({ version: 3, encoding: "zstd" }) !== "session.v3.jsonl.zstd") throw new Error("unreachable");
 * ```
 */
export function logName({ version, encoding }: Generation): string {
  return `session${version === 0 ? "" : `.v${version}`}.jsonl${encoding === "zstd" ? ".zstd" : ""}`;
}

/**
 * What generation a file name stands for; `null` for every other name, near misses like `session.v03.jsonl` included.
 *
 * @example
 * ```ts
 * import { generationOf } from "./layout.ts";
 *
 * if (generationOf("session.jsonl")?.version !== 0 || generationOf("session.v0.jsonl") !== null) {
 *   throw new Error("unreachable");
 * }
 * ```
 */
export function generationOf(name: string): Generation | null {
  const match = /^session(?:\.v([1-9][0-9]*))?\.jsonl(\.zstd)?$/.exec(name);
  if (match === null) return null;
  const version = match[1] === undefined ? 0 : Number(match[1]);
  return Number.isSafeInteger(version) ? { version, encoding: match[2] === undefined ? "none" : "zstd" } : null;
}

/**
 * The whole name of the log a header belongs to.
 *
 * @param version of the file; default: the current one
 *
 * @throws {RangeError} for an empty id or working directory
 *
 * @example
 * ```ts
 * import { logPath } from "./layout.ts";
 *
 * const name = logPath({ id: "a", cwd: "/p" }, "none");
 * if (name !== "--p--/a/session.v3.jsonl") throw new Error(name);
 * ```
 */
export function logPath(
  header: { readonly id: string; readonly cwd?: string },
  encoding: LogEncoding,
  version: number = FORMAT_VERSION,
): string {
  return sessionPath(header) + logName({ version, encoding });
}

/** The whole name, ending with `/`, of the folder a header's session lies in. Throws {@link RangeError} as {@link logPath}. */
export function sessionPath(header: { readonly id: string; readonly cwd?: string }): string {
  return `${projectFolder(header.cwd)}/${sessionFolder(header.id)}/`;
}

/** A copy of a torn tail beside its log: from which offset it was taken, and the start of its SHA-256. */
export interface TornCopyName {
  readonly name: string;
  readonly offsetBytes: number;
}

/** The name of a torn-tail copy. `digest` is the SHA-256 of the copied bytes in hex; its first 8 digits are used. */
export function tornCopyName(log: string, offsetBytes: number, digest: string): string {
  return `${log}.torn-${offsetBytes}-${digest.slice(0, 8)}`;
}

/** Reads a torn-tail copy's name; `null` when `name` is no copy of `log`'s tail. Both are whole names. */
export function tornCopyOf(log: string, name: string): TornCopyName | null {
  if (!name.startsWith(`${log}.torn-`)) return null;
  const match = /^(0|[1-9][0-9]*)-[0-9a-f]{8}$/.exec(name.slice(log.length + ".torn-".length));
  return match === null ? null : { name, offsetBytes: Number(match[1]) };
}

/** A snapshot beside its log, and how much of the log it stands for. */
export interface SnapshotName {
  readonly name: string;
  readonly coveredBytes: number;
}

/** The name of a snapshot. `digest` is the SHA-256 of what it holds in hex; its first 8 digits are used. */
export function snapshotName(log: string, coveredBytes: number, digest: string): string {
  return `${log}.snapshot-${coveredBytes}-${digest.slice(0, 8)}`;
}

/** Reads a snapshot's name; `null` when `name` is no snapshot of `log`. Both are whole names. */
export function snapshotOf(log: string, name: string): SnapshotName | null {
  if (!name.startsWith(`${log}.snapshot-`)) return null;
  const match = /^([1-9][0-9]*)-[0-9a-f]{8}$/.exec(name.slice(log.length + ".snapshot-".length));
  return match === null ? null : { name, coveredBytes: Number(match[1]) };
}

/** `~` and four upper-case hex digits for each UTF-16 unit. */
function escapeUnits(text: string): string {
  let escaped = "";
  for (let index = 0; index < text.length; index++) {
    escaped += `~${text.charCodeAt(index).toString(16).toUpperCase().padStart(4, "0")}`;
  }
  return escaped;
}
