import { assertEquals, assertMatch } from "@std/assert";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { headerOf, journal, logBytes, turnOf } from "./script.ts";

// Over files: only there can something else stand in a lock's place.
Deno.test("list() and stat() show an intact log whatever stands in the place of its lock", async () => {
  const root = await Deno.makeTempDir();
  const folder = `${root}/--w--/s`;
  const lock = `${folder}/session.lock`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeFile(`${folder}/session.v3.jsonl.zstd`, logBytes(headerOf(), [turnOf(1), turnOf(2, 12).slice(0, 1)]));
  await using store = journal(openFileStorage({ root }));
  const places: Record<string, () => Promise<unknown>> = {
    "a folder": () => Deno.mkdir(lock),
    "a link": () => Deno.symlink("/dev/null", lock),
    "a link to nothing": () => Deno.symlink(`${root}/nothing`, lock),
    "a pipe": () => new Deno.Command("mkfifo", { args: [lock] }).output(),
  };
  try {
    for (const [name, place] of Object.entries(places)) {
      await place();
      const rows = [await store.stat("s"), ...await Array.fromAsync(store.list())];
      for (const row of rows) {
        assertEquals([row?.state, row?.header?.id, row?.lastEventTime, row?.live], ["open", "s", 2012, false], name);
        assertMatch(row?.reason ?? "", /^turn 2 is open; whether it is in use is not known, .*session\.lock/, name);
      }
      assertEquals(rows.length, 2);
      await Deno.remove(lock, { recursive: true });
    }
    assertEquals((await store.stat("s"))?.reason, "turn 2 is open");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
