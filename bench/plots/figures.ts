/**
 * What is drawn, as data: the distribution of every case, and a curve for cases whose names differ in one number.
 *
 * @module
 */
import type { CaseResult, RuntimeResult, Series } from "../bench_case.ts";
import type { BenchDocument } from "../run.ts";
import { percentile } from "../statistics.ts";

/** One measurement among those that are compared. */
export interface ReportRun {
  /** How the report calls it: a file's name, `this browser`. */
  readonly label: string;
  readonly document: BenchDocument;
}

/** One line of a figure. */
export interface FigureLine {
  readonly label: string;
  /** Lines of one contestant have one colour, whatever the run. */
  readonly colour: number;
  /** Lines of one run have one pattern. */
  readonly run: number;
  readonly isBaseline: boolean;
  /** One value per x; null where this line has none. */
  readonly values: readonly (number | null)[];
}

/** A figure that uPlot can draw. */
export interface Figure {
  readonly kind: "distribution" | "growth";
  readonly title: string;
  /** One sentence for who cannot see it. */
  readonly summary: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Percentiles of a distribution; the sizes of a curve. */
  readonly xs: readonly number[];
  /** Whether the sizes are bytes. */
  readonly isBytes: boolean;
  readonly lines: readonly FigureLine[];
}

/** Percentiles a distribution is drawn at: the tail gets as much room as the middle. */
export const PERCENTS: readonly number[] = [
  ...Array.from({ length: 45 }, (_, index) => 1 + 2 * index),
  ...Array.from({ length: 18 }, (_, index) => 90 + index / 2),
  ...Array.from({ length: 10 }, (_, index) => 99 + index / 10),
];

/**
 * The distribution of one measure of one case, of every run that has it.
 *
 * @returns null when nobody has samples
 *
 * @example
 * ```ts
 * import { distribution } from "./figures.ts";
 *
 * const series = [{ lane: "raw", measure: "until durable", unit: "ms" as const, samples: [1, 2, 3] }];
 * const result = { name: "flush 200 B", baseline: "raw", isPaired: true, series };
 * if (distribution([{ run: 0, label: "", result }], "until durable")?.lines.length !== 1) throw new Error("unreachable");
 * ```
 */
export function distribution(
  results: readonly { readonly run: number; readonly label: string; readonly result: CaseResult }[],
  measure: string,
): Figure | null {
  const first = results[0]!.result;
  const lanes = lanesOf(results.map(({ result }) => result));
  const lines = results.flatMap(({ run, label, result }) =>
    result.series.filter((series) => series.measure === measure && series.samples.length > 0).map((series) => {
      const sorted = series.samples.toSorted((a, b) => a - b);
      return {
        label: label === "" ? series.lane : `${series.lane}, ${label}`,
        colour: lanes.indexOf(series.lane),
        run,
        isBaseline: series.lane === result.baseline,
        // A percentile that no sample stands for would be the maximum once more.
        values: PERCENTS.map((percent) =>
          (1 - percent / 100) * sorted.length < 1 && percent > 90
            ? null
            : sorted[Math.ceil((percent / 100) * sorted.length) - 1]!
        ),
      };
    })
  );
  if (lines.length === 0) return null;
  const unit = unitOf(results.flatMap(({ result }) => result.series), measure);
  const medians = lines.map(({ label, values }) => `${label} ${shown(values[PERCENTS.indexOf(51)]!)}`);
  return {
    kind: "distribution",
    title: `${first.name}: ${measure}`,
    summary: `Percentiles of ${measure} in ${unit}. About half of all are below: ${medians.join("; ")}.`,
    xLabel: "share of all, %",
    yLabel: unit,
    xs: PERCENTS,
    isBytes: false,
    lines,
  };
}

/** Cases whose names differ in one number only. */
export interface Family {
  /** The name with `N` for the number: `open N events`. */
  readonly name: string;
  readonly cases: readonly { readonly size: number; readonly name: string }[];
}

