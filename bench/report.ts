/**
 * The table that a person reads.
 *
 * @module
 */
import type { CaseResult, Series } from "./bench_case.ts";
import type { BenchDocument } from "./run.ts";
import { pairedRatio, percentile, summarize, type Summary } from "./statistics.ts";

const HEAD = ["case", "contestant", "measure", "n", "p50", "p90", "p99", "max", "ratio to the baseline (p25–p75)"];
/** Columns of figures, which end on one edge. */
const RIGHT = new Set([3, 4, 5, 6, 7]);

/**
 * Everything as lines: the machine, one table per runtime, and what was not measured.
 *
 * @example
 * ```ts
 * import { benchReport } from "./report.ts";
 *
 * const machine = { system: "linux", cpu: "x", cpuCount: 2, memoryBytes: 1024 ** 3, fileSystem: "ext4" };
 * const notRun = [{ runtime: "node" as const, reason: "none here" }];
 * const lines = benchReport({ machine, measuredAt: "2026-11-30T12:00:00Z", budget: "quick", runtimes: [], notRun });
 * if (!lines.join().includes("none here")) throw new Error("unreachable");
 * ```
 */
export function benchReport({ machine, budget, runtimes, notRun }: BenchDocument): string[] {
  const memory = `${(machine.memoryBytes / 1024 ** 3).toFixed(0)} GiB`;
  const lines = [`${machine.system}, ${machine.cpuCount} × ${machine.cpu}, ${memory}, ${machine.fileSystem}`];
  if (budget !== "full") lines.push("A short look: these figures are not worth quoting.");
  for (const { runtime, medium, cases, absent } of runtimes) {
    lines.push("", `${runtime}, ${medium}`, ...table([HEAD, ...cases.flatMap(rowsOf)]));
    for (const { name, facts = {} } of cases) {
      for (const [fact, value] of Object.entries(facts)) {
        lines.push(`${name}, ${fact}: ${Number(value.toPrecision(4))}`);
      }
    }
    for (const { name, reason } of absent) lines.push(`Not measured: ${name}: ${reason}`);
  }
  for (const { runtime, reason } of notRun) lines.push("", `Not measured: ${runtime}: ${reason}`);
  return lines;
}

function rowsOf(result: CaseResult): string[][] {
  return result.series.map((series, index) => {
    const lane = series.lane === result.baseline ? `${series.lane} *` : series.lane;
    const name = index === 0 ? result.name : "";
    if (series.samples.length === 0) return [name, lane, series.measure, "0", "–", "–", "–", "–", "–"];
    return [name, lane, series.measure, ...figures(series, summarize(series.samples)), ratioText(result, series)];
  });
}

function figures({ unit }: Series, { count, p50, p90, p99, max }: Summary): string[] {
  const text = (value: number) => {
    if (unit === "ms") return `${value.toFixed(value < 100 ? 2 : 0)} ms`;
    if (unit === "bytes") return `${(value / 1024).toFixed(0)} KiB`;
    return unit === "per second" ? `${value.toFixed(0)} /s` : String(value);
  };
  return [String(count), text(p50), text(p90), text(p99), text(max)];
}

function ratioText({ baseline, isPaired, series }: CaseResult, { lane, measure, samples }: Series): string {
  if (lane === baseline) return "1 (the baseline)";
  const base = series.find((each) => each.lane === baseline && each.measure === measure)?.samples ?? [];
  if (base.length === 0) return "–";
  if (!isPaired) return `×${short(percentile(samples, 50) / percentile(base, 50))} (of the medians)`;
  const ratio = pairedRatio(samples, base);
  return ratio === null ? "–" : `×${short(ratio.p50)} (${short(ratio.p25)}–${short(ratio.p75)})`;
}

function short(value: number): string {
  return value < 100 ? value.toFixed(2) : value.toFixed(0);
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) => RIGHT.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!))
      .join("  ").trimEnd()
  );
}
