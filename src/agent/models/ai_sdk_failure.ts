/**
 * What went wrong with a model of the AI SDK, as facts.
 *
 * Errors are told by their fields and names, not by their classes: each major of the SDK has its own.
 *
 * @see AI SDK, package `@ai-sdk/provider`: `APICallError` and the other errors, whose names begin with `AI_`
 * @module
 */
import type { FinishReason, LlmFailure } from "../../event/mod.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { messageOf } from "../../tool/mod.ts";
import { type Fields, fields, textOf } from "./ai_sdk_shapes.ts";
import { contextWindowFailure } from "./context_window.ts";

/** What some providers call their errors in the middle of a stream. */
const NAMED: ReadonlyMap<unknown, string> = new Map([
  ["rate_limit_exceeded", "RATE_LIMIT"],
  ["rate_limit_error", "RATE_LIMIT"],
  ["overloaded_error", "SERVER"],
  ["server_error", "SERVER"],
  ["api_error", "SERVER"],
  ["timeout_error", "TIMEOUT"],
]);

/**
 * The end of a request that threw, or of a stream that yielded an error.
 *
 * @param clock for a Retry-After that is a date in an answer without one; without it, such a date is passed over
 *
 * @example
 * ```ts
 * import { aiSdkFailure } from "./ai_sdk_failure.ts";
 *
 * const error = { message: "slow down", statusCode: 429, responseHeaders: { "retry-after": "2" } };
 * const reason = aiSdkFailure(error);
 * if (reason.kind !== "error" || reason.failure.code !== "RATE_LIMIT") throw new Error("unreachable");
 * if (reason.failure.providerRetryAfterMs !== 2000) throw new Error("unreachable");
 * ```
 */
export function aiSdkFailure(error: unknown, clock?: Clock): FinishReason & { readonly failure: LlmFailure } {
  const found = factsOf(error);
  const name = textOf(found.name);
  const message = withoutQueries(messageOf(error instanceof Error ? error : textOf(found.message) || show(error)));
  if (name === "AbortError" || name === "ResponseAborted") {
    return { kind: "aborted", failure: { message, code: "ABORTED" } };
  }
  const status = httpStatus(found);
  const isHttpFailure = status !== undefined && status >= 400;
  const failure: LlmFailure = {
    message: isHttpFailure && error instanceof Error ? `HTTP ${status}: ${message}` : message,
    code: isHttpFailure ? codeOfStatus(status) : codeOf(error),
    ...(isHttpFailure ? { status } : {}),
    ...retryAfter(fields(found.responseHeaders), clock),
    ...requestId(fields(found.responseHeaders)),
  };
  return { kind: "error", failure: contextWindowFailure(failure, found.code) };
}

/** What is looked at, read once. An error whose members throw has none. */
function factsOf(error: unknown): Fields {
  try {
    const { name, message, type, code, status, statusCode, responseHeaders, data, cause } = fields(error);
    return { name, message, type, code, status, statusCode, responseHeaders, data, cause };
  } catch {
    return {};
  }
}

/** The status of a call that was answered, or of an error that a provider put into its stream. */
function httpStatus({ statusCode, status, code }: Fields): number | undefined {
  return [statusCode, status, code].find((value): value is number =>
    Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 599
  );
}

function codeOfStatus(status: number): string {
  return status === 429 ? "RATE_LIMIT" : status === 408 ? "TIMEOUT" : status >= 500 ? "SERVER" : "UNKNOWN";
}

function codeOf(error: unknown): string {
  const found = factsOf(error);
  const name = textOf(found.name);
  if (name === "TimeoutError") return "TIMEOUT";
  if (!(error instanceof Error)) return NAMED.get(found.code) ?? NAMED.get(found.type) ?? "UNKNOWN";
  if (!name.startsWith("AI_")) return "TRANSPORT";
  switch (name) {
    case "AI_APICallError":
      // Without a status, nobody answered. With a good one, what broke off in the middle of the answer is the cause.
      return found.statusCode === undefined ? "TRANSPORT" : codeOf(found.cause);
    case "AI_EmptyResponseBodyError":
      return "EMPTY_RESPONSE";
    case "AI_JSONParseError":
      return "TRANSPORT";
    case "AI_InvalidResponseDataError":
      // How version 4 reports a stream that ended without a finish reason: there is no data to blame.
      return found.data === undefined ? "STREAM_CLOSED" : "UNKNOWN";
    default:
      return "UNKNOWN";
  }
}

/** @see RFC 9110 §10.2.3: seconds, or a date; counted from the answer's own date, so that no clock has to be right. */
function retryAfter(headers: Fields, clock: Clock | undefined): { providerRetryAfterMs?: number } {
  const inMs = Number(textOf(headers["retry-after-ms"]) || NaN);
  const value = textOf(headers["retry-after"]).trim();
  const isSeconds = /^\d+(\.\d+)?$/.test(value);
  const nowMs = Date.parse(textOf(headers.date)) || clock?.now() || NaN;
  const delayMs = Math.ceil(inMs > 0 ? inMs : isSeconds ? Number(value) * 1000 : Date.parse(value) - nowMs);
  return Number.isSafeInteger(delayMs) && delayMs > 0 ? { providerRetryAfterMs: delayMs } : {};
}

function requestId(headers: Fields): { requestId?: string } {
  const id = textOf(headers["x-request-id"]) || textOf(headers["request-id"]);
  return id === "" ? {} : { requestId: id };
}

/** Some providers take their key in the query of the address, and some errors name the address. */
function withoutQueries(message: string): string {
  return message.replace(/(https?:\/\/[^\s?#"'()]*)\?[^\s"'()]*/g, "$1?…");
}

function show(error: unknown): string {
  if (typeof error === "string" && error !== "") return error;
  try {
    return `the provider reported ${JSON.stringify(error)?.slice(0, 1000)}`;
  } catch {
    return "the provider reported an error that cannot be read";
  }
}
