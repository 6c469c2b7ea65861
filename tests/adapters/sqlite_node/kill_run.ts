/**
 * Kills a writer at random instants, again and again on one database, and looks after each kill whether all is well.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals } from "@std/assert";
import { openSqliteStore } from "../../../src/entry/sqlite.ts";
import { readAll } from "../../../src/testing/session_store_context.ts";
import { repositoryDir } from "../../support/paths.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { batchSizeAt, eventAt, SESSION } from "./kill_plan.ts";

/** From what a kill is counted: from the start of the process, from its first step, or from its first acknowledged batch. */
const STAGES = ["", "ready", "ack", "ack"] as const;

/** The longest time from its stage to the kill, in milliseconds. */
const KILL_MS_MAX = { "": 250, "ready": 60, "ack": 40 } as const;

/** What the kills met. */
export interface KillReport {
  readonly kills: number;
  /** Kills after which more was there than was heard of: they fell between commit and word. */
  readonly between: number;
  readonly events: number;
  /** The longest that opening for writing took directly after a kill, in milliseconds. */
  readonly slowestOpenMs: number;
}

/** Kills `kills` writers. Throws at the first thing that is not as it was promised. */
export async function killRun(kills: number, seed: number): Promise<KillReport> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-kills-" });
  const path = `${folder}/sessions.db`;
  const random = seededRandom(seed);
  const draw = () => new DataView(random.bytes(4).buffer).getUint32(0) / 2 ** 32;
  /** Which run wrote each event that was seen: what was seen once never changes. */
  const writers: number[] = [];
  let between = 0;
  let slowestOpenMs = 0;
  try {
    for (let run = 1; run <= kills; run++) {
      const stage = STAGES[Math.floor(draw() * STAGES.length)]!;
      const acknowledged = await killOne(path, run, stage, draw() * KILL_MS_MAX[stage]);
      if (!await exists(path)) {
        assertEquals(acknowledged, -1);
        continue;
      }
      assertEquals(integrityOf(path), "ok", `after kill ${run}`);

      const startMs = performance.now();
      await using store = openSqliteStore({ path });
      if (await store.stat(SESSION) === null) {
        assert(acknowledged === -1 && writers.length === 0, `the session is lost after kill ${run}`);
        continue;
      }
      const log = await store.open(SESSION, "write");
      slowestOpenMs = Math.max(slowestOpenMs, performance.now() - startMs);
      const events = await readAll(log);
      assert(
        events.length > acknowledged,
        `${events.length} events after ${acknowledged} was acknowledged, kill ${run}`,
      );
      assert(events.length >= writers.length, `${events.length} events, and ${writers.length} were there before`);
      for (const event of events) {
        const writer = (event.data as { run: number }).run;
        assertEquals(event, eventAt(event.seq, writers[event.seq] ?? run), `kill ${run}`);
        assertEquals(writer, writers[event.seq] ??= run);
      }
      // A batch is there whole or not at all.
      let end = 0;
      while (end < events.length) end += batchSizeAt(end);
      assertEquals(end, events.length);
      if (acknowledged >= 0 && events.length > acknowledged + 1) between += 1;
      await log.close();
    }
    return { kills, between, events: writers.length, slowestOpenMs };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Starts a writer and kills it. Returns the last seq that it said to be durable, −1 for none. */
async function killOne(path: string, run: number, stage: string, delayMs: number): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-all",
      `${repositoryDir}/tests/adapters/sqlite_node/kill_child.ts`,
      path,
      String(run),
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let text = "";
  const reached = Promise.withResolvers<void>();
  if (stage === "") reached.resolve();
  const reading = (async () => {
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes(`${stage} `) || text.includes(`${stage}\n`)) reached.resolve();
    }
    reached.resolve(); // It ended by itself, which the words below show.
  })();
  await reached.promise;
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  child.kill("SIGKILL");
  const { signal } = await child.status;
  await reading;
  assertEquals(signal, "SIGKILL", `the writer of run ${run} ended by itself`);
  const words = text.split("\n").slice(0, -1).map((line) => line.split(" "));
  return words.reduce((last, [word, seq]) => word === "ack" ? Number(seq) : last, -1);
}

function integrityOf(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Object.values(database.prepare("PRAGMA integrity_check").get() as Record<string, string>)[0]!;
  } finally {
    database.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
