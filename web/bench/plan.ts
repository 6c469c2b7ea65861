/**
 * What the page measures: cases of the benchmark, made to fit a clock that a browser has made coarse.
 *
 * @module
 */
import { batchingCases } from "../../bench/batching_cases.ts";
import type { BenchCase, Budget, Lane, LatencyCase } from "../../bench/bench_case.ts";
import { flushCases } from "../../bench/flush_cases.ts";
import { openCases } from "../../bench/open_cases.ts";
import { TWIN } from "../../bench/plots/view.ts";

/** A clock with finer steps than this is good enough for a single flush. */
const FINE_STEP_MS = 0.02;
/** How many flushes are timed as one where it is not. */
const BATCH_FLUSHES = 50;
const STREAMS_PER_SECOND: readonly number[] = [100, 1000];
const OPEN_EVENTS_MAX = 10_000;

/** How much is measured. */
export interface Plan {
  readonly batchFlushes: number;
  readonly parts: readonly { readonly cases: readonly BenchCase[]; readonly budget: Budget }[];
}

/**
 * The plan for a clock.
 *
 * @param isShort a look at whether it works; its figures are not worth quoting
 *
 * @example
 * ```ts
 * import { planFor } from "./plan.ts";
 *
 * if (planFor(0.1, false).batchFlushes !== 50 || planFor(0.005, false).batchFlushes !== 1) throw new Error("unreachable");
 * ```
 */
export function planFor(clockStepMs: number, isShort: boolean): Plan {
  const isFine = clockStepMs > 0 && clockStepMs <= FINE_STEP_MS;
  const batchFlushes = isFine ? 1 : isShort ? 5 : BATCH_FLUSHES;
  const flushes = (isShort ? flushCases.slice(0, 2) : flushCases).map((one) => batched(one, batchFlushes));
  const streams = batchingCases.filter(({ eventsPerSecond }) => STREAMS_PER_SECOND.includes(eventsPerSecond));
  const opens = openCases.filter(({ name }) => Number(name.split(" ")[1]) <= (isShort ? 1000 : OPEN_EVENTS_MAX));
  if (isShort) {
    const budget: Budget = { warmUpRounds: 1, rounds: 4, timeMaxMs: 1500, streams: 1, streamMs: 300 };
    return { batchFlushes, parts: [{ cases: [...flushes, ...streams.slice(0, 1), ...opens], budget }] };
  }
  const warmUpRounds = isFine ? 20 : 2;
  const rounds = isFine ? 500 : 60;
  return {
    batchFlushes,
    parts: [
      { cases: flushes, budget: { warmUpRounds, rounds, timeMaxMs: 18_000, streams: 1, streamMs: 0 } },
      { cases: streams, budget: { warmUpRounds: 0, rounds: 0, timeMaxMs: 0, streams: 2, streamMs: 1500 } },
      { cases: opens, budget: { warmUpRounds: 2, rounds: 30, timeMaxMs: 8000, streams: 1, streamMs: 0 } },
    ],
  };
}

/** The same case with the baseline a second time, and with many flushes timed as one. */
function batched(benchCase: LatencyCase, flushes: number): LatencyCase {
  return {
    ...benchCase,
    measure: flushes === 1 ? "until durable" : `until durable, mean of ${flushes}`,
    lanes(place) {
      const lanes = benchCase.lanes(place);
      const baseline = lanes.find(({ name }) => name === benchCase.baseline(place))!;
      return [...lanes, { ...baseline, name: TWIN }].map((lane) => repeated(lane, flushes));
    },
  };
}

function repeated(lane: Lane, flushes: number): Lane {
  if (flushes === 1) return lane;
  return {
    name: lane.name,
    async prepare(place) {
      const prepared = await lane.prepare(place);
      return {
        ...prepared,
        async round() {
          const startMs = place.nowMs();
          for (let flush = 0; flush < flushes; flush++) {
            const done = prepared.round();
            if (done instanceof Promise) await done;
          }
          return (place.nowMs() - startMs) / flushes;
        },
      };
    },
  };
}
