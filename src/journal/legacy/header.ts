/**
 * The header line of an old log.
 *
 * @see session-format §2
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../../errors.ts";
import type { SessionHeader } from "../../event/mod.ts";
import { isCount, isNonEmptyString, isRecord, type JsonRecord, show, wrong } from "../../event/checks.ts";
import type { LegacyHeader, LegacyVersion } from "./types.ts";

/** Keys that early writers used for what is now in events. Every version refuses them. */
const RETIRED_KEYS = ["sandboxMode", "approvalPolicy"] as const;

const COMMON_KEYS = [
  ...["type", "version", "id", "createdAt", "cwd", "parentSession", "origin", "delegationDepth", "agentPreset"],
] as const;

/**
 * Tells whether a version is one that is read and never written.
 *
 * @example
 * ```ts
 * import { isLegacyVersion } from "./header.ts";
 *
 * if (!isLegacyVersion(0) || isLegacyVersion(3)) throw new Error("unreachable");
 * ```
 */
export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return version === 0 || version === 1 || version === 2;
}

/**
 * Reads the first line of a log of version 0, 1 or 2.
 *
 * Version 0 drops members it does not know and does not ask for an absolute `cwd`. So does this, to show such a log; a migration
 * refuses it.
 *
 * @param line without its newline; a carriage return at its end is tolerated
 * @throws {UnsupportedFormatError} of another version; `version` holds it
 * @throws {CorruptLogError} not a header
 *
 * @example
 * ```ts
 * import { parseLegacyHeader } from "./header.ts";
 *
 * const header = parseLegacyHeader('{"type":"session","version":0,"id":"a","createdAt":1,"seedLength":3,"delegationDepth":0}');
 * if (!header.isSeeded || header.seedLength !== 3) throw new Error("unreachable");
 * ```
 */
export function parseLegacyHeader(line: string): LegacyHeader {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch (cause) {
    throw corrupt(line.trim() === "" ? "an empty line" : "text that is not valid JSON", cause);
  }
  return legacyHeaderOf(record);
}

/**
 * The same for a record that is parsed already.
 *
 * @throws {UnsupportedFormatError} of another version; `version` holds it
 * @throws {CorruptLogError} not a header
 *
 * @example
 * ```ts
 * import { legacyHeaderOf } from "./header.ts";
 *
 * const record = { type: "session", version: 2, id: "a", createdAt: 1, isSeeded: false, delegationDepth: 0 };
 * if (legacyHeaderOf(record).seedLength !== null) throw new Error("unreachable");
 * ```
 */
export function legacyHeaderOf(record: unknown): LegacyHeader {
  if (!isRecord(record)) throw corrupt(`${show(record)}, which is no session header`);
  const { version } = record;
  if (typeof version !== "number") {
    throw corrupt(`${wrong("version", version, "a number")}, so this is no session header`);
  }
  if (!isLegacyVersion(version)) {
    const message = `Cannot read header: found format version ${version}, expected 0, 1 or 2`;
    throw new UnsupportedFormatError(message, { version });
  }
  const problem = headerProblem(record, version);
  if (problem !== null) throw corrupt(problem);
  const strangers = strangersOf(record, version);
  if (strangers.length > 0 && version > 0) throw corrupt(`the unknown field ${show(strangers[0])}`);
  const { id, createdAt, cwd, parentSession, origin, delegationDepth, agentPreset } =
    record as unknown as SessionHeader;
  const seedLength = version < 2 ? (record.seedLength as number | undefined) ?? null : null;
  return {
    ...{ version, id, createdAt, cwd, parentSession },
    isSeeded: version < 2 ? seedLength !== null : record.isSeeded as boolean,
    ...{ seedLength, origin, delegationDepth, agentPreset, strangers },
  };
}

/**
 * Writes the header line as that version writes it, without the newline.
 *
 * @example
 * ```ts
 * import { encodeLegacyHeader, parseLegacyHeader } from "./header.ts";
 *
 * const line = '{"type":"session","version":1,"id":"a","createdAt":1,"seedLength":3,"delegationDepth":0}';
 * if (encodeLegacyHeader(parseLegacyHeader(line)) !== line) throw new Error("unreachable");
 * ```
 */
export function encodeLegacyHeader(header: LegacyHeader): string {
  const { version, id, createdAt, cwd, parentSession, origin, delegationDepth, agentPreset } = header;
  const seed = version === 2 ? { isSeeded: header.isSeeded } : { seedLength: header.seedLength ?? undefined };
  // JSON.stringify leaves out what is undefined.
  return JSON.stringify({
    ...{ type: "session", version, id, createdAt, cwd, parentSession },
    ...seed,
    ...{ origin, delegationDepth, agentPreset },
  });
}

/** Whether a path is absolute on POSIX or on Windows: a log may be read on another system than the one that wrote it. */
export function isAbsolutePath(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path);
}

function headerProblem(header: JsonRecord, version: LegacyVersion): string | null {
  for (const key of RETIRED_KEYS) {
    if (Object.hasOwn(header, key)) return `the retired field "${key}"`;
  }
  const { cwd, parentSession, seedLength, isSeeded, origin, agentPreset } = header;
  if (header.type !== "session") return wrong("type", header.type, '"session"');
  if (!isNonEmptyString(header.id)) return wrong("id", header.id, "a non-empty string");
  if (!isCount(header.createdAt)) return wrong("createdAt", header.createdAt, "a count of milliseconds");
  if (cwd !== undefined && typeof cwd !== "string") return wrong("cwd", cwd, "a string");
  if (version > 0 && cwd !== undefined && !isAbsolutePath(cwd)) return wrong("cwd", cwd, "an absolute path");
  if (parentSession !== undefined && typeof parentSession !== "string") {
    return wrong("parentSession", parentSession, "a string");
  }
  if (version < 2 && seedLength !== undefined && !isCount(seedLength)) {
    return wrong("seedLength", seedLength, "a count");
  }
  if (version === 2 && typeof isSeeded !== "boolean") return wrong("isSeeded", isSeeded, "a boolean");
  if (origin !== undefined && origin !== "subagent") return wrong("origin", origin, '"subagent"');
  if (!isCount(header.delegationDepth)) return wrong("delegationDepth", header.delegationDepth, "a count");
  if (agentPreset !== undefined && typeof agentPreset !== "string") {
    return wrong("agentPreset", agentPreset, "a string");
  }
  return null;
}

function strangersOf(header: JsonRecord, version: LegacyVersion): readonly string[] {
  const known = new Set<string>([...COMMON_KEYS, version === 2 ? "isSeeded" : "seedLength"]);
  return Object.keys(header).filter((key) => !known.has(key));
}

function corrupt(found: string, cause?: unknown): CorruptLogError {
  return new CorruptLogError(`Cannot read header: found ${found}`, cause === undefined ? {} : { cause });
}
