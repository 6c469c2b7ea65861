/**
 * The barrier: a batch of six events, as a step of an agent leaves them, against a program in C that appends as many bytes and
 * syncs them.
 *
 * @module
 */
import { createSession } from "../mod.ts";
import type { Facts, Lane, LatencyCase, Place } from "./bench_case.ts";
import { native, OURS, raw } from "./flush_cases.ts";
import { makeBatch, type Payload } from "./payload.ts";

/** What a barrier carries, and how long its rows are. */
const BATCH_EVENTS = 6;
const ROW_SIZE_BYTES = 120;

/** One case per encoding. The ratio is taken against the C program where there is a compiler, else against the runtime itself. */
export const barrierCases: readonly LatencyCase[] = (["none", "zstd"] as const).map((compression) => ({
  kind: "latency",
  name: `barrier ${compression}`,
  unit: "ms",
  lanes(place) {
    if (compression === "none" && place.hasUncompressed !== true) return [];
    const batch = makeBatch(BATCH_EVENTS, ROW_SIZE_BYTES);
    return [
      barrier(batch, compression, false),
      barrier(batch, compression, true),
      raw(place.rawWriters[0], batch.bytes),
      ...(place.nativeWriter === undefined ? [] : [native(place.nativeWriter, batch.bytes)]),
    ];
  },
  baseline: (place) => place.nativeWriter?.name ?? place.rawWriters[0].name,
}));

/**
 * From the call of `flush()` to its acknowledgement; `withAppends` the six appends in memory too, with their checks and folds.
 */
function barrier(batch: Payload, compression: "zstd" | "none", withAppends: boolean): Lane {
  return {
    name: withAppends ? `${OURS}, append and flush` : `${OURS}, flush`,
    async prepare(place: Place) {
      const store = await place.openStore(compression === "none" ? { compression } : {});
      const session = await createSession({ store });
      const sizeBytes = async () => (await store.stat(session.id))?.sizeBytes ?? 0;
      let rounds = 0;
      let startBytes = 0;
      return {
        async round() {
          const appendMs = place.nowMs();
          for (const draft of batch.drafts) session.append(draft);
          const flushMs = place.nowMs();
          await session.flush();
          const endMs = place.nowMs();
          if (rounds++ === 0) startBytes = await sizeBytes();
          return endMs - (withAppends ? appendMs : flushMs);
        },
        async facts(): Promise<Facts> {
          if (withAppends || rounds < 2) return {};
          const perRound = (await sizeBytes() - startBytes) / (rounds - 1);
          return { "log bytes per raw byte": perRound / batch.bytes.length };
        },
        async close() {
          await session.close();
          await store.close();
        },
      };
    },
  };
}
