/**
 * The benchmarks as a program: the table on standard output, what is going on on standard error.
 *
 * @module
 */
import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { benchCases, chooseCases } from "./cases.ts";
import { benchReport } from "./report.ts";
import { writeReport } from "./report_html.ts";
import { type BenchDocument, runBench } from "./run.ts";
import { BUDGET_FULL, BUDGET_QUICK } from "./bench_case.ts";
import { RUNTIME_NAMES, type RuntimeName, usualRuntimes, type Variables } from "./runtimes.ts";

const USAGE = `deno task bench [flags]

  --runtime LIST   some of ${RUNTIME_NAMES.join()}; else those that are here
  --case NAME      only cases whose name begins so; may be repeated. Large cases run only when named whole
  --quick          a short look: its figures are not worth quoting
  --seconds N      at most so long for the rounds of one case (else ${BUDGET_FULL.timeMaxMs / 1000})
  --json FILE      keep machine, versions and every raw sample
  --html FILE      a page with plots, of this run and of those of --with
  --with FILE      an earlier --json file, to compare with; may be repeated
  --dir DIR        the disk of this folder is measured; else the current folder's
  --list           the names of all cases
  --help           this`;
/** A line at most this often, so that a file that keeps standard error stays short. */
const PROGRESS_MS = 2000;

/**
 * Runs what the arguments ask for.
 *
 * @param variables the environment; `HOLDFAST_NODE` and `CHROMIUM` name what the PATH does not have
 * @returns the exit code: 0 when every runtime was measured, 1 when not, 2 for a wrong command line
 *
 * @example
 * ```ts
 * import { benchMain } from "./main.ts";
 *
 * if (await benchMain(["--case", "nothing"], {}) !== 2) throw new Error("unreachable");
 * ```
 */
export async function benchMain(args: readonly string[], variables: Variables): Promise<0 | 1 | 2> {
  let options: ReturnType<typeof readArgs>;
  try {
    options = readArgs(args);
    chooseCases(options.cases);
    if (options.isHelp) {
      console.log(USAGE);
      return 0;
    }
    if (options.isList) {
      for (const { name } of benchCases) console.log(name);
      return 0;
    }
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    return 2;
  }
  const abort = new AbortController();
  const onInterrupt = () => abort.abort(new Error("Interrupted"));
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onInterrupt);
  try {
    // Before anything is measured: a file that is not there should not cost a measurement.
    const earlier = await Promise.all(options.earlier.map(readEarlier));
    const runtimes = options.runtimes ?? await usualRuntimes(variables);
    const document = await runBench({ ...options, runtimes, variables, signal: abort.signal, report: progress() });
    for (const line of benchReport(document)) console.log(line);
    if (options.json !== undefined) await writeFile(options.json, JSON.stringify(document) + "\n");
    if (options.html !== undefined) {
      await writeReport([...earlier, { label: "this run", document }], options.html);
    }
    return document.notRun.length === 0 ? 0 : 1;
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    console.error("Interrupted: nothing is reported");
    return 1;
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onInterrupt);
  }
}

async function readEarlier(path: string): Promise<{ label: string; document: BenchDocument }> {
  return { label: basename(path), document: JSON.parse(await readFile(path, "utf8")) as BenchDocument };
}

function readArgs(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: { type: "string" },
      case: { type: "string", multiple: true, default: [] },
      quick: { type: "boolean", default: false },
      seconds: { type: "string" },
      json: { type: "string" },
      html: { type: "string" },
      with: { type: "string", multiple: true, default: [] },
      help: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      dir: { type: "string", default: process.cwd() },
    },
  });
  const named = values.quick ? "quick" as const : "full" as const;
  const seconds = values.seconds === undefined ? null : Number(values.seconds);
  if (seconds !== null && !(seconds > 0)) throw new RangeError(`Cannot measure for "${values.seconds}" seconds`);
  return {
    runtimes: values.runtime === undefined ? null : readRuntimes(values.runtime),
    cases: values.case,
    budget: seconds === null ? named : { ...(values.quick ? BUDGET_QUICK : BUDGET_FULL), timeMaxMs: seconds * 1000 },
    json: values.json,
    html: values.html,
    earlier: values.with,
    folder: values.dir,
    isHelp: values.help,
    isList: values.list,
  };
}

/**
 * The runtimes of a list such as `deno,node`, in the order in which they are measured.
 *
 * @throws {RangeError} when one is unknown, or there is none
 *
 * @example
 * ```ts
 * import { readRuntimes } from "./main.ts";
 *
 * if (readRuntimes("node,deno").join() !== "deno,node") throw new Error("unreachable");
 * ```
 */
export function readRuntimes(list: string): RuntimeName[] {
  const wanted = list.split(",").filter((name) => name !== "");
  const unknown = wanted.find((name) => !(RUNTIME_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined || wanted.length === 0) {
    throw new RangeError(`Cannot measure runtime "${unknown ?? ""}": there are ${RUNTIME_NAMES.join(", ")}`);
  }
  return RUNTIME_NAMES.filter((name) => wanted.includes(name));
}

function progress(): (text: string) => void {
  let dueMs = 0;
  return (text) => {
    if (performance.now() < dueMs) return;
    dueMs = performance.now() + PROGRESS_MS;
    console.error(text);
  };
}
