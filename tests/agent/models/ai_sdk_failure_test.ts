import { assertEquals } from "@std/assert";
import { aiSdkFailure } from "../../../src/agent/models/ai_sdk_failure.ts";
import { FakeClock } from "../../support/fake_clock.ts";

function named(name: string, more: Record<string, unknown> = {}, message = "it broke"): Error {
  return Object.assign(new Error(message, { cause: more.cause }), { name, ...more });
}

function apiCall(statusCode: number | undefined, responseHeaders: Record<string, string> = {}, cause?: unknown): Error {
  return named("AI_APICallError", { statusCode, responseHeaders, cause });
}

const retryAfter = (headers: Record<string, string>, clock?: FakeClock) =>
  aiSdkFailure(apiCall(429, headers), clock).failure.providerRetryAfterMs;

Deno.test("aiSdkFailure() tells errors apart by status and name, of whichever major they are", () => {
  const table: readonly [unknown, string][] = [
    [apiCall(429), "RATE_LIMIT"],
    [apiCall(408), "TIMEOUT"],
    [apiCall(500), "SERVER"],
    [apiCall(529), "SERVER"],
    [apiCall(404), "UNKNOWN"],
    [apiCall(undefined), "TRANSPORT"],
    [apiCall(200, {}, new TypeError("error reading a body")), "TRANSPORT"],
    [apiCall(200, {}, named("AI_EmptyResponseBodyError")), "EMPTY_RESPONSE"],
    [apiCall(200, {}, named("AI_TypeValidationError")), "UNKNOWN"],
    [apiCall(200), "UNKNOWN"],
    [named("AI_JSONParseError"), "TRANSPORT"],
    [named("AI_InvalidResponseDataError", { data: undefined }), "STREAM_CLOSED"],
    [named("AI_InvalidResponseDataError", { data: {} }), "UNKNOWN"],
    [named("AI_UnsupportedFunctionalityError"), "UNKNOWN"],
    [new TypeError("terminated"), "TRANSPORT"],
    [new DOMException("late", "TimeoutError"), "TIMEOUT"],
    [{ message: "m", code: 503 }, "SERVER"],
    [{ message: "m", code: "rate_limit_exceeded" }, "RATE_LIMIT"],
    [{ message: "m", type: "overloaded_error" }, "SERVER"],
    [{ message: "m", code: "constructor" }, "UNKNOWN"],
    ["no", "UNKNOWN"],
    [undefined, "UNKNOWN"],
  ];
  for (const [error, code] of table) {
    const reason = aiSdkFailure(error);
    assertEquals([reason.kind, reason.failure.code], ["error", code], String(error));
    assertEquals(reason.failure.message === "", false);
  }
});

Deno.test("aiSdkFailure() says aborted, when the provider gave up without being told to", () => {
  assertEquals(aiSdkFailure(new DOMException("gone", "AbortError")), {
    kind: "aborted",
    failure: { message: "gone", code: "ABORTED" },
  });
});

Deno.test("aiSdkFailure() keeps status, request id and what the provider said", () => {
  const error = Object.assign(apiCall(429, { "x-request-id": "r1", "retry-after": "2" }), { message: "slow down" });
  assertEquals(aiSdkFailure(error).failure, {
    message: "HTTP 429: slow down",
    code: "RATE_LIMIT",
    status: 429,
    providerRetryAfterMs: 2000,
    requestId: "r1",
  });
  assertEquals(aiSdkFailure({ message: "overloaded", code: 503 }).failure, {
    message: "overloaded",
    code: "SERVER",
    status: 503,
  });
});

Deno.test("aiSdkFailure() reads a Retry-After in seconds, in milliseconds and as a date", () => {
  assertEquals(retryAfter({ "retry-after": "1.5" }), 1500);
  assertEquals(retryAfter({ "retry-after-ms": "250", "retry-after": "9" }), 250);
  const date = "Wed, 21 Oct 2026 07:28:05 GMT";
  assertEquals(retryAfter({ "retry-after": date, date: "Wed, 21 Oct 2026 07:28:00 GMT" }), 5000);
  assertEquals(retryAfter({ "retry-after": date }, new FakeClock(Date.parse(date) - 7000)), 7000);
  assertEquals(retryAfter({ "retry-after": date }), undefined);
  assertEquals(retryAfter({ "retry-after": date }, new FakeClock(Date.parse(date) + 1)), undefined);
  for (const value of ["", "0", "-1", "soon", "1e400"]) {
    assertEquals(retryAfter({ "retry-after": value }), undefined, value);
  }
});

Deno.test("aiSdkFailure() says no query of an address: some providers take their key there", () => {
  const cause = new Error("for https://api.example.com/v1/models/x:stream?key=SECRET&alt=sse (1.2.3.4)");
  const { message } = aiSdkFailure(new TypeError("error sending request", { cause })).failure;
  assertEquals(message, "error sending request: for https://api.example.com/v1/models/x:stream?… (1.2.3.4)");
});

Deno.test("aiSdkFailure() never throws, whatever was thrown", () => {
  const hostile = {
    get message(): never {
      throw new Error("gotcha");
    },
  };
  assertEquals(aiSdkFailure(hostile).failure.code, "UNKNOWN");
  assertEquals(
    aiSdkFailure(
      new Proxy({}, {
        get: () => {
          throw new Error("gotcha");
        },
      }),
    ).failure.code,
    "UNKNOWN",
  );
});
