/**
 * How a compaction can fail.
 *
 * @module
 */

/**
 * What the caller can do next.
 *
 * - `busy`: a turn or another compaction runs; nothing was written
 * - `cancelled`: the agent was told to stop
 * - `changed`: somebody rewrote what was being summarised; the surface is as they left it
 * - `summary`: the summariser failed, or what it wrote was of no use; the surface is as it was
 * - `commit`: the log refused one of the last events; the surface may have changed
 * - `persistence`: it is done in memory, and could not be made durable
 */
export type CompactionErrorCode = "busy" | "cancelled" | "changed" | "summary" | "commit" | "persistence";

/**
 * A compaction that came to nothing, or whose end is not sure.
 *
 * @example
 * ```ts
 * import { CompactionError } from "./errors.ts";
 *
 * const error = new CompactionError("busy", 'Cannot compact session "s1": a turn is running');
 * if (error.code !== "busy") throw new Error("unreachable");
 * ```
 */
export class CompactionError extends Error {
  readonly code: CompactionErrorCode;

  constructor(code: CompactionErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "CompactionError";
    this.code = code;
  }
}

/**
 * The error of a second compaction while the first one holds the lock.
 *
 * @example
 * ```ts
 * import { busyError } from "./errors.ts";
 *
 * if (busyError("s1").code !== "busy") throw new Error("unreachable");
 * ```
 */
export function busyError(sessionId: string, found = "another compaction is open"): CompactionError {
  return new CompactionError("busy", `Cannot compact session "${sessionId}": ${found}`);
}
