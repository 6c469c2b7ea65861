/**
 * The process that measures in Chromium: `chromium_main.ts FOLDER REQUEST`, with the browser's path in `$CHROMIUM`. The profile,
 * and with it OPFS, lies in the folder. Messages leave as JSON lines.
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright";
import { bundle } from "./bundle.ts";
import type { BenchMessage, BenchRequest } from "./messages.ts";

const [folder, request] = process.argv.slice(2);
if (folder === undefined || request === undefined) throw new TypeError("Cannot run: wanted a folder and a request");

function tell(message: BenchMessage): void {
  process.stdout.write(JSON.stringify(message) + "\n");
}

tell({ kind: "progress", text: "Chromium: bundling the worker" });
const workerPath = join(folder, "worker.js");
await bundle(fileURLToPath(new URL("./browser_main.ts", import.meta.url)), "browser", workerPath);

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url }) => {
  const isWorker = new URL(url).pathname === "/worker.js";
  return new Response(isWorker ? await Deno.readFile(workerPath) : "<!doctype html><title>bench</title>", {
    headers: {
      "content-type": isWorker ? "text/javascript" : "text/html",
      // An isolated page has a clock of 5 µs instead of 100 µs. Storage behaves the same.
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    },
  });
});
tell({ kind: "progress", text: "Chromium: starting" });
const browser = await chromium.launchPersistentContext(join(folder, "profile"), {
  executablePath: process.env["CHROMIUM"],
  headless: true,
});
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.addr.port}/`);
  await page.exposeFunction("tell", tell);
  await page.evaluate((request) => {
    // DevTools puts `tell` there, which no type knows.
    const { tell } = globalThis as unknown as { tell(message: unknown): Promise<void> };
    const [, version = "of unknown version"] = /Chrome\/([0-9.]+)/.exec(navigator.userAgent) ?? [];
    const worker = new Worker("/worker.js", { type: "module" });
    return new Promise<void>((resolve) => {
      worker.onerror = ({ message }) => tell({ kind: "failure", message: `The worker: ${message}` }).then(resolve);
      worker.onmessage = async ({ data }) => {
        await tell(data);
        if (data.kind !== "progress") resolve();
      };
      worker.postMessage({ request, runtime: `Chromium ${version.split(".")[0]}` });
    });
  }, JSON.parse(request) as BenchRequest);
} finally {
  await browser.close();
  await server.shutdown();
}
