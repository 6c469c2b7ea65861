/**
 * What a failure of the database means: whether anything was done, whether a later try may go better, and what it is called here.
 *
 * @see PostgreSQL documentation, appendix A, "PostgreSQL Error Codes"
 * @module
 */
import { HoldfastError, StorageFullError, StorageLostError } from "../../errors.ts";

/** What a failure means for whoever asked. */
export type FailureKind =
  /** The connection broke, or there is none: what was asked may have been done. */
  | "broken"
  /** The database took nothing, and may take it later: it starts, ends, has no connection left, or two transactions met. */
  | "passing"
  /** There is no room on its disk. */
  | "full"
  /** It waited for a lock as long as it was told. */
  | "locked"
  /** It refused. */
  | "refused";

/** Of the driver, for a connection that is not there. */
const BROKEN_CODES: ReadonlySet<string> = new Set([
  ...["CONNECTION_CLOSED", "CONNECTION_DESTROYED", "CONNECTION_ENDED", "CONNECT_TIMEOUT"],
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"],
  ...["ERR_SOCKET_CLOSED", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END", "ENOTCONN", "ECONNABORTED"],
]);

/** Deadlock, serialization, too many connections, starting, ending, cancelled. */
const PASSING_STATES: ReadonlySet<string> = new Set(["40001", "40P01", "53300", "57P03"]);

/** The server ends this connection: by an administrator, after a crash, or because it was idle in a transaction for too long. */
const ENDING_STATES: ReadonlySet<string> = new Set(["57P01", "57P02", "57P05", "25P03", "25P04"]);

/**
 * Says what a failure means.
 *
 * @example
 * ```ts
 * import { failureKind } from "./failure.ts";
 *
 * if (failureKind({ code: "ECONNRESET" }) !== "broken") throw new Error("unreachable");
 * if (failureKind({ code: "53100" }) !== "full") throw new Error("unreachable");
 * ```
 */
export function failureKind(error: unknown): FailureKind {
  const code = codeOf(error);
  if (code === null) return "refused";
  if (BROKEN_CODES.has(code) || ENDING_STATES.has(code) || code.startsWith("08")) return "broken";
  if (PASSING_STATES.has(code)) return "passing";
  if (code === "53100") return "full";
  if (code === "55P03") return "locked";
  return "refused";
}

/**
 * The failure as whoever asked is told: a HoldfastError stays what it is.
 *
 * @example
 * ```ts
 * import { hasCode } from "../../errors.ts";
 * import { translated } from "./failure.ts";
 *
 * const error = translated({ code: "ECONNREFUSED" }, "append to");
 * if (!hasCode(error, "STORAGE_LOST")) throw new Error("unreachable");
 * ```
 */
export function translated(cause: unknown, verb: string): unknown {
  if (cause instanceof HoldfastError || cause instanceof TypeError || cause instanceof RangeError) return cause;
  const found = describe(cause);
  if (failureKind(cause) === "full") {
    return new StorageFullError(`Cannot ${verb} the database: it has no room (${found})`, { cause });
  }
  return new StorageLostError(`Cannot ${verb} the database: ${found}`, { cause });
}

/** Its words, without what was asked: that may hold what people said. */
function describe(error: unknown): string {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message.split("\n")[0] : "it failed";
  return code === null ? message! : `${message} (${code})`;
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
