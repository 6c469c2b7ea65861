/**
 * The process that measures in Firefox: `firefox_main.ts FOLDER REQUEST`, with the browser's path in `$FIREFOX`. The profile,
 * and with it OPFS, lies in the folder. Messages leave as JSON lines.
 *
 * @module
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { serveBrowserSite, tell } from "./browser_site.ts";
import type { BenchRequest } from "./messages.ts";

/** A profile that nobody looks at: no first-run pages, no updates, nothing sent anywhere. */
const SETTINGS: Readonly<Record<string, string | boolean>> = {
  "app.normandy.enabled": false,
  "app.update.auto": false,
  "browser.aboutwelcome.enabled": false,
  "browser.safebrowsing.downloads.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.healthreport.uploadEnabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
};

const [folder, request] = process.argv.slice(2);
if (folder === undefined || request === undefined) throw new TypeError("Cannot run: wanted a folder and a request");

const site = await serveBrowserSite(folder, "Firefox", JSON.parse(request) as BenchRequest);
tell({ kind: "progress", text: "Firefox: starting" });
const profile = join(folder, "profile");
await mkdir(profile);
const lines = Object.entries(SETTINGS).map(([name, value]) =>
  `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`
);
await writeFile(join(profile, "user.js"), lines.join(""));
const child = new Deno.Command(process.env["FIREFOX"]!, {
  args: ["--headless", "--no-remote", "--profile", profile, site.url],
  // Firefox refuses a home that belongs to somebody else, which root in a container can have.
  env: { HOME: profile, MOZ_CRASHREPORTER_DISABLE: "1" },
  stdin: "null",
  stdout: "null",
  stderr: "null",
}).spawn();
let isGone = false;
const gone = child.status.then((status) => {
  isGone = true;
  return status;
});
// Asked to leave, we take it along.
process.on("SIGTERM", () => {
  if (!isGone) child.kill("SIGKILL");
  process.exit(1);
});
try {
  await Promise.race([
    site.done,
    gone.then(({ code }) => {
      throw new Error(`Cannot measure in Firefox: it ended with code ${code}`);
    }),
  ]);
} finally {
  if (!isGone) child.kill("SIGTERM");
  await gone;
  await site.close();
}
