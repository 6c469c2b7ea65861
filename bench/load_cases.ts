/**
 * Many sessions at once, a stream that lasts, and memory: what one batch after another does not show.
 *
 * @module
 */
import { createSession, openSession, type Session } from "../mod.ts";
import type { Budget, CaseResult, LoadCase, Place, RawWriter, Series } from "./bench_case.ts";
import { OURS } from "./flush_cases.ts";
import { makePayload } from "./payload.ts";
import { percentile } from "./statistics.ts";
import { stream } from "./batching_cases.ts";

const CONCURRENT_SESSIONS: readonly number[] = [1, 8, 64, 256];
/** Slices of each contestant, which alternate. */
const SLICES_PER_STREAM = 4;
const EVENT_SIZE_BYTES = 200;
/** A sustained stream is so many times as long as a stream of the batching cases: a minute of the usual budget. */
const SUSTAINED_FACTOR = 30;
const SUSTAINED_EVENTS_PER_SECOND = 10_000;
const WINDOW_MS = 200;
/** How many parts of a sustained stream are compared for growth. */
const PARTS = 3;
const MEMORY_EVENTS: readonly number[] = [10_000, 100_000, 1_300_000];
const MEMORY_BATCH_EVENTS = 100;
const LARGE_EVENTS = 1_000_000;

/** Each session appends an event, awaits its flush, and begins anew. */
export const concurrentCases: readonly LoadCase[] = CONCURRENT_SESSIONS.map((count) => ({
  kind: "load",
  name: `concurrent ${count} sessions`,
  async run(place, { streams, streamMs }, tell) {
    const writer = place.parallelWriter ?? place.rawWriters[0];
    const [ours, theirs] = [await openSessions(place, count), await openRaw(writer, count)];
    try {
      const slices = streams * SLICES_PER_STREAM;
      const sliceMs = streamMs / 2;
      const lanes = [{ name: OURS, flush: ours.flush }, { name: writer.name, flush: theirs.flush }]
        .map((lane) => ({ ...lane, perSecond: [] as number[], latenciesMs: [] as number[] }));
      for (let slice = -1; slice < slices; slice++) {
        tell(`slice ${Math.max(0, slice)} of ${slices}`);
        // Who is first goes around. The first slice warms up.
        for (const lane of slice % 2 === 0 ? lanes : lanes.toReversed()) {
          const seen = await together(place, count, slice < 0 ? sliceMs / 4 : sliceMs, lane.flush);
          if (slice < 0) continue;
          lane.perSecond.push(seen.perSecond);
          for (const latencyMs of seen.latenciesMs) lane.latenciesMs.push(latencyMs);
        }
      }
      const series = lanes.flatMap(({ name, perSecond, latenciesMs }): Series[] => [
        { lane: name, measure: "flushes", unit: "per second", samples: perSecond },
        { lane: name, measure: "until durable", unit: "ms", samples: latenciesMs },
      ]);
      const quotients = lanes[0]!.perSecond.map((value, slice) => value / lanes[1]!.perSecond[slice]!);
      const facts = { [`${OURS}: throughput to the baseline's`]: percentile(quotients, 50) };
      return { name: `concurrent ${count} sessions`, baseline: writer.name, isPaired: false, series, facts };
    } finally {
      await ours.close();
      await theirs.close();
    }
  },
}));

interface Opened {
  flush(index: number): void | Promise<void>;
  close(): Promise<void>;
}

async function openSessions(place: Place, count: number): Promise<Opened> {
  const store = await place.openStore();
  const sessions: Session[] = [];
  const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
  for (let index = 0; index < count; index++) sessions.push(await createSession({ store }));
  return {
    async flush(index) {
      sessions[index]!.append(draft);
      await sessions[index]!.flush();
    },
    async close() {
      for (const session of sessions) await session.close();
      await store.close();
    },
  };
}

async function openRaw(writer: RawWriter, count: number): Promise<Opened> {
  const { bytes } = makePayload(EVENT_SIZE_BYTES);
  const files: Awaited<ReturnType<RawWriter["open"]>>[] = [];
  for (let index = 0; index < count; index++) files.push(await writer.open());
  return {
    flush: (index) => files[index]!.write(bytes),
    async close() {
      for (const file of files) await file.close();
    },
  };
}

/** Everybody flushes again and again until the time is over. What is under way then is finished, and counts. */
async function together(place: Place, count: number, durationMs: number, flush: Opened["flush"]) {
  const latenciesMs: number[] = [];
  const startMs = place.nowMs();
  const endMs = startMs + durationMs;
  await Promise.all(Array.from({ length: count }, async (_, index) => {
    do {
      const beginMs = place.nowMs();
      await flush(index);
      latenciesMs.push(place.nowMs() - beginMs);
    } while (place.nowMs() < endMs);
  }));
  return { latenciesMs, perSecond: latenciesMs.length / ((place.nowMs() - startMs) / 1000) };
}

