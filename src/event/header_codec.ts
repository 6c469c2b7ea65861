/**
 * The header line: read as a stranger's, written in the one key order.
 *
 * @see session-format §2
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../errors.ts";
import { isCount, isNonEmptyString, isRecord, type JsonRecord, show, strangeKey, wrong } from "./checks.ts";
import { FORMAT_VERSION, type SessionHeader } from "./header.ts";

const KEYS: ReadonlySet<string> = new Set([
  "type",
  "version",
  "id",
  "createdAt",
  "cwd",
  "parentSession",
  "isSeeded",
  "origin",
  "delegationDepth",
  "agentPreset",
]);

/** Keys that early writers used for what is now in events. Every version refuses them. */
const RETIRED_KEYS = ["sandboxMode", "approvalPolicy"] as const;

/**
 * Reads the first line of a version-3 log.
 *
 * The version is looked at before anything else of the shape, so that a log of another version is told apart from a damaged
 * one.
 *
 * @param line without its newline; a carriage return at its end is tolerated
 * @throws {UnsupportedFormatError} of another version; `version` holds it and the message names the direction
 * @throws {CorruptLogError} not a header
 *
 * @example
 * ```ts
 * import { parseHeader } from "./header_codec.ts";
 *
 * const line = '{"type":"session","version":3,"id":"a","createdAt":1,"isSeeded":false,"delegationDepth":0}';
 * if (parseHeader(line).id !== "a") throw new Error("unreachable");
 * ```
 */
export function parseHeader(line: string): SessionHeader {
  const value = parseJson(line);
  if (!isRecord(value)) throw corrupt(`${show(value)}, which is no session header`);
  if (typeof value.version !== "number") {
    throw corrupt(`${wrong("version", value.version, "a number")}, so this is no session header`);
  }
  if (value.version !== FORMAT_VERSION) throw unsupportedVersion(value.version);
  const problem = headerProblem(value);
  if (problem !== null) throw corrupt(problem);
  return value as unknown as SessionHeader;
}

/**
 * Writes a header as one line, without the newline.
 *
 * @example
 * ```ts
 * import { encodeHeader } from "./header_codec.ts";
 *
 * const line = encodeHeader({ isSeeded: false, id: "a", version: 3, type: "session", delegationDepth: 0, createdAt: 1 });
 * if (!line.startsWith('{"type":"session","version":3,"id":"a","createdAt":1,')) throw new Error(line);
 * ```
 */
export function encodeHeader(header: SessionHeader): string {
  const { type, version, id, createdAt, cwd, parentSession, isSeeded, origin, delegationDepth, agentPreset } = header;
  // JSON.stringify leaves out what is undefined.
  return JSON.stringify({
    type,
    version,
    id,
    createdAt,
    cwd,
    parentSession,
    isSeeded,
    origin,
    delegationDepth,
    agentPreset,
  });
}

/**
 * Checks the header of a session that is about to be created: exactly what {@linkcode parseHeader} would accept again.
 *
 * @throws {TypeError} when it would not
 *
 * @example
 * ```ts
 * import { checkNewHeader } from "./header_codec.ts";
 *
 * checkNewHeader({ type: "session", version: 3, id: "a", createdAt: 1, cwd: "/w", isSeeded: false, delegationDepth: 0 });
 * ```
 */
export function checkNewHeader(header: SessionHeader): void {
  const found = !isRecord(header)
    ? show(header)
    : header.version !== FORMAT_VERSION
    ? wrong("version", header.version, String(FORMAT_VERSION))
    : headerProblem(header as unknown as JsonRecord);
  if (found !== null) throw new TypeError(`Cannot create a session: found a header with ${found}`);
}

/** What is wrong with a header of our version, or null. */
function headerProblem(header: JsonRecord): string | null {
  for (const key of RETIRED_KEYS) {
    if (Object.hasOwn(header, key)) return `the retired field "${key}"`;
  }
  const strange = strangeKey(header, KEYS);
  if (strange !== null) return `the unknown field "${strange}"`;
  if (header.type !== "session") return wrong("type", header.type, '"session"');
  if (!isNonEmptyString(header.id)) return wrong("id", header.id, "a non-empty string");
  if (!isCount(header.createdAt)) return wrong("createdAt", header.createdAt, "a count of milliseconds");
  if (header.cwd !== undefined && !isAbsolutePath(header.cwd)) return wrong("cwd", header.cwd, "an absolute path");
  if (header.parentSession !== undefined && typeof header.parentSession !== "string") {
    return wrong("parentSession", header.parentSession, "a string");
  }
  if (typeof header.isSeeded !== "boolean") return wrong("isSeeded", header.isSeeded, "a boolean");
  if (header.origin !== undefined && header.origin !== "subagent") return wrong("origin", header.origin, '"subagent"');
  if (!isCount(header.delegationDepth)) return wrong("delegationDepth", header.delegationDepth, "a count");
  if (header.agentPreset !== undefined && typeof header.agentPreset !== "string") {
    return wrong("agentPreset", header.agentPreset, "a string");
  }
  return null;
}

/** Absolute on POSIX or on Windows: a log may be read on another system than the one that wrote it. */
function isAbsolutePath(value: unknown): boolean {
  return typeof value === "string" && /^(?:[/\\]|[A-Za-z]:[/\\])/.test(value);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw corrupt(line.trim() === "" ? "an empty line" : "text that is not valid JSON", error);
  }
}

function unsupportedVersion(version: number): UnsupportedFormatError {
  const direction = version > FORMAT_VERSION
    ? "written by a newer program; upgrade to open it"
    : "an older version that this build does not read";
  return new UnsupportedFormatError(
    `Cannot read header: found format version ${version}, ${direction}`,
    { version },
  );
}

function corrupt(found: string, cause?: unknown): CorruptLogError {
  return new CorruptLogError(`Cannot read header: found ${found}`, cause === undefined ? {} : { cause });
}
