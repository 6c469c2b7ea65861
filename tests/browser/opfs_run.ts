/**
 * How to run what needs OPFS in a browser, the same in every one.
 *
 * @module
 */

import type { WorkerRun } from "../support/browser/run_in_worker.ts";

/** Suite → how it is run. */
export const OPFS_RUNS: readonly WorkerRun[] = [
  {
    entry: "tests/browser/suites/opfs_contracts.ts",
    // The contracts' other process.
    beside: { "opfs_other.js": "tests/adapters/opfs/browser_other.ts" },
  },
  { entry: "tests/browser/suites/opfs_turn.ts" },
];