/** Nobody flushes, for a minute: what waits must not grow, and what is at risk must be what the window says. */
export const sustainedCase: LoadCase = {
  kind: "load",
  name: `sustained ${SUSTAINED_EVENTS_PER_SECOND}/s`,
  async run(place, { streamMs }, tell) {
    const durationMs = streamMs * SUSTAINED_FACTOR;
    const shape = { eventsPerSecond: SUSTAINED_EVENTS_PER_SECOND, durationMs };
    tell(`a stream of ${Math.round(durationMs / 1000)} s`);
    const pendingBytes: number[] = [];
    const residentBytes: number[] = [];
    const seen = await stream(place, shape, (session) => {
      pendingBytes.push(session.pendingSize);
      const resident = place.residentBytes?.();
      if (resident !== undefined) residentBytes.push(resident);
    });
    const series: Series[] = [
      { lane: OURS, measure: "events per sync", unit: "events", samples: seen.eventsPerSync },
      { lane: OURS, measure: "oldest at risk", unit: "ms", samples: seen.oldestAgeMs },
      { lane: OURS, measure: "between syncs", unit: "ms", samples: gaps(seen.syncStartsMs) },
      { lane: OURS, measure: "pending at a sync", unit: "bytes", samples: pendingBytes },
      { lane: OURS, measure: "resident memory", unit: "bytes", samples: residentBytes },
    ].filter(({ samples }) => samples.length > 0) as Series[];
    const facts = {
      [`${OURS}: most syncs begun in ${WINDOW_MS} ms`]: mostIn(seen.syncStartsMs, WINDOW_MS),
      [`${OURS}: pending, last third to first third`]: growth(pendingBytes),
      [`${OURS}: resident, last third to first third`]: growth(residentBytes),
      [`${OURS}: events of those that were due`]: seen.events / (durationMs / 1000 * SUSTAINED_EVENTS_PER_SECOND),
    };
    return { name: `sustained ${SUSTAINED_EVENTS_PER_SECOND}/s`, baseline: OURS, isPaired: false, series, facts };
  },
};

function gaps(instantsMs: readonly number[]): number[] {
  return instantsMs.slice(1).map((instant, index) => instant - instantsMs[index]!);
}

/**
 * The most instants that any window of this length holds, its end not included. Timers may be early by less than a millisecond
 * against this clock, which is allowed for.
 *
 * @example
 * ```ts
 * import { mostIn } from "./load_cases.ts";
 *
 * if (mostIn([0, 150, 360, 380, 390], 200) !== 3 || mostIn([0, 199.5], 200) !== 1) throw new Error("unreachable");
 * ```
 */
export function mostIn(instantsMs: readonly number[], windowMs: number): number {
  const EARLY_MS = 1;
  let most = 0;
  for (let first = 0, last = 0; last < instantsMs.length; last++) {
    while (instantsMs[last]! - instantsMs[first]! >= windowMs - EARLY_MS) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/**
 * The median of the last third, divided by that of the first; 1 when there is too little to say.
 *
 * @example
 * ```ts
 * import { growth } from "./load_cases.ts";
 *
 * if (growth([1, 1, 5, 5, 2, 2]) !== 2 || growth([1]) !== 1) throw new Error("unreachable");
 * ```
 */
export function growth(samples: readonly number[]): number {
  const third = Math.floor(samples.length / PARTS);
  if (third === 0) return 1;
  return percentile(samples.slice(-third), 50) / percentile(samples.slice(0, third), 50);
}

/** How much memory the process gains while a log is written, and while it is opened. */
export const memoryCases: readonly LoadCase[] = MEMORY_EVENTS.map((events) => ({
  kind: "load",
  name: `memory ${events} events`,
  ...(events >= LARGE_EVENTS ? { isLarge: true as const } : {}),
  async run(place: Place, _budget: Budget, tell: (text: string) => void): Promise<CaseResult | null> {
    const { residentBytes } = place;
    if (residentBytes === undefined) return null;
    const store = await place.openStore();
    const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
    const write: number[] = [];
    const open: number[] = [];
    const startBytes = residentBytes();
    const session = await createSession({ store, volatile: true });
    for (let written = 0; written < events; written++) {
      session.append(draft);
      if (written % MEMORY_BATCH_EVENTS !== MEMORY_BATCH_EVENTS - 1) continue;
      await session.flush();
      write.push(Math.max(0, residentBytes() - startBytes));
      if (write.length % 100 === 0) tell(`${written + 1} of ${events} events`);
    }
    await session.close();
    tell("opening");
    const openBytes = residentBytes();
    const opened = await openSession({ store, id: session.id });
    open.push(Math.max(0, residentBytes() - openBytes));
    await opened.session.close();
    await store.close();
    const series: Series[] = [
      { lane: `${OURS}, write`, measure: "resident memory gained", unit: "bytes", samples: write },
      { lane: `${OURS}, open`, measure: "resident memory gained", unit: "bytes", samples: open },
    ];
    return { name: `memory ${events} events`, baseline: `${OURS}, write`, isPaired: false, series };
  },
}));
