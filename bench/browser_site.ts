/**
 * The site that a browser under measurement opens: it starts the worker, and posts back what the worker tells.
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";
import type { BenchMessage, BenchRequest } from "./messages.ts";

/** A site that is being served. */
export interface BrowserSite {
  readonly url: string;
  /** Resolves at the result or the failure. */
  readonly done: Promise<void>;
  close(): Promise<void>;
}

/** Writes one message to standard output, as the process that measures tells everything. */
export function tell(message: BenchMessage): void {
  process.stdout.write(JSON.stringify(message) + "\n");
}

/**
 * Bundles the worker into the folder and serves it.
 *
 * @param browser `Chromium`, as the table calls it; the page adds the version
 *
 * @example
 * ```ts
 * import { serveBrowserSite } from "./browser_site.ts";
 *
 * const site = (folder: string) => serveBrowserSite(folder, "Chromium", { cases: [], budget: "quick" });
 * if (typeof site !== "function") throw new Error("unreachable");
 * ```
 */
export async function serveBrowserSite(folder: string, browser: string, request: BenchRequest): Promise<BrowserSite> {
  tell({ kind: "progress", text: `${browser}: bundling the worker` });
  const workerPath = join(folder, "worker.js");
  await bundle(fileURLToPath(new URL("./browser_main.ts", import.meta.url)), "browser", workerPath);
  const done = Promise.withResolvers<void>();
  const files: Readonly<Record<string, () => Promise<readonly [type: string, body: BodyInit]>>> = {
    "/": () => Promise.resolve(["text/html", pageFor(browser, request)]),
    "/worker.js": async () => ["text/javascript", await Deno.readFile(workerPath)],
    "/sqlite3.wasm": async () => ["application/wasm", await Deno.readFile(sqliteWasmPath())],
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (asked) => {
    const { pathname } = new URL(asked.url);
    if (pathname === "/tell") {
      const message = await asked.json() as BenchMessage;
      tell(message);
      if (message.kind !== "progress") done.resolve();
      return new Response("");
    }
    const file = files[pathname];
    if (file === undefined) return new Response("", { status: 404 });
    const [type, body] = await file();
    return new Response(body, {
      headers: {
        "content-type": type,
        // An isolated page has a clock of 5 µs instead of 100 µs. Storage behaves the same.
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": "require-corp",
      },
    });
  });
  return { url: `http://127.0.0.1:${server.addr.port}/`, done: done.promise, close: () => server.shutdown() };
}

/** The package exports its program, but a bundle does not carry it along. */
function sqliteWasmPath(): string {
  const script = fileURLToPath(import.meta.resolve("@sqlite.org/sqlite-wasm"));
  return join(script, "..", "sqlite3.wasm");
}

function pageFor(browser: string, request: BenchRequest): string {
  return `<!doctype html><meta charset="utf-8"><title>bench</title><script type="module">
const version = /(?:Chrome|Firefox)\\/(\\d+)/.exec(navigator.userAgent)?.[1] ?? "of unknown version";
let told = Promise.resolve();
const tell = (message) => told = told.then(() => fetch("/tell", { method: "POST", body: JSON.stringify(message) }));
const worker = new Worker("/worker.js", { type: "module" });
worker.onerror = ({ message }) => tell({ kind: "failure", message: "The worker: " + message });
worker.onmessage = ({ data }) => tell(data);
worker.postMessage({ request: ${JSON.stringify(request).replaceAll("<", "\\u003c")}, runtime: ${
    JSON.stringify(browser)
  } + " " + version });
</script>`;
}
