/**
 * The header of a session of schema 15.
 *
 * @see session-format §2, §11
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../../errors.ts";
import { isCount, wrong } from "../../event/checks.ts";
import { FORMAT_VERSION, parseHeader, type SessionHeader } from "../../event/mod.ts";
import type { SqlRow } from "../sql_port.ts";

/** The one version of logs in these databases. */
export const V0 = 0;

/** The columns of a session's row that are its header. */
export const V0_HEADER_COLUMNS =
  "id, version, created_at, cwd, parent_session, seed_length, origin, delegation_depth, agent_preset";

/** A header, and how many events at the start came from a parent. */
export interface V0Header {
  readonly header: SessionHeader;
  readonly inheritedEventCount: number;
}

/**
 * The header in a session's row.
 *
 * @throws {UnsupportedFormatError} of another version than 0, which these databases never hold
 * @throws {CorruptLogError} no header
 */
export function v0HeaderOf(row: SqlRow): V0Header {
  const { version, seed_length } = row;
  if (version !== V0) {
    const direction = (version as number) > V0 ? "written by a newer program" : "no version there ever was";
    throw new UnsupportedFormatError(
      `Cannot read header: found format version ${version}, wanted ${V0}: ${direction}`,
      { version: version as number },
    );
  }
  if (seed_length !== null && !isCount(seed_length)) {
    throw new CorruptLogError(`Cannot read header: found ${wrong("seed_length", seed_length, "a count")}`);
  }
  // The rest has the shape it has today; what the version says is put back.
  const current = parseHeader(JSON.stringify({
    type: "session",
    version: FORMAT_VERSION,
    id: row.id,
    createdAt: row.created_at,
    cwd: row.cwd ?? undefined,
    parentSession: row.parent_session ?? undefined,
    isSeeded: seed_length !== null,
    origin: row.origin ?? undefined,
    delegationDepth: row.delegation_depth ?? 0,
    agentPreset: row.agent_preset ?? undefined,
  }));
  return { header: { ...current, version: V0 }, inheritedEventCount: (seed_length as number | null) ?? 0 };
}
