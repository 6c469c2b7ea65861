/**
 * Replacing a resource over HTTP, by a server that knows no keys but honours preconditions.
 *
 * The model says which version it replaces (`ETag`), and the request says so in `If-Match`. While that version stands, a request that is
 * still under way may yet succeed: then nothing is certain. The lookup closes that window: it writes the same content once more under
 * the same precondition, so that the version moves on and the old request can only fail. Where versions do not move (they are made
 * of the content), it says that it cannot tell. A newer version with exactly this content counts as ours: the resource is what the
 * call wanted.
 *
 * @see RFC 9110 §13.1.1 (If-Match), §8.8.3 (ETag)
 * @module
 */
import {
  defineTool,
  type LookupAnswer,
  messageOf,
  outcomeUnknown,
  type Tool,
  ToolError,
  type ToolOutput,
} from "../../tool/mod.ts";
import { readArguments } from "../../tool/mod.ts";
import type { JsonValue } from "../../event/mod.ts";
import { neverSent } from "../never_sent.ts";

/** The most of a resource that is read to compare it. */
export const RESOURCE_SIZE_BYTES_MAX = 4 * 1024 * 1024;

/** Code of a request whose precondition failed: somebody else has changed the resource. */
export const CHANGED_MEANWHILE = "CHANGED_MEANWHILE";

/** How requests are made. */
export interface HttpPutOptions {
  /** Sends the requests. */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Makes the tool `http_put`.
 *
 * @example
 * ```ts
 * import { httpPutTool } from "./http_put.ts";
 *
 * if (httpPutTool({ fetch }).effectOf({}) !== "idempotent") throw new Error("unreachable");
 * ```
 */
export function httpPutTool({ fetch }: HttpPutOptions): Tool {
  return defineTool({
    name: "http_put",
    description: "Replaces a resource, if it still is the version with this ETag.",
    parameters: {
      type: "object",
      properties: {
        url: { type: "string", pattern: "^https?://" },
        etag: { type: "string", pattern: '^"[!#-~]*"$', description: 'The strong ETag of the version, such as "v1"' },
        body: { type: "string" },
      },
      required: ["url", "etag", "body"],
    },
    effect: "idempotent",
    permission: (args) => {
      const { url, etag } = readPut(args);
      return { decision: "ask", reason: `PUT ${url}, replacing version ${etag}` };
    },
    execute: async (args, { effectKey, signal }) => {
      const order = readPut(args);
      const { url, etag, body } = order;
      let status: number;
      try {
        const headers = { "if-match": etag, "idempotency-key": effectKey };
        const response = await fetch(url, { method: "PUT", headers, body, redirect: "error", signal });
        await response.body?.cancel();
        ({ status } = response);
        // An earlier try of this call may be what moved the version.
        if (status === 412 && (await current(fetch, url, signal)).content === body) return replaced(order);
      } catch (error) {
        if (neverSent(error)) throw error;
        throw outcomeUnknown(`no answer came (${messageOf(error)}); the resource may be replaced all the same`, error);
      }
      if (status >= 200 && status < 300) return replaced(order);
      if (status === 412) throw new ToolError(CHANGED_MEANWHILE, `${url} is not version ${etag} any more`);
      if (status >= 400 && status < 500) throw new Error(`the server refused to replace ${url}: ${status}`);
      throw outcomeUnknown(`the server answered ${status}: the resource may be replaced all the same`);
    },
    reconcile: ({ args, signal }) => lookUp(fetch, readPut(args), signal),
  });
}

interface Put {
  readonly url: string;
  readonly etag: string;
  readonly body: string;
}

function readPut(args: JsonValue): Put {
  return readArguments(args, { url: "string", etag: "string", body: "string" });
}

function replaced({ url, body }: Put): string {
  return `Replaced ${url} by ${body.length} characters.`;
}

async function lookUp(
  fetch: typeof globalThis.fetch,
  order: Put,
  signal: AbortSignal,
): Promise<LookupAnswer<ToolOutput>> {
  const { url, etag, body } = order;
  const now = await current(fetch, url, signal);
  if (now.etag !== etag) {
    // The version moved on: the request was carried out, or can never be.
    if (now.content === body) {
      return { verdict: "happened", result: replaced(order), note: `it is there as ${now.etag}` };
    }
    return {
      verdict: "undecidable",
      note: `the version is ${now.etag} now: replaced and changed again, or changed by others`,
    };
  }

  const touch = await fetch(url, {
    method: "PUT",
    headers: { "if-match": etag },
    body: now.content,
    redirect: "error",
    signal,
  });
  await touch.body?.cancel();
  if (touch.status === 412) return await lookUp(fetch, order, signal);
  const after = await current(fetch, url, signal);
  if (touch.status >= 200 && touch.status < 300 && after.etag !== null && after.etag !== etag) {
    return { verdict: "absent", note: `version ${etag} is closed: it is ${after.etag} now` };
  }
  return { verdict: "undecidable", note: `version ${etag} still stands, and a request may be under way` };
}

async function current(
  fetch: typeof globalThis.fetch,
  url: string,
  signal: AbortSignal,
): Promise<{ readonly etag: string | null; readonly content: string }> {
  const response = await fetch(url, { headers: { "cache-control": "no-cache" }, redirect: "error", signal });
  if (response.status !== 200) throw new Error(`the server answered ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length > RESOURCE_SIZE_BYTES_MAX) throw new Error(`the resource is over ${RESOURCE_SIZE_BYTES_MAX} bytes`);
  return { etag: response.headers.get("etag"), content: new TextDecoder().decode(bytes) };
}
