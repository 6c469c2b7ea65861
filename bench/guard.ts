/**
 * The ratios that must hold: what a change that makes us slower is caught by. Not a test: figures of a busy machine prove nothing.
 *
 * @module
 */
import type { CaseResult, RuntimeResult, Series } from "./bench_case.ts";
import { OURS } from "./flush_cases.ts";
import { LIST_READ_BYTES_MAX } from "./session_cases.ts";
import { pairedRatio, percentile } from "./statistics.ts";

/** One ratio and its limit. */
export interface GuardLine {
  readonly name: string;
  /** `null` when the run does not hold it: then it is not met. */
  readonly value: number | null;
  readonly limit: number;
  /** Whether the value may be at most the limit, or must be at least. */
  readonly bound: "at most" | "at least";
  readonly isMet: boolean;
}

interface Rule {
  readonly name: string;
  readonly caseName: string;
  readonly limit: number;
  readonly bound: GuardLine["bound"];
  read(result: CaseResult): number | null;
}

/** How much longer than its window the oldest event of half of all batches may be at risk: the write and its sync. */
const WINDOW_AND_SYNC_MS = 230;
/** What counts as growth of what waits: batches of one pace differ by the timer's steps. */
const GROWTH_MAX = 1.2;

const RULES: readonly Rule[] = [
  {
    name: "barrier, compression none: median to a C program's",
    caseName: "barrier none",
    limit: 1.25,
    bound: "at most",
    read: (result) => ratioOf(result, `${OURS}, flush`),
  },
  {
    name: "barrier, zstd: median to a C program's",
    caseName: "barrier zstd",
    limit: 1.6,
    bound: "at most",
    read: (result) => ratioOf(result, `${OURS}, flush`),
  },
  {
    name: "barrier, zstd: log bytes per raw byte",
    caseName: "barrier zstd",
    limit: 0.55,
    bound: "at most",
    read: (result) => result.facts?.[`${OURS}, flush: log bytes per raw byte`] ?? null,
  },
  ...[1, 8, 64, 256].map((count): Rule => ({
    name: `${count} sessions at once: throughput to raw parallel write + fdatasync`,
    caseName: `concurrent ${count} sessions`,
    limit: 0.8,
    bound: "at least",
    read: (result) => result.facts?.[`${OURS}: throughput to the baseline's`] ?? null,
  })),
  {
    name: "list of 10,000 sessions: bytes read of each",
    caseName: "list 10000 sessions",
    limit: LIST_READ_BYTES_MAX,
    bound: "at most",
    read: (result) => result.facts?.[`${OURS}: bytes read per session`] ?? null,
  },
  {
    name: "list of 10,000 sessions: median to readdir + open + read",
    caseName: "list 10000 sessions",
    limit: 1.5,
    bound: "at most",
    read: (result) => ratioOf(result, OURS),
  },
  {
    name: "sustained 10,000 events/s: most syncs in 200 ms",
    caseName: "sustained 10000/s",
    limit: 1,
    bound: "at most",
    read: (result) => result.facts?.[`${OURS}: most syncs begun in 200 ms`] ?? null,
  },
  {
    name: "sustained 10,000 events/s: pending, last third to first",
    caseName: "sustained 10000/s",
    limit: GROWTH_MAX,
    bound: "at most",
    read: (result) => result.facts?.[`${OURS}: pending, last third to first third`] ?? null,
  },
  {
    name: "sustained 10,000 events/s: median age of the oldest at risk, ms",
    caseName: "sustained 10000/s",
    limit: WINDOW_AND_SYNC_MS,
    bound: "at most",
    read: (result) => {
      const samples = seriesOf(result, OURS, "oldest at risk")?.samples ?? [];
      return samples.length === 0 ? null : percentile(samples, 50);
    },
  },
];

/** The cases that the guard needs. */
export const guardCases: readonly string[] = [...new Set(RULES.map(({ caseName }) => caseName))];

/**
 * Holds one runtime's figures against the limits.
 *
 * @param caseNames only rules of these cases; default all
 *
 * @example
 * ```ts
 * import { judge } from "./guard.ts";
 *
 * const lines = judge({ runtime: "Deno", medium: "files", absent: [], cases: [] }, ["barrier none"]);
 * if (lines.length !== 1 || lines[0]!.isMet) throw new Error("unreachable");
 * ```
 */
export function judge(result: RuntimeResult, caseNames: readonly string[] = guardCases): GuardLine[] {
  return RULES.filter(({ caseName }) => caseNames.includes(caseName)).map(({ name, caseName, limit, bound, read }) => {
    const found = result.cases.find((each) => each.name === caseName);
    const value = found === undefined ? null : read(found);
    return {
      name,
      value,
      limit,
      bound,
      isMet: value !== null && (bound === "at most" ? value <= limit : value >= limit),
    };
  });
}

/**
 * A line for a person.
 *
 * @example
 * ```ts
 * import { guardText } from "./guard.ts";
 *
 * const text = guardText({ name: "a", value: 2, limit: 1, bound: "at most", isMet: false });
 * if (text !== "MISSED  a: 2, wanted at most 1") throw new Error("unreachable");
 * ```
 */
export function guardText({ name, value, limit, bound, isMet }: GuardLine): string {
  const found = value === null ? "not measured" : String(Number(value.toPrecision(4)));
  return `${isMet ? "met   " : "MISSED"}  ${name}: ${found}, wanted ${bound} ${limit}`;
}

function ratioOf(result: CaseResult, lane: string): number | null {
  const ours = result.series.find((each) => each.lane === lane);
  const base = result.series.find((each) => each.lane === result.baseline && each.measure === ours?.measure);
  return ours === undefined || base === undefined ? null : pairedRatio(ours.samples, base.samples)?.p50 ?? null;
}

function seriesOf(result: CaseResult, lane: string, measure: string): Series | undefined {
  return result.series.find((each) => each.lane === lane && each.measure === measure);
}
