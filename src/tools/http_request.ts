/**
 * One HTTP request.
 *
 * What the model never sees: the value of a secret. It writes `$secret:NAME` into a header, the log holds that text, a person
 * is told the name and the host, and only the request itself carries the value. Where an answer repeats it, it is taken out, as
 * far as `withoutSecrets` promises.
 *
 * @module
 */
import { type EffectClass, type JsonValue, TOOL_TIMEOUT } from "../event/mod.ts";
import {
  defineTool,
  INVALID_ARGS,
  messageOf,
  outcomeUnknown,
  type Permission,
  readArguments,
  type Tool,
  type ToolCall,
  ToolError,
} from "../tool/mod.ts";
import { describeAnswer } from "./http_answer.ts";
import { neverSent } from "./never_sent.ts";
import { withoutSecrets } from "./secrets.ts";

/** How many redirects a GET or HEAD follows. */
export const REDIRECTS_MAX = 5;
/** How long a request may take, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 60_000;

/** How requests are made. */
export interface HttpRequestOptions {
  /** Sends the requests, always with `redirect: "manual"`: redirects are followed by the tool. */
  readonly fetch: typeof globalThis.fetch;
  /** The value of a secret, by its name; `undefined` when there is none. */
  readonly secret?: (name: string) => string | undefined;
  /** Origins (`https://bank.example`) that deduplicate by `Idempotency-Key`: what is sent there is `keyed`, not `opaque`. */
  readonly keyedOrigins?: readonly string[];
  /** Default REQUEST_TIMEOUT_MS. */
  readonly timeoutMs?: number;
}

/**
 * Makes the tool `http_request`.
 *
 * GET and HEAD have no effect, run unasked unless they carry a secret, and follow redirects; everything else asks first,
 * forwards its effect key as `Idempotency-Key` and follows none. A request that was sent and got no answer ends with
 * `TOOL_OUTCOME_UNKNOWN`, one that ran out of time with `TOOL_TIMEOUT`.
 *
 * @throws {TypeError} when a keyed origin is not an origin
 *
 * @example
 * ```ts
 * import { httpRequestTool } from "./http_request.ts";
 *
 * const tool = httpRequestTool({ fetch, keyedOrigins: ["https://bank.example"] });
 * if (tool.effectOf({ url: "https://bank.example/x" }) !== "none") throw new Error("unreachable");
 * if (tool.effectOf({ url: "https://bank.example/x", method: "POST" }) !== "keyed") throw new Error("unreachable");
 * ```
 */
export function httpRequestTool(options: HttpRequestOptions): Tool {
  const keyedOrigins = new Set(options.keyedOrigins?.map(checkedOrigin));
  return defineTool({
    name: "http_request",
    description: "Makes one HTTP request and returns status and body. A header value may hold $secret:NAME, which is " +
      "replaced by a secret you cannot see.",
    parameters: {
      type: "object",
      properties: {
        method: { type: "string", enum: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], description: "Default GET" },
        url: { type: "string", description: "http or https" },
        headers: { type: "object", additionalProperties: { type: "string" } },
        body: { type: "string" },
      },
      required: ["url"],
    },
    effect: (args) => effectOf(readRequest(args), keyedOrigins),
    permission: (args, effect) => permissionFor(readRequest(args), effect),
    execute: (args, call) => execute(readRequest(args), call, options),
  });
}

interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
  readonly secrets: readonly string[];
}

const SECRET = /\$secret:([A-Za-z_][A-Za-z0-9_]*)/g;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/** Set by us, or by the connection. */
const RESERVED_HEADERS = ["connection", "content-length", "host", "idempotency-key", "transfer-encoding"];

function readRequest(args: JsonValue): HttpRequest {
  const given = readArguments(args, { method: "string?", url: "string", headers: "object?", body: "string?" });
  const method = (given.method ?? "GET").toUpperCase();
  if (!METHODS.includes(method)) throw invalid(`method must be one of ${METHODS.join(", ")}`);
  if (!URL.canParse(given.url)) throw invalid("url is not a URL");
  const url = new URL(given.url);
  const problem = urlProblem(url);
  if (problem !== null) throw invalid(`url ${problem}`);
  if (given.body !== undefined && isSafe(method)) throw invalid(`a ${method} request has no body`);
  const headers = Object.entries(given.headers ?? {}).map(([name, value]) => headerOf(name, value));
  const secrets = headers.flatMap(([, value]) => [...value.matchAll(SECRET)].map((match) => match[1]!));
  return { method, url, headers, body: given.body, secrets: [...new Set(secrets)] };
}

/** What no request goes to, be it asked for or redirected; `null` when there is nothing. */
function urlProblem({ protocol, username, password }: URL): string | null {
  if (protocol !== "http:" && protocol !== "https:") return "must begin with http: or https:";
  return username === "" && password === "" ? null : "must not hold a user or a password";
}

