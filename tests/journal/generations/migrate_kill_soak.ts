/**
 * Two hundred migrations that are killed on a real disk.
 *
 * @module
 */
import { migrateKills } from "./migrate_kills.ts";

for (const encoding of ["zstd", "none"] as const) {
  Deno.test(`a migration that is killed leaves the old log, and no new one or a whole one (${encoding})`, async () => {
    const { kills, without, whole } = await migrateKills(100, encoding, 11);
    console.log(`${kills} kills: ${without} left no new log, ${whole} a whole one`);
  });
}
