/**
 * What goes wrong, as the client reads it: Problem Details with a stable code.
 *
 * @see RFC 9457
 * @module
 */
import { HoldfastError } from "../../mod.ts";

/** Codes of the server itself, beside those of `src/errors.ts`. */
export type ServerCode =
  | "INVALID_REQUEST"
  | "UNAUTHORIZED"
  | "HOST_REFUSED"
  | "ORIGIN_REFUSED"
  | "METHOD_NOT_ALLOWED"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "HEADERS_TOO_LARGE"
  | "REQUEST_TIMEOUT"
  | "TOO_MANY_REQUESTS"
  | "IDEMPOTENCY_MISMATCH"
  | "ARGUMENTS_CHANGED"
  | "ALREADY_DECIDED"
  | "QUESTION_CLOSED"
  | "SESSION_RUNNING"
  | "NOT_CLAIMED"
  | "COMPACTION_FAILED"
  | "DRAINING"
  | "EFFECT_GONE"
  | "LEDGER_FULL"
  | "MODE_REFUSED"
  | "INTERNAL";

/** A problem, as it is sent. */
export interface Problem {
  /** A URN that ends with the code. */
  readonly type: string;
  /** The status in words. */
  readonly title: string;
  readonly status: number;
  /** What a program acts on. */
  readonly code: string;
  /** What was found, for a person. */
  readonly detail: string;
  /** Facts that go with the code. */
  readonly [fact: string]: unknown;
}

/** Refuses a request: thrown inside a handler, sent as a {@linkcode Problem}. */
export class Refusal extends Error {
  /** Takes what the client is told; `facts` are added to the problem. */
  constructor(
    readonly status: number,
    readonly code: ServerCode | HoldfastError["code"],
    message: string,
    readonly facts: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "Refusal";
  }
}

/**
 * The status of each code of `src/errors.ts`. 4xx: what the client asked for does not fit what is there; 5xx: the medium of the
 * server refused.
 */
const STATUSES: Readonly<Record<HoldfastError["code"], number>> = {
  ALREADY_EXISTS: 409,
  NOT_FOUND: 404,
  LOCK_HELD: 423,
  CORRUPT_FRAME: 409,
  CORRUPT_LOG: 409,
  UNSUPPORTED_FORMAT: 409,
  UNKNOWN_EVENT: 422,
  SOURCE_DRIFT: 409,
  SEQUENCE_GAP: 409,
  FENCED: 409,
  OUTCOME_UNRESOLVED: 409,
  TOO_LARGE: 413,
  BUFFER_FULL: 429,
  SESSION_CLOSED: 409,
  LOCK_LOST: 503,
  STORAGE_FULL: 507,
  SHORT_WRITE: 507,
  SYNC_FAILED: 503,
  STORAGE_LOST: 503,
  CHECKPOINT_FAILED: 503,
  SANDBOX_UNAVAILABLE: 503,
  MCP_UNAVAILABLE: 503,
};

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  422: "Unprocessable Content",
  423: "Locked",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  507: "Insufficient Storage",
};

/**
 * What an error is to a client. Of an error nobody foresaw nothing is told: its text may hold what is not the client's.
 *
 * @example
 * ```ts
 * import { problemOf } from "./problem.ts";
 *
 * if (problemOf(new Error("the key is hunter2")).detail.includes("hunter2")) throw new Error("unreachable");
 * ```
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Refusal) return problem(error.status, error.code, error.message, error.facts);
  if (error instanceof HoldfastError) return problem(STATUSES[error.code], error.code, error.message);
  return problem(500, "INTERNAL", "Something failed in the server; its log says what");
}

/**
 * A problem as a response.
 *
 * @example
 * ```ts
 * import { problemResponse, Refusal } from "./problem.ts";
 *
 * const response = problemResponse(new Refusal(404, "NOT_FOUND", 'Cannot find session "a": there is none'));
 * if (response.status !== 404) throw new Error("unreachable");
 * ```
 */
export function problemResponse(error: unknown): Response {
  const body = problemOf(error);
  const headers = new Headers({ "content-type": "application/problem+json", "cache-control": "no-store" });
  if (body.status === 401) headers.set("www-authenticate", 'Bearer realm="holdfast"');
  if (body.status === 429 || body.code === "DRAINING" || body.code === "NOT_CLAIMED") headers.set("retry-after", "1");
  if (Array.isArray(body["allow"])) headers.set("allow", body["allow"].join(", "));
  return new Response(JSON.stringify(body), { status: body.status, headers });
}

function problem(status: number, code: string, detail: string, facts: Readonly<Record<string, unknown>> = {}): Problem {
  return { type: `urn:holdfast:problem:${code}`, title: TITLES[status] ?? "Refused", status, code, detail, ...facts };
}
