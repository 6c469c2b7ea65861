/**
 * Migrations by real processes: killed, and racing.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { eventsIn, migrateKills, oldSession, spawnMigration } from "./migrate_kills.ts";

Deno.test("a migration that is killed on a real disk leaves the old log, and no new one or a whole one", async () => {
  const { kills, without, whole } = await migrateKills(5, "zstd", 3);
  console.log(`${kills} kills: ${without} left no new log, ${whole} a whole one`);
});

Deno.test("of two processes that migrate one session one publishes and the other accepts, or is told to wait", async () => {
  for (const waitMs of [0, 60_000]) {
    await using session = await oldSession("none", 40);
    const { root, source, bytes, events } = session;
    const outcomes = await Promise.all(
      [1, 2].map(async () => {
        const { stdout } = await spawnMigration(root, waitMs).output();
        return new TextDecoder().decode(stdout).trim().split("\n").at(-1)!;
      }),
    );
    assertEquals(outcomes.filter((outcome) => outcome === "published").length, 1, outcomes.join());
    const others = waitMs === 0
      ? ["published", "accepted", "current", "LOCK_HELD"]
      : ["published", "accepted", "current"];
    assert(outcomes.every((outcome) => others.includes(outcome)), outcomes.join());
    assertEquals(await Deno.readFile(source), bytes);
    assertEquals(await eventsIn(root), events);
  }
});
