/**
 * Kills processes that migrate a session on a real disk, and looks at what they left.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { migrateFileSession, openFileStore } from "../../../src/entry/file.ts";
import { fromFileUrl } from "../../support/paths.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { oldBytes, oldHeader, oldName, oldTurns } from "./old_logs.ts";

const CHILD = fromFileUrl(new URL("./migrate_child.ts", import.meta.url));

/** Large enough that a migration takes a while: some megabytes. */
const PIECES = Array.from({ length: 400 }, (_, index) => `piece ${index} `);

/** What the kills left. */
export interface MigrateKills {
  readonly kills: number;
  /** How many left no current generation; how many a whole one. */
  readonly without: number;
  readonly whole: number;
}

/** A folder with one old session, and everything about it. */
export interface OldSession extends AsyncDisposable {
  readonly root: string;
  readonly source: string;
  readonly target: string;
  readonly bytes: Uint8Array;
  readonly events: readonly SessionEvent[];
}

/** Writes an old session into a folder of its own. */
export async function oldSession(encoding: "zstd" | "none", turns: number): Promise<OldSession> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-migrate-" });
  const [source, target] = [0, 3].map((version) => `${root}/${oldName(version, encoding)}`) as [string, string];
  const bytes = oldBytes(oldHeader(), oldTurns(turns, PIECES).map((row) => [row]), encoding);
  await Deno.mkdir(source.slice(0, source.lastIndexOf("/")), { recursive: true });
  await Deno.writeFile(source, bytes);
  const events = await eventsIn(root);
  return { root, source, target, bytes, events, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

/** Starts a process that migrates. */
export function spawnMigration(root: string, waitMs = 0): Deno.ChildProcess {
  const args = ["run", "-A", "--frozen", "--no-check", CHILD, root, String(waitMs)];
  return new Deno.Command(Deno.execPath(), { args, stdout: "piped", stderr: "inherit" }).spawn();
}

/** Kills one migration after the other, each at another moment, until so many kills hit. */
export async function migrateKills(count: number, encoding: "zstd" | "none", seed: number): Promise<MigrateKills> {
  const random = seededRandom(seed);
  await using session = await oldSession(encoding, 300);
  const { root, source, target, bytes, events } = session;
  // How long a whole migration takes here and now, so that the kills fall into it.
  const wholeMs = await timeOf(root);
  const whole = await Deno.readFile(target);
  await Deno.remove(target);
  let [kills, without, complete] = [0, 0, 0];
  for (let run = 0; kills < count; run++) {
    assert(run < 20 * count, `only ${kills} of ${run} processes were killed at work`);
    // One kill in four comes just after the child said that it had published.
    const isAfterwards = run % 4 === 3;
    const isKilled = await killOne(root, isAfterwards ? "published" : random.below(Math.ceil(wholeMs * 1.2)));
    assertEquals(await Deno.readFile(source), bytes, `run ${run}: the old generation`);
    const found = await Deno.readFile(target).catch(() => null);
    if (isKilled) {
      kills++;
      if (found === null) without++;
      else complete++;
    }
    if (found === null) {
      if (kills % 10 === 0) assertEquals(await eventsIn(root), events, `run ${run}: what is read`);
      continue;
    }
    assertEquals(found, whole, `run ${run}: the current generation`);
    await Deno.remove(target);
  }
  assert(without > 0 && complete > 0, `${without} without a new log, ${complete} with a whole one`);
  // What the dead left aside is nothing to anybody, and the next one runs to its end.
  assertEquals((await migrateFileSession({ root }, "s", { waitMs: 5000 })).outcome, "published");
  assertEquals(await Deno.readFile(target), whole);
  assertEquals(await eventsIn(root), events);
  const names = [...Deno.readDirSync(source.slice(0, source.lastIndexOf("/")))].map(({ name }) => name).sort();
  assertEquals(names.filter((name) => !name.startsWith("session.")), [], "the stages of the dead are swept");
  assertEquals(names.length, 3, names.join());
  return { kills, without, whole: complete };
}

/** The events of the session, whatever its generation. */
export async function eventsIn(root: string): Promise<readonly SessionEvent[]> {
  await using store = openFileStore({ root });
  await using log = await store.open("s", "read");
  assertEquals(log.state().fault, null);
  const events: SessionEvent[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page: Awaited<ReturnType<typeof log.read>> = await log.read({ from });
    events.push(...page.events);
    from = page.nextFrom;
  }
  return events;
}

async function timeOf(root: string): Promise<number> {
  const child = spawnMigration(root);
  const reader = child.stdout.getReader();
  await reader.read();
  const startedMs = performance.now();
  while (!(await reader.read()).done);
  await child.status;
  return performance.now() - startedMs;
}

/** Kills a migration that many milliseconds after it began, or at a word of its. Returns whether it was still at work. */
async function killOne(root: string, at: number | "published"): Promise<boolean> {
  const child = spawnMigration(root, 5000);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It had ended.
    }
  };
  await reader.read();
  const timer = at === "published" ? null : setTimeout(kill, at);
  for (let said = await reader.read(); !said.done; said = await reader.read()) {
    if (at === "published" && said.value.includes(at)) kill();
  }
  const { signal } = await child.status;
  if (timer !== null) clearTimeout(timer);
  return signal === "SIGKILL";
}