function headerOf(name: string, value: JsonValue | undefined): readonly [string, string] {
  if (typeof value !== "string") throw invalid(`header ${JSON.stringify(name)} must be a string`);
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw invalid(`${JSON.stringify(name)} is not a header name`);
  if (RESERVED_HEADERS.includes(name.toLowerCase())) throw invalid(`header ${name} is set by the tool itself`);
  return [name.toLowerCase(), value];
}

function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function effectOf(request: HttpRequest, keyedOrigins: ReadonlySet<string>): EffectClass {
  if (isSafe(request.method)) return "none";
  return keyedOrigins.has(request.url.origin) ? "keyed" : "opaque";
}

function permissionFor(request: HttpRequest, effect: EffectClass): Permission {
  const { method, url, secrets } = request;
  if (effect === "none" && secrets.length === 0) return { decision: "allow" };
  const sent = secrets.length === 0 ? "" : `, with the secret ${secrets.join(", ")} sent to ${url.host}`;
  return { decision: "ask", reason: `${method} ${url.href}${sent}` };
}

async function execute(request: HttpRequest, call: ToolCall, options: HttpRequestOptions): Promise<string> {
  const secrets = secretValues(request, options);
  const headers = requestHeaders(request, secrets);
  if (!isSafe(request.method)) headers.set("idempotency-key", call.effectKey);
  const timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
  const timeout = new AbortController();
  // Not AbortSignal.timeout(): its timer would keep the process alive after the answer.
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const signal = AbortSignal.any([call.signal, timeout.signal]);
    let response: Response;
    try {
      response = await send(request, headers, signal, options.fetch);
    } catch (error) {
      throw withoutAnswer(request, error, { call: call.signal, timeout: timeout.signal, timeoutMs, secrets });
    }
    return withoutSecrets(await describeAnswer(response, request.method), secrets);
  } finally {
    clearTimeout(timer);
  }
}

function secretValues(request: HttpRequest, options: HttpRequestOptions): Map<string, string> {
  const values = new Map<string, string>();
  for (const name of request.secrets) {
    const value = options.secret?.(name);
    if (value === undefined || value.trim() === "") throw invalid(`there is no secret named ${name}`);
    values.set(name, value);
  }
  return values;
}

function requestHeaders(request: HttpRequest, secrets: ReadonlyMap<string, string>): Headers {
  const headers = new Headers();
  for (const [name, value] of request.headers) {
    try {
      headers.append(name, value.replaceAll(SECRET, (_, secret: string) => secrets.get(secret)!));
    } catch {
      // The platform's message would repeat the value, secret included.
      throw invalid(`header ${name} has a value that cannot be sent`);
    }
  }
  return headers;
}

/** Follows redirects by hand: only for what has no effect, and to another origin only what carries no header of the model's. */
async function send(
  request: HttpRequest,
  headers: Headers,
  signal: AbortSignal,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  let url = request.url;
  for (let redirects = 0;; redirects++) {
    const response = await fetch(url, {
      method: request.method,
      headers,
      body: request.body,
      redirect: "manual",
      signal,
    });
    const location = response.headers.get("location");
    const isRedirect = [301, 302, 303, 307, 308].includes(response.status) && location !== null;
    if (!isRedirect || !isSafe(request.method) || redirects === REDIRECTS_MAX || !URL.canParse(location, url)) {
      return response;
    }
    const next = new URL(location, url);
    if (urlProblem(next) !== null || (next.origin !== url.origin && request.headers.length > 0)) return response;
    await response.body?.cancel();
    url = next;
  }
}

function withoutAnswer(
  request: HttpRequest,
  error: unknown,
  { call, timeout, timeoutMs, secrets }: {
    readonly call: AbortSignal;
    readonly timeout: AbortSignal;
    readonly timeoutMs: number;
    readonly secrets: ReadonlyMap<string, string>;
  },
): unknown {
  const isEffectful = !isSafe(request.method);
  const unknown = "Whether it took effect is unknown: check before repeating it.";
  if (timeout.aborted && !call.aborted) {
    const found = `no answer within ${timeoutMs} ms${isEffectful ? `. ${unknown}` : ""}`;
    return new ToolError(TOOL_TIMEOUT, found, { name: "ToolTimeoutError" });
  }
  if (call.aborted) {
    return isEffectful ? outcomeUnknown(`the request was cancelled while it was under way. ${unknown}`) : call.reason;
  }
  const found = withoutSecrets(messageOf(error), secrets);
  if (!isEffectful || neverSent(error)) return new Error(`Cannot reach ${request.url.origin}: ${found}`);
  return outcomeUnknown(`the request was sent, but no answer came (${found}). ${unknown}`);
}

function checkedOrigin(text: string): string {
  if (!URL.canParse(text) || new URL(text).origin !== text.replace(/\/$/, "")) {
    throw new TypeError(`Cannot use keyed origin "${text}": it is not scheme://host[:port]`);
  }
  return new URL(text).origin;
}

function invalid(problem: string): ToolError {
  return new ToolError(INVALID_ARGS, `invalid arguments: ${problem}`);
}
