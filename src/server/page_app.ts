/**
 * The app that serves the built page, with the headers that keep a stranger's text harmless.
 *
 * It reads through a function, so it runs wherever Hono does. It knows nothing of sessions: those live in the browser.
 *
 * @module
 */
import { Hono } from "hono";

/**
 * What the page may do. Scripts and styles are our own files; wasm is allowed for the codec; the worker may talk to a model's
 * endpoint over https, or on this machine. `frame-ancestors` works only as a header, so a static host cannot say it.
 *
 * @see Content Security Policy Level 3, https://www.w3.org/TR/CSP3/
 */
export const PAGE_POLICY: string = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'none'",
].join("; ");

/** The headers of every answer, besides its type. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": PAGE_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  // Always asked for again: a page and a worker of two builds would not understand each other.
  "cache-control": "no-cache",
};

/** The types of what a build holds. Nothing else is served. */
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  wasm: "application/wasm",
};

/** A name in a build: folders and files of plain characters; nothing hidden, nothing that climbs. */
const NAME = /^[\w-]+(?:\/[\w-]+)*(?:\.[\w-]+)+$/;

/**
 * Reads a file of the build.
 *
 * @param name relative, `/`-separated, already checked: no `..`, nothing hidden
 * @returns `null` when there is none
 */
export type ReadPageFile = (name: string) => Promise<Uint8Array<ArrayBuffer> | null>;

/**
 * Makes the app that serves a built page at its root.
 *
 * @example
 * ```ts
 * import { createPageApp } from "./page_app.ts";
 *
 * const html = new TextEncoder().encode("<!doctype html>");
 * const app = createPageApp({ readFile: (name) => Promise.resolve(name === "index.html" ? html : null) });
 * const response = await app.request("/");
 * if (response.status !== 200 || (await app.request("/other.js")).status !== 404) throw new Error("unreachable");
 * ```
 */
export function createPageApp(options: { readonly readFile: ReadPageFile }): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(PAGE_HEADERS)) context.res.headers.set(name, value);
  });
  app.get("*", async (context) => {
    const name = context.req.path === "/" ? "index.html" : context.req.path.slice(1);
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    const bytes = type === undefined || !NAME.test(name) ? null : await options.readFile(name);
    if (bytes === null) return context.text("There is no such page", 404);
    return context.body(bytes, 200, { "content-type": type! });
  });
  return app;
}
