/**
 * `holdfast bench`: the benchmarks, in every runtime this machine has.
 *
 * @module
 */
import { chooseCases } from "../../../bench/cases.ts";
import { readRuntimes } from "../../../bench/main.ts";
import { benchReport } from "../../../bench/report.ts";
import { runBench } from "../../../bench/run.ts";
import { RUNTIME_NAMES, usualRuntimes } from "../../../bench/runtimes.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../usage.ts";

/**
 * Measures on the disk of the root. Exit code 1 when a runtime that was asked for could not be measured.
 *
 * Sessions are not touched: everything is written into a folder beside the root, which is removed at the end.
 */
export const bench: Command = {
  spec: {
    name: "bench",
    positionals: "",
    help:
      "measure flush latency and batching on the disk of the root, beside a raw append and sync; takes minutes, --quick less",
    flags: {
      case: { value: "NAME", help: "only cases whose name begins so, such as flush", many: true },
      runtime: { value: "LIST", help: `some of ${RUNTIME_NAMES.join()} (else those that are here)` },
      quick: { help: "a short look; its figures are not worth quoting" },
    },
    count: [0, 0],
  },
  async run({ args, out, host, root, env }) {
    const cases = args.texts("case");
    const runtimes = usage(() => {
      chooseCases(cases);
      const named = args.text("runtime");
      return named === undefined ? null : readRuntimes(named);
    }) ?? await usualRuntimes(env);
    const abort = new AbortController();
    const stopListening = host.onInterrupt(() => abort.abort(new Error("Cannot go on: interrupted")));
    try {
      using line = out.progress("measuring");
      const document = await runBench({
        runtimes,
        cases,
        budget: args.has("quick") ? "quick" : "full",
        folder: root,
        variables: env,
        signal: abort.signal,
        report: (text) => line.report(text),
      });
      line[Symbol.dispose]();
      out.json(document);
      for (const text of benchReport(document)) out.line(text);
      return document.notRun.length === 0 ? 0 : 1;
    } finally {
      stopListening();
    }
  },
};

/** What is wrong with a name is wrong with the command line. */
function usage<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
