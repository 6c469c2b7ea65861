/**
 * Whether a request that failed was certainly never sent.
 *
 * Whoever is told "not sent" repeats a payment without a look at the bank. So this is a list of what is known to fail before the
 * first byte of a request is written, and whatever is not on it may have been sent: a reset connection, and a TLS alert, which
 * with TLS 1.3 may answer the request itself.
 *
 * @module
 */

/** Steps before a connection is there, as Node's errors name them. */
const EARLY_SYSCALLS: readonly unknown[] = ["connect", "getaddrinfo"];

/** What Node's errors say of names, of connections, and of certificates that we refused: all before the request is written. */
const EARLY_CODES: readonly unknown[] = [
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "EAI_NONAME", "UND_ERR_CONNECT_TIMEOUT"],
  ...["ERR_TLS_CERT_ALTNAME_INVALID", "CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "CERT_REVOKED", "CERT_UNTRUSTED"],
  ...["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT"],
  ...["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
];

/** What `fetch` says, as an error of its own, before it looks for a connection. Deno's words. */
const REFUSED_BY_FETCH = [
  /^Fetch failed: Requests to port \d+ are blocked$/,
  /^Invalid URL /,
  /^Url scheme '[^']*' not supported$/,
  /^invalid host '/,
];

/** The same as the cause of a "fetch failed", and the end of a handshake. Node's words. */
const EARLY_CAUSES: readonly string[] = [
  "bad port",
  "unknown scheme",
  "invalid method",
  "Client network socket disconnected before secure TLS connection was established",
];

/** Deno names the stage that failed, TLS handshake included. An address holds no space, so it cannot pretend to be a stage. */
const CONNECT_STAGE = /^error sending request for url \(\S*\): client error \(Connect\)/;

/**
 * Whether what `fetch` threw proves that no byte of the request was written. Doubt is no proof.
 *
 * @example
 * ```ts
 * import { neverSent } from "./never_sent.ts";
 *
 * if (!neverSent(new TypeError("Fetch failed: Requests to port 6000 are blocked"))) throw new Error("unreachable");
 * if (neverSent(new TypeError("fetch failed", { cause: new Error("other side closed") }))) throw new Error("unreachable");
 * ```
 */
export function neverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Deno asks for its permission before it opens a connection.
  if (error.name === "NotCapable") return true;
  if (error.cause === undefined) return REFUSED_BY_FETCH.some((words) => words.test(error.message));
  return isEarly(error.cause);
}

function isEarly(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
  // A name with several addresses: one error for each attempt.
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isEarly);
  if (EARLY_CODES.includes(code) || EARLY_SYSCALLS.includes(syscall)) return true;
  return EARLY_CAUSES.includes(cause.message) || CONNECT_STAGE.test(cause.message);
}