/** A number as it stands in a name, with the unit that multiplies it. */
const SIZE = /(?<![\w.])(\d+(?:\.\d+)?)(?:([kM])\b)?( KiB| MiB| B)?/;
const FACTORS: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, " KiB": 1024, " MiB": 1024 ** 2 };

/**
 * Groups the names of cases by what they have besides their number. A group of one has no curve and is left out.
 *
 * @example
 * ```ts
 * import { families } from "./figures.ts";
 *
 * const [family] = families(["flush 200 B", "flush 4 KiB", "codecs"]);
 * if (family?.name !== "flush N bytes" || family.cases[1]!.size !== 4096) throw new Error("unreachable");
 * ```
 */
export function families(names: readonly string[]): Family[] {
  const groups = new Map<string, { size: number; name: string }[]>();
  for (const name of new Set(names)) {
    const found = SIZE.exec(name);
    if (found === null) continue;
    const [text, number, letter = "", unit = ""] = found;
    const size = Number(number) * (FACTORS[letter] ?? 1) * (FACTORS[unit] ?? 1);
    const group = name.replace(text, unit === "" ? "N" : "N bytes");
    groups.set(group, [...groups.get(group) ?? [], { size, name }]);
  }
  return [...groups].filter(([, cases]) => cases.length > 1)
    .map(([name, cases]) => ({ name, cases: cases.toSorted((a, b) => a.size - b.size) }));
}

/**
 * The curve of one measure over a family: the median of each contestant at each size.
 *
 * @returns null when nobody has samples at two sizes
 *
 * @example
 * ```ts
 * import { growth } from "./figures.ts";
 *
 * const runtimes = [{ run: 0, label: "", result: { runtime: "Deno", medium: "files", absent: [], cases: [] } }];
 * if (growth(runtimes, { name: "open N events", cases: [] }, "until ready") !== null) throw new Error("unreachable");
 * ```
 */
export function growth(
  runtimes: readonly { readonly run: number; readonly label: string; readonly result: RuntimeResult }[],
  { name, cases }: Family,
  measure: string,
): Figure | null {
  const every = runtimes.flatMap(({ result }) =>
    result.cases.filter((one) => cases.some((each) => each.name === one.name))
  );
  const lanes = lanesOf(every);
  const lines = runtimes.flatMap(({ run, label, result }) =>
    lanes.map((lane, colour): FigureLine => ({
      label: label === "" ? lane : `${lane}, ${label}`,
      colour,
      run,
      isBaseline: every.some((one) => one.baseline === lane),
      values: cases.map((each) => {
        const series = result.cases.find((one) => one.name === each.name)?.series;
        const samples = series?.find((one) => one.lane === lane && one.measure === measure)?.samples ?? [];
        return samples.length === 0 ? null : percentile(samples, 50);
      }),
    }))
  ).filter(({ values }) => values.filter((value) => value !== null).length > 1);
  if (lines.length === 0) return null;
  const unit = unitOf(every.flatMap(({ series }) => series), measure);
  const ends = lines.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    return `${label} from ${shown(known[0]!)} to ${shown(known.at(-1)!)}`;
  });
  return {
    kind: "growth",
    title: `${name}: ${measure}, median`,
    summary: `Median of ${measure} in ${unit}, from the smallest size to the largest: ${ends.join("; ")}.`,
    xLabel: "N",
    yLabel: unit,
    xs: cases.map(({ size }) => size),
    isBytes: name.includes("N bytes"),
    lines,
  };
}

/** The names of all contestants, in the order in which they come. */
export function lanesOf(results: readonly CaseResult[]): string[] {
  return [...new Set(results.flatMap(({ series }) => series.map(({ lane }) => lane)))];
}

/** The measures of a case, in the order in which they come. */
export function measuresOf(results: readonly CaseResult[]): string[] {
  return [...new Set(results.flatMap(({ series }) => series.map(({ measure }) => measure)))];
}

/** A figure as a person reads it: three digits that count. */
export function shown(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : size >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function unitOf(series: readonly Series[], measure: string): string {
  return series.find((one) => one.measure === measure)?.unit ?? "";
}
