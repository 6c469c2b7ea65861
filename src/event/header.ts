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
  /** Tells the header from the rows that follow. */
  readonly type: "session";
  /** The format version, which is also in the file's name. {@linkcode FORMAT_VERSION} in what we write. */
  readonly version: number;
  /** The session's id, never empty. The folder's name is made from it. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Absolute path of the workspace the session belongs to. */
  readonly cwd?: string;
  /** Id of the session this one was forked or delegated from; absent when it has none. */
  readonly parentSession?: string;
  /** Whether the log begins with events inherited from another session. */
  readonly isSeeded: boolean;
  /** Present when another agent delegated the session. */
  readonly origin?: "subagent";
  /** How many delegations lie above the session; 0 when nobody delegated it. */
  readonly delegationDepth: number;
  /** The preset the agent was started with, as its host names it; absent when none was named. */
  readonly agentPreset?: string;
}
