/**
 * The contracts on what a browser has, each in a dedicated module worker of Chromium on a fresh profile.
 *
 * @module
 */

import { assert } from "@std/assert";
import { codecContract } from "../../src/testing/codec_contract.ts";
import { sessionStoreContract } from "../../src/testing/session_store_contract.ts";
import { storageContract } from "../../src/testing/storage_contract.ts";
import { testInWorker } from "../support/browser/run_in_worker.ts";
import { OPFS_RUNS } from "./opfs_run.ts";

const names: string[] = [];
for (const run of [...OPFS_RUNS, { entry: "tests/browser/suites/codec.ts" }]) {
  const { results } = await testInWorker({ label: "Chromium worker", ...run });
  names.push(...results.map(({ name }) => name));
}

Deno.test("every case of the storage, session store and codec contracts was taken to the worker", () => {
  for (const { name } of [...storageContract, ...sessionStoreContract, ...codecContract]) {
    assert(names.some((found) => found.endsWith(name)), name);
  }
});
