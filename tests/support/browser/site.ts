/**
 * Serves files to a browser on the loopback address, under the policy that our own page has.
 *
 * @module
 */

import { PAGE_POLICY } from "../../../src/server/page_app.ts";

export { PAGE_POLICY };

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  wasm: "application/wasm",
  svg: "image/svg+xml",
};

/** Answers a request, or gives null to let the folder answer. */
export type Route = (request: Request, path: string) => Response | Promise<Response> | null;

/** What to serve. */
export interface SiteOptions {
  /** Its files are served below `/`, `index.html` for a folder. */
  readonly folder?: string;
  /** Asked first. */
  readonly route?: Route;
  /** Default: {@linkcode PAGE_POLICY}. Null sends none. */
  readonly policy?: string | null;
  /** Default: a free one. An origin includes its port, so a second site of one origin needs the first one's. */
  readonly port?: number;
}

/** A site that is being served. */
export interface Site {
  /** `http://127.0.0.1:PORT`, without a slash at its end. */
  readonly origin: string;
  /** Ends it, open connections included. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves a folder and a route. */
export function serveSite({ folder, route, policy = PAGE_POLICY, port = 0 }: SiteOptions): Site {
  const abort = new AbortController();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port,
    signal: abort.signal,
    onListen() {},
    // The browser may go while it is being answered.
    onError: (error) => new Response(String(error), { status: 500 }),
  }, async (request) => {
    const path = decodeURIComponent(new URL(request.url).pathname);
    const response = await route?.(request, path) ?? await fileResponse(folder, path);
    const headers = new Headers(response.headers);
    if (policy !== null) headers.set("content-security-policy", policy);
    headers.set("cache-control", "no-store");
    headers.set("x-content-type-options", "nosniff");
    return new Response(response.body, { status: response.status, headers });
  });
  const close = async () => {
    abort.abort();
    await server.finished;
  };
  return { origin: `http://127.0.0.1:${server.addr.port}`, close, [Symbol.asyncDispose]: close };
}

/** A text with the content type of a file name's ending. */
export function textResponse(text: string, ending: string): Response {
  return new Response(text, { headers: { "content-type": TYPES[ending] ?? "text/plain; charset=utf-8" } });
}

async function fileResponse(folder: string | undefined, path: string): Promise<Response> {
  if (folder === undefined || path.split("/").includes("..")) return new Response("Not found", { status: 404 });
  const name = path.endsWith("/") ? `${path}index.html` : path;
  try {
    const type = TYPES[name.split(".").at(-1)!] ?? "application/octet-stream";
    return new Response(await Deno.readFile(`${folder}${name}`), { headers: { "content-type": type } });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.IsADirectory) {
      return new Response("Not found", { status: 404 });
    }
    throw error;
  }
}
