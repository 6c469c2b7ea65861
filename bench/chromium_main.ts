/**
 * The process that measures in Chromium: `chromium_main.ts FOLDER REQUEST`, with the browser's path in `$CHROMIUM`. The profile,
 * and with it OPFS, lies in the folder. Messages leave as JSON lines.
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import { chromium } from "playwright";
import { serveBrowserSite, tell } from "./browser_site.ts";
import type { BenchRequest } from "./messages.ts";

const [folder, request] = process.argv.slice(2);
if (folder === undefined || request === undefined) throw new TypeError("Cannot run: wanted a folder and a request");

const site = await serveBrowserSite(folder, "Chromium", JSON.parse(request) as BenchRequest);
tell({ kind: "progress", text: "Chromium: starting" });
const browser = await chromium.launchPersistentContext(join(folder, "profile"), {
  executablePath: process.env["CHROMIUM"],
  headless: true,
});
try {
  const page = await browser.newPage();
  await page.goto(site.url);
  await site.done;
} finally {
  await browser.close();
  await site.close();
}
