/**
 * A migration under crashes, with more states of each moment.
 *
 * @module
 */
import { sweepMigration } from "./crash_sweep.ts";

for (const kind of ["posix", "opfs"] as const) {
  for (const encoding of ["zstd", "none"] as const) {
    Deno.test(`whatever a crash leaves of a migration, it runs to its end (${kind}, ${encoding})`, async () => {
      const { operations, states, published } = await sweepMigration({
        ...{ kind, encoding, way: "migrate", turns: 6, parts: 12 },
        bounds: { blockCombinationsMax: 64 },
      });
      console.log(`${operations} operations, ${states} states, the new log in ${published}`);
    });
  }
}
