/**
 * `deno task test`: prepares what the tests use, runs all tests and all documentation examples, and sums up.
 *
 * With arguments (`deno task test tests/frame`), runs only those files.
 *
 * @module
 */

import { requireDeno } from "../../src/cli/deno_version.ts";
import { allPlans, inProcess, runPlans } from "./lanes.ts";
import { killParts } from "./test_part.ts";
import { prepareTools } from "./test_tools.ts";

requireDeno("test");

// The modes of files are part of what is tested; the starting shell's umask is not.
Deno.umask(0o022);
const env = await prepareTools();
const fixtures = Deno.env.get("HOLDFAST_FIXTURES");
console.log(
  fixtures
    ? `fixtures: ${fixtures}`
    : "fixtures: HOLDFAST_FIXTURES is not set, so the cases that read large session files are not run",
);

for (const signal of Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => {
    console.log(`${signal}: every test ends`);
    killParts().finally(() => Deno.exit(130));
  });
}

const named = { name: "tests", args: ["--frozen", ...Deno.args] };
const plans = Deno.args.length > 0 ? [named] : allPlans();
// One that runs alone is shown as it happens.
const run = inProcess(env);
const parts = plans.length === 1 ? [await run(named, console.log)] : await runPlans(plans, run);

console.log("\nSummary");
for (const { name, passed, failed, ignored, notRun } of parts) {
  console.log(`  ${name}: ${passed} passed, ${failed} failed${ignored > 0 ? `, ${ignored} ignored` : ""}`);
  for (const line of notRun) console.log(`    ${line}`);
}
const total = (count: "passed" | "failed") => parts.reduce((sum, part) => sum + part[count], 0);
console.log(`${total("passed")} passed, ${total("failed")} failed`);
// A run of which a part found no test has shown nothing.
Deno.exit(total("failed") > 0 || parts.some(({ passed }) => passed === 0) ? 1 : 0);
