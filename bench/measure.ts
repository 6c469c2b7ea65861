/**
 * Runs cases in one runtime: every lane once per round, so that whatever the machine does meets all of them.
 *
 * @module
 */
import type {
  BenchCase,
  Budget,
  CaseResult,
  Facts,
  LatencyCase,
  Place,
  PreparedLane,
  RuntimeResult,
  Series,
  StreamCase,
} from "./bench_case.ts";

/** Told what is going on, often. */
export type Report = (text: string) => void;

/**
 * Measures the cases one after another.
 *
 * @example
 * ```ts
 * import type { Place } from "./bench_case.ts";
 * import { BUDGET_QUICK } from "./bench_case.ts";
 * import { benchCases } from "./cases.ts";
 * import { measureAll } from "./measure.ts";
 *
 * async function medianFlush(place: Place): Promise<number> {
 *   const { cases } = await measureAll(benchCases, place, BUDGET_QUICK, console.error);
 *   return cases[0]!.series[0]!.samples.toSorted((a, b) => a - b)[15]!;
 * }
 * ```
 */
export async function measureAll(
  cases: readonly BenchCase[],
  place: Place,
  budget: Budget,
  report: Report,
): Promise<RuntimeResult> {
  const results: CaseResult[] = [];
  for (const [index, benchCase] of cases.entries()) {
    const tell = (text: string) =>
      report(`${place.runtime}: ${benchCase.name} (${index + 1} of ${cases.length}), ${text}`);
    const result = await measureOne(benchCase, place, budget, tell);
    if (result !== null) results.push(result);
  }
  return { runtime: place.runtime, medium: place.medium, absent: place.absent, cases: results };
}

async function measureOne(
  benchCase: BenchCase,
  place: Place,
  budget: Budget,
  tell: Report,
): Promise<CaseResult | null> {
  switch (benchCase.kind) {
    case "latency":
      return await measureLatency(benchCase, place, budget, tell);
    case "stream":
      return await measureStreams(benchCase, place, budget, tell);
    case "load":
      return await benchCase.run(place, budget, tell);
  }
}

async function measureLatency(
  benchCase: LatencyCase,
  place: Place,
  budget: Budget,
  tell: Report,
): Promise<CaseResult | null> {
  const { rounds, timeMaxMs } = budget;
  const { longRounds, measure = "until durable" } = benchCase;
  const warmUpRounds = Math.min(budget.warmUpRounds, longRounds?.warmUpMax ?? Infinity);
  const roundsMin = Math.min(rounds, longRounds?.min ?? 0);
  const contestants = benchCase.lanes(place);
  if (contestants.length === 0) return null;
  const facts: Record<string, number> = {};
  const lanes: { readonly name: string; readonly prepared: PreparedLane; readonly samples: number[] }[] = [];
  try {
    for (const lane of contestants) {
      tell(`preparing ${lane.name}`);
      lanes.push({ name: lane.name, prepared: await lane.prepare(place), samples: [] });
    }
    const endMs = place.nowMs() + timeMaxMs;
    for (let round = -warmUpRounds; round < rounds && (round < roundsMin || place.nowMs() < endMs); round++) {
      if (round % 10 === 0 || longRounds !== undefined) tell(`round ${Math.max(0, round)} of ${rounds}`);
      for (let turn = 0; turn < lanes.length; turn++) {
        // The first place goes around: who comes after a slow sync is another one each round.
        const { prepared, samples } = lanes[(turn + round + warmUpRounds) % lanes.length]!;
        const startMs = place.nowMs();
        const done = prepared.round();
        const ownMs = done instanceof Promise ? await done : done;
        if (round >= 0) samples.push(typeof ownMs === "number" ? ownMs : place.nowMs() - startMs);
        await prepared.after?.();
      }
    }
    for (const { name, prepared } of lanes) {
      for (const [fact, value] of Object.entries(await prepared.facts?.() ?? {} as Facts)) {
        facts[`${name}: ${fact}`] = value;
      }
    }
  } finally {
    for (const { prepared } of lanes) await prepared.close();
  }
  return {
    name: benchCase.name,
    baseline: benchCase.baseline(place),
    isPaired: true,
    series: lanes.map(({ name, samples }) => ({ lane: name, measure, unit: benchCase.unit, samples })),
    ...(Object.keys(facts).length > 0 ? { facts } : {}),
  };
}

async function measureStreams(
  benchCase: StreamCase,
  place: Place,
  { streams, streamMs }: Budget,
  tell: Report,
): Promise<CaseResult> {
  const lanes = benchCase.lanes(place).map((lane) => ({ lane, events: [] as number[], agesMs: [] as number[] }));
  const shape = { eventsPerSecond: benchCase.eventsPerSecond, durationMs: streamMs };
  for (let stream = 0; stream < streams; stream++) {
    for (const { lane, events, agesMs } of lanes) {
      tell(`stream ${stream + 1} of ${streams}, ${lane.name}`);
      const seen = await lane.stream(place, shape);
      for (const count of seen.eventsPerSync) events.push(count);
      for (const ageMs of seen.oldestAgeMs) agesMs.push(ageMs);
    }
  }
  const series = lanes.flatMap(({ lane, events, agesMs }): Series[] => [
    { lane: lane.name, measure: "events per sync", unit: "events", samples: events },
    { lane: lane.name, measure: "oldest at risk", unit: "ms", samples: agesMs },
  ]);
  return { name: benchCase.name, baseline: benchCase.baseline(place), isPaired: false, series };
}
