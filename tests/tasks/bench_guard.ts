/**
 * `deno task bench:guard`: measures the ratios that must hold, in Deno over files, and exits 1 when one does not.
 *
 * `--quick` looks whether it works; `--json FILE` keeps the raw samples; `--dir DIR` names the disk; `--case NAME` chooses.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { requireDeno } from "../../src/cli/deno_version.ts";
import { guardCases, guardText, judge } from "../../bench/guard.ts";
import { benchReport } from "../../bench/report.ts";
import { runBench } from "../../bench/run.ts";

requireDeno("bench:guard");

const { values } = parseArgs({
  args: Deno.args,
  options: {
    case: { type: "string", multiple: true, default: [] },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    dir: { type: "string", default: Deno.cwd() },
  },
});
const cases = guardCases.filter((name) =>
  values.case.length === 0 || values.case.some((start) => name.startsWith(start))
);
let dueMs = 0;
const document = await runBench({
  runtimes: ["deno"],
  cases,
  budget: values.quick ? "quick" : "full",
  folder: values.dir,
  variables: Deno.env.toObject(),
  report: (text) => {
    if (performance.now() < dueMs) return;
    dueMs = performance.now() + 2000;
    console.error(text);
  },
});
for (const line of benchReport(document)) console.log(line);
if (values.json !== undefined) await Deno.writeTextFile(values.json, JSON.stringify(document) + "\n");
const [result] = document.runtimes;
if (result === undefined) Deno.exit(1);
const lines = judge(result, cases);
console.log("");
for (const line of lines) console.log(guardText(line));
Deno.exit(lines.every(({ isMet }) => isMet) ? 0 : 1);
