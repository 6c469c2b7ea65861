/**
 * Barrier latency of one store beside another: how long until what a barrier waits for is acknowledged.
 *
 * @module
 */
import { createSession } from "../mod.ts";
import type { Lane, LatencyCase, NamedStore } from "./bench_case.ts";
import { makePayload, type Payload } from "./payload.ts";

/** How the table calls the store that the others are compared with. */
export const JOURNAL = "journal";

/** A marker and the call before it are a few hundred bytes; a result beside them some thousand. */
const SIZES: readonly (readonly [name: string, sizeBytes: number])[] = [
  ["200 B", 200],
  ["4 KiB", 4096],
];

/** One case per size of what a barrier waits for. Where a runtime has the journal alone, it is alone. */
export const storeCases: readonly LatencyCase[] = SIZES.map(([size, sizeBytes]) => ({
  kind: "latency",
  name: `stores ${size}`,
  unit: "ms",
  lanes(place) {
    const payload = makePayload(sizeBytes);
    const journal: NamedStore = { name: JOURNAL, open: () => place.openStore() };
    return [journal, ...place.otherStores ?? []].map((store) => barrier(store, payload));
  },
  baseline: () => JOURNAL,
}));

/** What a barrier does: the events before it are appended, and it waits until they are durable. */
function barrier({ name, open }: NamedStore, { drafts }: Payload): Lane {
  return {
    name,
    async prepare() {
      const store = await open();
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
