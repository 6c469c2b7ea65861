/**
 * `deno task soak`: the long runs, every file `tests/…_soak.ts`, with large counts (`HOLDFAST_SOAK=1`).
 *
 * With arguments, only files whose path contains one of them.
 *
 * @module
 */

import { requireDeno } from "../../src/cli/deno_version.ts";
import { type Part, runPart } from "./test_part.ts";
import { prepareTools } from "./test_tools.ts";
import { sourceFiles } from "../support/module_graph.ts";

requireDeno("soak");

const files = sourceFiles("tests")
  .filter((path) => path.endsWith("_soak.ts"))
  .filter((path) => Deno.args.length === 0 || Deno.args.some((part) => path.includes(part)));
if (files.length === 0) {
  console.error(`Cannot soak: no file tests/…_soak.ts${Deno.args.length > 0 ? ` with ${Deno.args.join(" or ")}` : ""}`);
  Deno.exit(1);
}

const env = { ...await prepareTools(), HOLDFAST_SOAK: "1" };
const parts: Part[] = [];
for (const file of files) {
  console.log(`\n${file}`);
  const startMs = performance.now();
  const part = await runPart(file, ["--frozen", file], env);
  parts.push(part);
  console.log(`${file}: ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
}

console.log("\nSummary");
for (const { name, passed, failed, notRun } of parts) {
  console.log(`  ${name}: ${passed} passed, ${failed} failed`);
  for (const line of notRun) console.log(`    ${line}`);
}
Deno.exit(parts.some((part) => part.failed > 0 || part.passed === 0) ? 1 : 0);
