/**
 * Kills a process that spills, prunes and compacts on a real disk, and goes on with what it left.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import { goOnIn } from "./crash_world.ts";

/** Runs the script; kills it as soon as it said so many events. Returns how many it said. */
export async function killAt(root: string, events: number): Promise<number> {
  const path = new URL("./kill_child.ts", import.meta.url).pathname;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--frozen", path, root],
    stdout: "piped",
    stderr: "null",
  });
  const child = command.spawn();
  let lines = 0;
  for await (const chunk of child.stdout) {
    lines += chunk.filter((byte) => byte === 0x0a).length;
    if (lines < events) continue;
    try {
      child.kill("SIGKILL");
    } catch {
      // It had ended.
    }
    break;
  }
  await child.status;
  return lines;
}

/** One process after the other, each killed a little later. Returns how many left a session. */
export async function killRuns(
  from: number,
  stride: number,
): Promise<{ readonly runs: number; readonly sessions: number }> {
  let [runs, sessions] = [0, 0];
  for (let events = from;; events += stride) {
    const root = await Deno.makeTempDir({ prefix: "holdfast-kill-" });
    try {
      const said = await killAt(root, events);
      runs++;
      {
        await using store = openFileStore({ root });
        const isThere = await goOnIn(store).catch((error) => {
          throw new Error(`killed at event ${events}: ${error instanceof Error ? error.message : error}`, {
            cause: error,
          });
        });
        if (isThere) sessions++;
      }
      if (said < events) break;
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  }
  assert(runs > 1);
  assertEquals(sessions >= runs - 1, true, `${sessions} of ${runs} left a session`);
  return { runs, sessions };
}
