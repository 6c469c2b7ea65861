/**
 * What the readers of old logs speak about: versions 0, 1 and 2 of the format, before anything is migrated.
 *
 * @see session-format §2, §3
 * @module
 */
import type { JsonObject, JsonValue, StreamRecord } from "../../event/mod.ts";

/** The versions that are read and never written. */
export type LegacyVersion = 0 | 1 | 2;

/** The header of an old log, as every version means it. */
export interface LegacyHeader {
  /** The file's own version. */
  readonly version: LegacyVersion;
  readonly id: string;
  readonly createdAt: number;
  /** Version 0 does not ask for an absolute path. */
  readonly cwd?: string;
  readonly parentSession?: string;
  /** Whether the log begins with events of another session. */
  readonly isSeeded: boolean;
  /** Versions 0 and 1: how many events are inherited. `null` in version 2, where a `session/end-seed` says it, and without a seed. */
  readonly seedLength: number | null;
  readonly origin?: "subagent";
  readonly delegationDepth: number;
  readonly agentPreset?: string;
  /** Members that version 0 does not know and drops; the migration refuses them. Empty in the other versions. */
  readonly strangers: readonly string[];
}

/** One event of an old log, in the shapes and the spelling of its own version. */
export interface LegacyEvent {
  readonly type: string;
  readonly seq: number;
  readonly time: number;
  readonly data: JsonValue;
  readonly ignorable?: true;
  /** `"append"` or `{op: "replace", start, end}`. */
  readonly surfaceOp?: JsonValue;
  /** A list of seqs. Versions 0 and 1 may hold pairs here as they are written; version 2 is expanded. */
  readonly sourceEventSeqs?: JsonValue;
  /** Versions 0 and 1 keep what they do not know, until somebody goes on with the session. */
  readonly [key: string]: JsonValue | undefined;
}

/** A row that is one event. */
export interface LegacyEventRow {
  readonly kind: "event";
  readonly firstSeq: number;
  readonly count: 1;
  readonly event: LegacyEvent;
}

/** The deltas of a packed row as an embedded stream of version 2 keeps them. */
export type PackedRecord = Exclude<StreamRecord, { readonly type: "chunk" }>;

/** A packed row of versions 0 and 1: deltas of one block of a model's answer, each an event of its own. */
export interface LegacyRunRow {
  readonly kind: "run";
  /** The seq of the first delta; the others follow without a gap. */
  readonly firstSeq: number;
  /** How many events the row stands for. */
  readonly count: number;
  readonly turn: number;
  readonly step: number;
  readonly record: PackedRecord;
}

/** One row of an old log. */
export type LegacyRow = LegacyEventRow | LegacyRunRow;

/** An object whose members were not looked at yet. */
export type LegacyData = JsonObject;
