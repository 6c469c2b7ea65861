/**
 * Batching: how many events one sync carries when they come at a steady pace and nobody flushes, and how old the oldest of them
 * is when it becomes durable. That age is what a power cut would have taken.
 *
 * @module
 */
import { createSession, type LogWriter, type Session, type SessionEvent, type SessionStore } from "../mod.ts";
import type { Place, RawWriter, StreamCase, StreamLane, StreamSeen, StreamShape } from "./bench_case.ts";
import { OURS } from "./flush_cases.ts";
import { makePayload } from "./payload.ts";

const EVENTS_PER_SECOND: readonly number[] = [10, 100, 1000, 10_000];
const EVENT_SIZE_BYTES = 200;
/** How often events that are due are handed over. A faster stream hands over several at once. */
const TICK_MS = 4;
/** How long the write-behind may take after the last event before the stream counts as failed. */
const DRAIN_MS_MAX = 10_000;

/** One case per pace. The baseline syncs every event on its own. */
export const batchingCases: readonly StreamCase[] = EVENTS_PER_SECOND.map((eventsPerSecond) => ({
  kind: "stream",
  name: `batching ${eventsPerSecond}/s`,
  eventsPerSecond,
  lanes: (place) => [ours, raw(place.rawWriters[0])],
  baseline: (place) => place.rawWriters[0].name,
}));

const ours: StreamLane = { name: OURS, stream: (place, shape) => stream(place, shape) };

/** What a stream of ours showed. */
export interface OwnStreamSeen extends StreamSeen {
  /** When each write to the store began. */
  readonly syncStartsMs: readonly number[];
  /** How many events were appended. */
  readonly events: number;
}

/**
 * Appends events at a steady pace to a session that nobody flushes, and waits until the last of them is durable.
 *
 * @param acknowledged called after every sync
 *
 * @example
 * ```ts
 * import type { Place } from "./bench_case.ts";
 * import { stream } from "./batching_cases.ts";
 *
 * async function largestBatch(place: Place): Promise<number> {
 *   const { eventsPerSync } = await stream(place, { eventsPerSecond: 100, durationMs: 1000 });
 *   return Math.max(...eventsPerSync);
 * }
 * ```
 */
export async function stream(
  place: Place,
  shape: StreamShape,
  acknowledged: (session: Session) => void = () => {},
): Promise<OwnStreamSeen> {
  const seen = { eventsPerSync: [] as number[], oldestAgeMs: [] as number[], syncStartsMs: [] as number[], events: 0 };
  const dueMs: number[] = [];
  const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
  const store = await place.openStore();
  // A sequence number is not an index here: `checkpoint/policy` may come before the first event of ours.
  let firstSeq: number | null = null;
  let durableSeq = -1;
  const session: Session = await createSession({
    store: watched(store, () => seen.syncStartsMs.push(place.nowMs()), (events) => {
      const notes = events.filter((event) => event.type === draft.type);
      durableSeq = events.at(-1)!.seq;
      if (notes.length > 0) {
        seen.eventsPerSync.push(notes.length);
        seen.oldestAgeMs.push(place.nowMs() - dueMs[notes[0]!.seq - firstSeq!]!);
      }
      acknowledged(session);
    }),
  });
  try {
    await paced(place, shape, (due) => {
      dueMs.push(due);
      const { seq } = session.append(draft);
      seen.events++;
      firstSeq ??= seq;
    });
    // Nobody flushes: the last batch waits for its window as the others did.
    const lateMs = place.nowMs() + DRAIN_MS_MAX;
    while (durableSeq < session.nextSeq - 1) {
      if (place.nowMs() > lateMs) throw new Error(`Cannot end the stream: durable through ${durableSeq} only`);
      await place.sleep(TICK_MS);
    }
  } finally {
    await session.close();
    await store.close();
  }
  return seen;
}

function raw(writer: RawWriter): StreamLane {
  return {
    name: writer.name,
    async stream(place, shape) {
      const seen = { eventsPerSync: [] as number[], oldestAgeMs: [] as number[] };
      const { bytes } = makePayload(EVENT_SIZE_BYTES);
      const open = await writer.open();
      try {
        await paced(place, shape, async (due) => {
          const written = open.write(bytes);
          if (written !== undefined) await written;
          seen.eventsPerSync.push(1);
          seen.oldestAgeMs.push(place.nowMs() - due);
        });
      } finally {
        await open.close();
      }
      return seen satisfies StreamSeen;
    },
  };
}

/** Calls `next` once per event with the instant it was due. Events that are still due when the time is over are dropped. */
async function paced(
  place: Place,
  { eventsPerSecond, durationMs }: StreamShape,
  next: (dueMs: number) => void | Promise<void>,
): Promise<void> {
  const startMs = place.nowMs();
  const everyMs = 1000 / eventsPerSecond;
  for (let index = 0; index * everyMs < durationMs;) {
    const dueMs = startMs + index * everyMs;
    const nowMs = place.nowMs();
    if (nowMs >= startMs + durationMs) return;
    if (nowMs < dueMs) {
      await place.sleep(Math.max(TICK_MS, dueMs - nowMs));
      continue;
    }
    const handed = next(dueMs);
    if (handed !== undefined) await handed;
    index++;
  }
}

/** The same store, telling of every batch that was acknowledged. One append of a log is one frame and one sync. */
function watched(
  store: SessionStore,
  begun: () => void,
  acknowledged: (events: readonly SessionEvent[]) => void,
): SessionStore {
  return new Proxy(store, {
    get(target, key) {
      if (key !== "create") return bound(target, key);
      return async (...args: Parameters<SessionStore["create"]>) =>
        watchedLog(await target.create(...args), begun, acknowledged);
    },
  });
}

function watchedLog(
  log: LogWriter,
  begun: () => void,
  acknowledged: (events: readonly SessionEvent[]) => void,
): LogWriter {
  return new Proxy(log, {
    get(target, key) {
      if (key !== "append") return bound(target, key);
      return async (...args: Parameters<LogWriter["append"]>) => {
        begun();
        const seq = await target.append(...args);
        acknowledged(args[0]);
        return seq;
      };
    },
  });
}

function bound(target: object, key: string | symbol): unknown {
  const value = Reflect.get(target, key, target);
  return typeof value === "function" ? value.bind(target) : value;
}
