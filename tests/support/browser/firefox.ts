/**
 * Finds a Firefox that is installed. None is installed for the tests: what they leave out without it is said aloud.
 *
 * @module
 */

import { killTree } from "./launch.ts";

/** Where distributions and people put it. */
const INSTALLED_PATHS: readonly string[] = [
  "/usr/bin/firefox",
  "/usr/bin/firefox-esr",
  "/snap/bin/firefox",
  "/Applications/Firefox.app/Contents/MacOS/firefox",
];

/**
 * The path of a Firefox: `$FIREFOX`, else an installed one, else null.
 *
 * @throws {Error} when `$FIREFOX` is set and names no file
 */
export async function findFirefox(): Promise<string | null> {
  const named = Deno.env.get("FIREFOX");
  if (named) {
    if (await isFile(named)) return named;
    throw new Error(`Cannot use FIREFOX "${named}": no such file`);
  }
  for (const path of INSTALLED_PATHS) if (await isFile(path)) return path;
  return null;
}

async function isFile(path: string): Promise<boolean> {
  return (await Deno.stat(path).catch(() => null))?.isFile === true;
}

/** A running Firefox. It has no DevTools for us: it opens a page, and the page reports by itself. */
export interface RunningFirefox {
  /** Kills it with everything it started, and resolves when it is gone. */
  kill(): Promise<void>;
}

/** Settings of a profile that nobody looks at: no first-run pages, no updates, nothing sent anywhere. */
const SETTINGS: Readonly<Record<string, string | number | boolean>> = {
  "app.normandy.enabled": false,
  "app.update.auto": false,
  "browser.aboutwelcome.enabled": false,
  "browser.safebrowsing.downloads.enabled": false,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.healthreport.uploadEnabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
  "toolkit.telemetry.reportingpolicy.firstRun": false,
};

/** Opens a URL in a Firefox without a window, on a profile of its own. */
export async function launchFirefox(options: { profileDir: string; url: string }): Promise<RunningFirefox> {
  const executablePath = await findFirefox();
  if (executablePath === null) throw new Error("Cannot start Firefox: none is installed");
  const lines = Object.entries(SETTINGS).map(([name, value]) =>
    `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`
  );
  await Deno.writeTextFile(`${options.profileDir}/user.js`, lines.join(""));
  const child = new Deno.Command(executablePath, {
    args: ["--headless", "--no-remote", "--profile", options.profileDir, options.url],
    // Firefox refuses a home that belongs to somebody else, which root in a container can have.
    env: { HOME: options.profileDir, MOZ_CRASHREPORTER_DISABLE: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    async kill() {
      await killTree(child.pid);
      await child.status;
    },
  };
}
