/**
 * The benchmarks as a program: the table on standard output, what is going on on standard error.
 *
 * @module
 */
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";
import { chooseCases } from "./cases.ts";
import { benchReport } from "./report.ts";
import { runBench } from "./run.ts";
import { RUNTIME_NAMES, type RuntimeName, type Variables } from "./runtimes.ts";

const USAGE = `deno task bench [--runtime ${
  RUNTIME_NAMES.join(",")
}] [--case NAME]… [--quick] [--json FILE] [--dir DIR]`;
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
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    return 2;
  }
  const abort = new AbortController();
  const onInterrupt = () => abort.abort(new Error("Interrupted"));
  process.on("SIGINT", onInterrupt);
  process.on("SIGTERM", onInterrupt);
  try {
    const document = await runBench({ ...options, variables, signal: abort.signal, report: progress() });
    for (const line of benchReport(document)) console.log(line);
    if (options.json !== undefined) await writeFile(options.json, JSON.stringify(document) + "\n");
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

function readArgs(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: { type: "string", default: RUNTIME_NAMES.join() },
      case: { type: "string", multiple: true, default: [] },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      dir: { type: "string", default: process.cwd() },
    },
  });
  const budget = values.quick ? "quick" as const : "full" as const;
  return { runtimes: readRuntimes(values.runtime), cases: values.case, budget, json: values.json, folder: values.dir };
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
