import { testInWorker } from "../support/browser/run_in_worker.ts";

await testInWorker({
  label: "Chromium worker",
  entry: "tests/browser/suites/values.ts",
  beside: { "counter.js": "tests/browser/suites/values_counter.ts" },
});
