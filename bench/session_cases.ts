/**
 * What a program does with sessions beside flushing them: publish, list, append in memory, repair; and the codec by itself.
 *
 * @module
 */
import { createSession, openSession, type Session } from "../mod.ts";
import type { BenchCodec, Facts, Lane, LatencyCase, Place, PlantedSessions } from "./bench_case.ts";
import { OURS, raw } from "./flush_cases.ts";
import { makeBatch, makePayload } from "./payload.ts";

const LISTED_SESSIONS: readonly number[] = [10, 100, 1000, 10_000];
/** Events of each session that is listed. */
const LISTED_EVENTS = 20;
const APPENDED_EVENTS = 1000;
const EVENT_SIZE_BYTES = 200;
/** How much of a log listing may read. */
export const LIST_READ_BYTES_MAX = 65_536;

/** The first flush of a session, which gives its log a name. */
export const publishCase: LatencyCase = {
  kind: "latency",
  name: "publish",
  unit: "ms",
  lanes(place) {
    const { bytes } = makePayload(EVENT_SIZE_BYTES);
    const { publisher } = place;
    const theirs: Lane[] = publisher === undefined ? [] : [{
      name: publisher.name,
      prepare: () => Promise.resolve({ round: () => publisher.publish(bytes), close() {} }),
    }];
    return [publishing, ...theirs, raw(place.rawWriters[0], bytes)];
  },
  baseline: (place) => place.publisher?.name ?? place.rawWriters[0].name,
};

const publishing: Lane = {
  name: OURS,
  async prepare(place) {
    const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
    const store = await place.openStore();
    let session: Session | null = null;
    return {
      async round() {
        session = await createSession({ store });
        session.append(draft);
        await session.flush();
      },
      after: async () => await session?.close(),
      close: () => store.close(),
    };
  },
};

/** One case per number of sessions, all of them small. */
export const listCases: readonly LatencyCase[] = LISTED_SESSIONS.map((count) => ({
  kind: "latency",
  name: `list ${count} sessions`,
  unit: "ms",
  measure: "until listed",
  longRounds: { warmUpMax: 2, min: 5 },
  lanes(place) {
    if (place.plantSessions === undefined) return [];
    let planted: Promise<PlantedSessions> | null = null;
    const plant = () => planted ??= plantSmall(place, count);
    return [listing(plant, count), reading(plant)];
  },
  baseline: () => READER,
}));

const READER = "readdir + open + read";

async function plantSmall(place: Place, count: number): Promise<PlantedSessions> {
  const store = await place.openStore();
  const session = await createSession({ store });
  const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
  for (let event = 0; event < LISTED_EVENTS; event++) session.append(draft);
  await session.flush();
  await session.close();
  const planted = await place.plantSessions!(count, { store, id: session.id });
  await store.close();
  return planted;
}

function listing(plant: () => Promise<PlantedSessions>, count: number): Lane {
  return {
    name: OURS,
    async prepare(place) {
      const { store, close } = await plant();
      let readBytes: number | null = null;
      return {
        async round() {
          const before = place.bytesRead?.() ?? null;
          let rows = 0;
          for await (const row of store.list()) {
            if (row.state === "ok") rows++;
          }
          if (rows !== count) throw new Error(`Cannot list: ${rows} of ${count} sessions are whole`);
          if (before !== null) readBytes = place.bytesRead!()! - before;
        },
        facts: () => {
          const facts: Facts = readBytes === null ? {} : { "bytes read per session": readBytes / count };
          return Promise.resolve(facts);
        },
        close,
      };
    },
  };
}

function reading(plant: () => Promise<PlantedSessions>): Lane {
  return {
    name: READER,
    async prepare() {
      const { readAll } = await plant();
      return {
        async round() {
          if (await readAll() === 0) throw new Error("Cannot read the logs: there are none");
        },
        close() {},
      };
    },
  };
}

