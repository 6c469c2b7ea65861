/**
 * Opening a log of a size: until it can be written, and until the agent that goes on with it asks the model.
 *
 * @module
 */
import {
  createAgent,
  createSession,
  type Model,
  openSession,
  type Session,
  type SessionStore,
  type StreamChunk,
} from "../mod.ts";
import type { Lane, LatencyCase, LogParser, Place } from "./bench_case.ts";
import { OURS } from "./flush_cases.ts";
import { makePayload } from "./payload.ts";
import { withoutSnapshots } from "./snapshot_cases.ts";

const SIZES: readonly number[] = [1000, 10_000, 100_000, 1_300_000];
/** From here on a case runs only when it is named. */
const LARGE_EVENTS = 1_000_000;
const EVENT_SIZE_BYTES = 230;
/** How many events one frame of the log holds, as a busy session writes them. */
const BATCH_EVENTS = 100;
const PAGE_EVENTS = 4000;

/** One case per number of events. */
export const openCases: readonly LatencyCase[] = SIZES.map((events) => ({
  kind: "latency",
  name: `open ${events} events`,
  unit: "ms",
  measure: "until ready",
  longRounds: { warmUpMax: 2, min: 5 },
  ...(events >= LARGE_EVENTS ? { isLarge: true as const } : {}),
  lanes(place) {
    // One log for all contestants: to write it takes longer than to open it.
    let made: Promise<Log> | null = null;
    const log = () => made ??= makeLog(place, events);
    return [openToWrite(log), firstRequest(log), parser(place.logParser, log)];
  },
  baseline: (place) => place.logParser.name,
}));

interface Log {
  readonly store: SessionStore;
  readonly id: string;
}

async function makeLog(place: Place, events: number): Promise<Log> {
  const store = withoutSnapshots(await place.openStore());
  const session = await createSession({ store, volatile: true });
  const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
  for (let written = 0; written < events; written++) {
    session.append(draft);
    if (written % BATCH_EVENTS === BATCH_EVENTS - 1) await session.flush();
  }
  await session.close();
  return { store, id: session.id };
}

/** Lock, read, every check of the format, the folds. Nothing is written before the next batch. */
function openToWrite(log: () => Promise<Log>): Lane {
  return {
    name: `${OURS}, open to write`,
    async prepare() {
      const { store, id } = await log();
      let session: Session | null = null;
      return {
        async round() {
          ({ session } = await openSession({ store, id }));
        },
        after: async () => await session?.close(),
        // The store belongs to all lanes. This one is closed first, and no round comes any more.
        close: () => store.close(),
      };
    },
  };
}

/** The same, and on to the instant in which the model is asked: the input and its barriers are durable by then. */
function firstRequest(log: () => Promise<Log>): Lane {
  return {
    name: `${OURS}, first request`,
    async prepare() {
      const { store, id } = await log();
      let end = async () => {};
      return {
        async round() {
          const asked = Promise.withResolvers<void>();
          const answered = Promise.withResolvers<void>();
          const model: Model = {
            provider: "bench",
            id: "bench",
            contextWindow: 1_000_000,
            async *stream(): AsyncGenerator<StreamChunk> {
              asked.resolve();
              await answered.promise;
              yield { type: "finish", reason: { kind: "stop" } };
            },
          };
          const session = await createAgent({ store, model }).resume(id, { volatile: true });
          const sent = session.send("go on");
          end = async () => {
            answered.resolve();
            await sent;
            await session.close();
          };
          await Promise.race([asked.promise, sent]);
        },
        after: () => end(),
        close() {},
      };
    },
  };
}

function parser(logParser: LogParser, log: () => Promise<Log>): Lane {
  return {
    name: logParser.name,
    async prepare() {
      const prepared = await logParser.prepare(partsOf(await log()));
      return {
        async round() {
          await prepared.parse();
        },
        close: () => prepared.close(),
      };
    },
  };
}

/** The rows of the log as they stand in it. */
async function* partsOf({ store, id }: Log): AsyncGenerator<string> {
  await using reader = await store.open(id, "read");
  for (let from: number | null = 0; from !== null;) {
    const { events, nextFrom } = await reader.read({ from, limit: PAGE_EVENTS });
    if (events.length > 0) yield events.map((event) => `${JSON.stringify(event)}\n`).join("");
    from = nextFrom;
  }
}
