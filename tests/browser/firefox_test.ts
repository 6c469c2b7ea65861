/**
 * The contracts over OPFS in a worker of Firefox, where one is installed. None is installed for them.
 *
 * @module
 */

import { cases } from "../adapters/opfs/browser_suite.ts";
import { findFirefox } from "../support/browser/firefox.ts";
import { testInWorker } from "../support/browser/run_in_worker.ts";
import { OPFS_RUNS } from "./opfs_run.ts";

if (await findFirefox() === null) {
  Deno.test({ name: "Firefox worker (not run: Firefox is not installed)", ignore: true, fn() {} });
  // The task that runs the tests collects this line.
  console.log(`${cases.length} cases not run: Firefox is not installed (the contracts over OPFS)`);
} else {
  for (const run of OPFS_RUNS) await testInWorker({ label: "Firefox worker", ...run, browser: "firefox" });
}
