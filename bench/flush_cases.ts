/**
 * Flush latency: how long from the first append of a batch until all of it is acknowledged as durable.
 *
 * @module
 */
import { createSession } from "../mod.ts";
import type { Lane, LatencyCase, NativeWriter, Place, RawWriter } from "./bench_case.ts";
import { makePayload, type Payload } from "./payload.ts";

/** How the table calls what we measure. */
export const OURS = "holdfast";

const SIZES: readonly (readonly [name: string, sizeBytes: number])[] = [
  ["200 B", 200],
  ["4 KiB", 4096],
  ["64 KiB", 65_536],
];

/** One case per size of a batch. */
export const flushCases: readonly LatencyCase[] = SIZES.map(([size, sizeBytes]) => ({
  kind: "latency",
  name: `flush ${size}`,
  unit: "ms",
  lanes(place) {
    const payload = makePayload(sizeBytes);
    return [
      ours(payload),
      ...place.rawWriters.map((writer) => raw(writer, payload.bytes)),
      ...(place.nativeWriter === undefined ? [] : [native(place.nativeWriter, payload.bytes)]),
    ];
  },
  baseline: (place) => place.rawWriters[0].name,
}));

/** The whole way of an event: checks, folds, write-behind, frame, the medium's sync, the acknowledgement. */
function ours({ drafts }: Payload): Lane {
  return {
    name: OURS,
    async prepare(place: Place) {
      const store = await place.openStore();
      const session = await createSession({ store });
      return {
        async round() {
          for (const draft of drafts) session.append(draft);
          await session.flush();
        },
        async close() {
          await session.close();
          await store.close();
        },
      };
    },
  };
}

/** A raw writer as a contestant. */
export function raw(writer: RawWriter, bytes: Uint8Array<ArrayBuffer>): Lane {
  return {
    name: writer.name,
    async prepare() {
      const open = await writer.open();
      return { round: () => open.write(bytes), close: () => open.close() };
    },
  };
}

/** A program of its own as a contestant. */
export function native(writer: NativeWriter, bytes: Uint8Array<ArrayBuffer>): Lane {
  return {
    name: writer.name,
    async prepare() {
      const open = await writer.open(bytes);
      return { round: () => open.append(), close: () => open.close() };
    },
  };
}
