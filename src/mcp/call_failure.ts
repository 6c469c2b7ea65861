/**
 * What a failed call to a server means: whether it may have run.
 *
 * Doubt is no proof. Whoever is told "did not run" repeats a payment without a look at the bank, so only what is known to fail
 * before a tool is entered counts as that, and a server's own word only where the protocol leaves it no other meaning.
 *
 * @module
 */
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { hasCode } from "../errors.ts";
import { neverSent } from "../tools/never_sent.ts";
import { toldText } from "./told_text.ts";

/** What became of a call that has no result. */
export interface CallFailure {
  /** `not-run`: nothing of it ran, surely. `unknown`: it may have run. */
  readonly kind: "not-run" | "unknown";
  /** What was found, to be read after a colon. */
  readonly found: string;
  /** Whether the server has forgotten us, so that the next call needs a new connection. */
  readonly isForgotten: boolean;
}

/**
 * The answers of a web server that a request meets before it is handled: no leave, no such session, too many requests.
 *
 * @see https://modelcontextprotocol.io/specification, "Session Management": 404 for a session that the server ended
 */
const REFUSING_STATUSES: readonly number[] = [401, 403, 404, 405, 413, 415, 429];

/**
 * The errors that a server has for requests that it could not begin with. "Invalid params" is not among them: servers also say it
 * of a result that does not fit, when the tool has run.
 */
const REFUSING_CODES: readonly number[] = [
  ProtocolErrorCode.ParseError,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.MethodNotFound,
];

/**
 * Says what the error of a call means.
 *
 * @example
 * ```ts
 * import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
 * import { callFailure } from "./call_failure.ts";
 *
 * const lost = callFailure(new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed"));
 * if (lost.kind !== "unknown") throw new Error("unreachable");
 * const never = callFailure(new SdkError(SdkErrorCode.NotConnected, "Not connected"));
 * if (never.kind !== "not-run") throw new Error("unreachable");
 * ```
 */
export function callFailure(error: unknown): CallFailure {
  const found = toldText(error);
  if (error instanceof SdkHttpError) {
    const isRefused = REFUSING_STATUSES.includes(error.status);
    const status = `the server answered HTTP ${error.status}`;
    return { kind: isRefused ? "not-run" : "unknown", found: status, isForgotten: error.status === 404 };
  }
  if (error instanceof ProtocolError) {
    const kind = REFUSING_CODES.includes(error.code) ? "not-run" : "unknown";
    return { kind, found: `the server answered with error ${error.code}: ${found}`, isForgotten: false };
  }
  // Every stage before the first byte of the request, and nothing else.
  const isUnsent = hasCode(error, "MCP_UNAVAILABLE") || isNotConnected(error) || neverSent(error);
  return { kind: isUnsent ? "not-run" : "unknown", found, isForgotten: false };
}

function isNotConnected(error: unknown): boolean {
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected;
  return error instanceof Error && error.message === "Not connected";
}