/** A thousand appends: checks, folds, no medium. The baseline turns the same events into text and back. */
export const appendCase: LatencyCase = {
  kind: "latency",
  name: `append ${APPENDED_EVENTS} in memory`,
  unit: "ms",
  measure: "until appended",
  longRounds: { warmUpMax: 20, min: 5 },
  lanes: () => [appending, copying],
  baseline: () => copying.name,
};

const appending: Lane = {
  name: OURS,
  async prepare(place) {
    const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
    const store = await place.openStore();
    const session = await createSession({ store });
    return {
      round() {
        for (let event = 0; event < APPENDED_EVENTS; event++) session.append(draft);
      },
      after: async () => void await session.flush(),
      async close() {
        await session.close();
        await store.close();
      },
    };
  },
};

const copying: Lane = {
  name: "JSON.stringify + JSON.parse",
  prepare() {
    const draft = makePayload(EVENT_SIZE_BYTES).drafts[0]!;
    let sizeUnits = 0;
    return Promise.resolve({
      round() {
        for (let seq = 0; seq < APPENDED_EVENTS; seq++) {
          const text = JSON.stringify({ ...draft, seq, time: 1_700_000_000_000 });
          sizeUnits += text.length + Object.keys(JSON.parse(text)).length;
        }
        if (sizeUnits === 0) throw new Error("Cannot copy events: nothing came out");
      },
      close() {},
    });
  },
};

/** One frame to bytes and back, for a barrier's batch and for 64 KiB. */
export const codecCases: readonly LatencyCase[] = ([["6 events", 720], ["64 KiB", 65_536]] as const).flatMap((
  [name, sizeBytes],
) =>
  (["compress", "decompress"] as const).map((direction): LatencyCase => ({
    kind: "latency",
    name: `codec ${name}, ${direction}`,
    unit: "ms",
    measure: `until ${direction}ed`,
    lanes: (place) =>
      (place.codecs ?? []).map((codec) => {
        const { bytes } = sizeBytes < 1000 ? makeBatch(6, sizeBytes / 6) : makePayload(sizeBytes);
        return coding(codec, direction, bytes);
      }),
    baseline: (place) => place.codecs?.[0]?.name ?? "",
  }))
);

/** So many in a round, because one takes less than the steps of some clocks. */
const CODED_PER_ROUND = 20;

function coding(codec: BenchCodec, direction: "compress" | "decompress", plain: Uint8Array<ArrayBuffer>): Lane {
  return {
    name: codec.name,
    prepare(place) {
      const frame = codec.compress(plain);
      return Promise.resolve({
        round() {
          const startMs = place.nowMs();
          for (let count = 0; count < CODED_PER_ROUND; count++) {
            if (direction === "compress") codec.compress(plain);
            else codec.decompress(frame);
          }
          return (place.nowMs() - startMs) / CODED_PER_ROUND;
        },
        facts: () => Promise.resolve({ "frame bytes per raw byte": frame.length / plain.length }),
        close() {},
      });
    },
  };
}

/** Opening a session whose last turn was cut off: the closers are durable when it is open. */
export const repairCase: LatencyCase = {
  kind: "latency",
  name: "repair a cut-off turn",
  unit: "ms",
  measure: "until open",
  longRounds: { warmUpMax: 10, min: 5 },
  lanes: (place) => [repairing, raw(place.rawWriters[0], makePayload(EVENT_SIZE_BYTES).bytes)],
  baseline: (place) => place.rawWriters[0].name,
};

const repairing: Lane = {
  name: OURS,
  async prepare(place) {
    const store = await place.openStore();
    let session = await createSession({ store });
    let turn = 1;
    const cutOff = async () => {
      session.append({ type: "turn/start", data: { turn: turn++ } });
      await session.flush();
      await session.close();
    };
    await cutOff();
    return {
      async round() {
        ({ session } = await openSession({ store, id: session.id }));
        await session.flush();
      },
      after: cutOff,
      close: () => store.close(),
    };
  },
};
