/**
 * The header of a session log: its first record.
 *
 * @see session-format §2
 * @module
 */

/** The version this build writes. */
export const FORMAT_VERSION = 3;

/** The header of a version-3 session, as it is written. Key order is that of {@linkcode encodeHeader}. */
export interface SessionHeader {
  readonly type: "session";
  readonly version: number;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Absolute path of the workspace the session belongs to. */
  readonly cwd?: string;
  readonly parentSession?: string;
  /** Whether the log begins with events inherited from another session. */
  readonly isSeeded: boolean;
  readonly origin?: "subagent";
  readonly delegationDepth: number;
  readonly agentPreset?: string;
}
