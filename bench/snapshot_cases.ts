/**
 * Opening a long log by the snapshot beside it, next to a short log that is read whole: what a history costs who goes on with it.
 *
 * @module
 */
import { createSession, type OpenOptions, openSession, type Session, type SessionStore } from "../mod.ts";
import type { Lane, LatencyCase, Place } from "./bench_case.ts";
import { OURS } from "./flush_cases.ts";
import { makePayload } from "./payload.ts";

/** The log that others are compared with. */
const SHORT_EVENTS = 10_000;
const SIZES: readonly number[] = [1000, 10_000, 100_000, 1_300_000];
/** From here on a case runs only when it is named. */
const LARGE_EVENTS = 1_000_000;
const EVENT_SIZE_BYTES = 230;
const BATCH_EVENTS = 100;
/** What the model sees after a compaction: so many messages, a megabyte together. */
const SURFACE_MESSAGES = 500;
const MESSAGE_UNITS = 2000;

/** One case per number of events. */
export const snapshotCases: readonly LatencyCase[] = SIZES.map((events) => ({
  kind: "latency",
  name: `snapshot ${events} events`,
  unit: "ms",
  measure: "until ready",
  longRounds: { warmUpMax: 2, min: 5 },
  ...(events >= LARGE_EVENTS ? { isLarge: true as const } : {}),
  lanes(place) {
    let short: Promise<Log> | null = null;
    let long: Promise<Log> | null = null;
    return [
      opening(wholeName(SHORT_EVENTS), () => short ??= makeLog(place, SHORT_EVENTS), withoutSnapshots),
      opening(`${OURS}, ${events} events by snapshot`, () => long ??= makeLog(place, events), (store) => store),
    ];
  },
  baseline: () => wholeName(SHORT_EVENTS),
}));

interface Log {
  readonly store: SessionStore;
  readonly id: string;
}

function wholeName(events: number): string {
  return `${OURS}, ${events} events read whole`;
}

/** A store whose logs are always read from the beginning. */
export function withoutSnapshots(store: SessionStore): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === "open") {
        return (id: string, mode: "write", options?: OpenOptions) =>
          target.open(id, mode, { ...options, restore: undefined });
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function makeLog(place: Place, events: number): Promise<Log> {
  const store = await place.openStore();
  const session = await createSession({ store, volatile: true });
  const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
  const messagesFrom = Math.max(0, events - SURFACE_MESSAGES);
  for (let written = 0; written < events; written++) {
    session.append(written < messagesFrom ? draft : messageOf(written));
    if (written % BATCH_EVENTS === BATCH_EVENTS - 1) await session.flush();
  }
  await session.close();
  return { store, id: session.id };
}

function messageOf(number: number): Parameters<Session["append"]>[0] {
  const content = [{ type: "text" as const, text: `${number} `.padEnd(MESSAGE_UNITS, "of what was said before ") }];
  const data = { id: `m${number}`, role: "user" as const, content, source: { kind: "user" as const } };
  return { type: "user/message", data, surfaceOp: "append" };
}

/** Lock, read, every check that the way of opening makes, the folds. */
function opening(name: string, log: () => Promise<Log>, through: (store: SessionStore) => SessionStore): Lane {
  return {
    name,
    async prepare() {
      const { store, id } = await log();
      const used = through(store);
      let session: Session | null = null;
      return {
        async round() {
          ({ session } = await openSession({ store: used, id }));
        },
        after: async () => await session?.close(),
        close: () => store.close(),
      };
    },
  };
}
