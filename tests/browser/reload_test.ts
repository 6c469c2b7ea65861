import { reloadAtRandom } from "./support/reloads.ts";

Deno.test("field/E02: a page that is reloaded 30 times, 0 to 300 ms after its session was opened, opens each time within 3 s and loses nothing", async () => {
  const { openMs, events } = await reloadAtRandom(1, 30);
  console.log(
    `30 reloads, ${events} events; opened within ${openMs[openMs.length >> 1]} ms (p50), ${openMs.at(-1)} ms (worst)`,
  );
});
