/**
 * Several runs of `deno test` at the same time, whose output reads as if one had come after the other.
 *
 * Half of the tests wait for browsers and for processes that are killed, and leave most of a processor to the other half. Every file
 * is in one part: the last part is all that no other part names.
 *
 * @module
 */
import { type Part, runPart } from "./test_part.ts";

/** How many parts run at the same time, where there are that many processors. */
const LANES = 2;

/** Some tests that run in one process. */
export interface Plan {
  readonly name: string;
  /** Arguments of `deno test`. */
  readonly args: readonly string[];
}

/** Runs one plan. `show` is given every line that it prints. */
export type RunPlan = (plan: Plan, show: (line: string) => void) => Promise<Part>;

/** What runs in a real browser, and mostly waits for it. */
const BROWSER_PATHS: readonly string[] = ["tests/browser", "tests/support/browser"];
/** What starts and kills processes, or makes a great many logs. */
const LONG_PATHS: readonly string[] = ["tests/compaction", "tests/journal", "tests/kill", "tests/lab", "tests/server"];

/** All tests and all documentation examples; the longest parts first. */
export function allPlans(): Plan[] {
  const elsewhere = [...BROWSER_PATHS, ...LONG_PATHS].join(",");
  return [
    { name: "tests in browsers", args: ["--frozen", ...BROWSER_PATHS] },
    { name: "tests of journals, kills and servers", args: ["--frozen", ...LONG_PATHS] },
    { name: "all other tests", args: ["--frozen", `--ignore=${elsewhere}`, "tests"] },
    { name: "documentation examples", args: ["--frozen", "--doc", "mod.ts", "src"] },
  ];
}

/**
 * Runs plans, so many at the same time, each as soon as there is room.
 *
 * The lines of one test file are shown together, when the file is done. What failed, and why, is shown when everything is over.
 *
 * @returns one part for each plan, in their order. A plan that cannot be run counts as a failure
 */
export async function runPlans(
  plans: readonly Plan[],
  run: RunPlan,
  show: (line: string) => void = console.log,
  lanes: number = Math.min(LANES, navigator.hardwareConcurrency),
): Promise<Part[]> {
  const parts: Part[] = [];
  const reports: string[][] = plans.map(() => []);
  const waiting = [...plans.entries()];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, plan] = next;
      const output = new PartOutput(show, reports[index]!);
      try {
        parts[index] = await run(plan, (line) => output.add(line));
      } catch (error) {
        output.add(`Cannot run the ${plan.name}: ${error instanceof Error ? error.stack : error}`);
        parts[index] = { name: plan.name, passed: 0, failed: 1, ignored: 0, notRun: [] };
      }
      output.end();
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, lanes) }, lane));
  for (const [index, report] of reports.entries()) {
    if (report.length === 0) continue;
    show(`\n${plans[index]!.name}:`);
    for (const line of report) show(line);
  }
  return parts;
}

/** Runs a plan in a process of its own. */
export function inProcess(env: Record<string, string>): RunPlan {
  return ({ name, args }, show) => runPart(name, args, env, show);
}

/** Keeps the lines of one part together: those of a file until the next file begins, and its report to the end. */
class PartOutput {
  readonly #show: (line: string) => void;
  readonly #report: string[];
  #ofFile: string[] = [];
  #isReport = false;

  constructor(show: (line: string) => void, report: string[]) {
    this.#show = show;
    this.#report = report;
  }

  add(line: string): void {
    if (line.startsWith("running ") || line === " ERRORS ") this.#showFile();
    this.#isReport ||= line === " ERRORS ";
    if (this.#isReport) this.#report.push(line);
    else this.#ofFile.push(line);
  }

  end(): void {
    this.#showFile();
  }

  #showFile(): void {
    for (const line of this.#ofFile) this.#show(line);
    this.#ofFile = [];
  }
}
