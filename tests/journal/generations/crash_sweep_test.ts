/**
 * A migration under crashes: a small version of the sweep.
 *
 * @module
 */
import { sweepMigration } from "./crash_sweep.ts";

for (const kind of ["posix", "opfs"] as const) {
  for (const encoding of ["zstd", "none"] as const) {
    for (const way of ["migrate", "open"] as const) {
      Deno.test(`a crash at any operation of a migration leaves the old log whole, and no new one or a whole one (${kind}, ${encoding}, ${way})`, async () => {
        const { operations, states, published } = await sweepMigration({
          ...{ kind, encoding, way, turns: 2, parts: 2 },
          bounds: { blockCombinationsMax: 4, prefixBytesMax: 8 },
        });
        console.log(`${operations} operations, ${states} states, the new log in ${published}`);
      });
    }
  }
}
