import { assertEquals } from "@std/assert";
import { testInWorker } from "../support/browser/run_in_worker.ts";

const { results } = await testInWorker({
  label: "Chromium worker",
  entry: "tests/browser/suites/values.ts",
  beside: { "counter.js": "tests/browser/suites/values_counter.ts" },
});

Deno.test("every case of the values that tabs share was taken to the worker", () => {
  assertEquals(results.length, 5);
});
