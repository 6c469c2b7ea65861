/**
 * The program behind the tests of the store over SQLite, for Deno and, bundled, for Node.
 *
 * `--suite` runs every case and prints one JSON line each; `--other` is the contract's other process.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openSqlite } from "../../../src/adapters/sqlite_node/mod.ts";
import { openSqlStore } from "../../../src/sql/mod.ts";
import { systemClock, systemRandom } from "../../../src/entry/system.ts";
import type { SessionStore } from "../../../src/store/session_store.ts";
import {
  type OtherStoreProcess,
  OtherStoreSide,
  type SessionStoreContext,
  sessionStoreContract,
  type StoreCommand,
} from "../../../src/testing/session_store_contract.ts";
import { PipedProcess } from "../file/other_process.ts";
import type { CaseResult } from "../file/suite_main.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Every session costs some syncs. */
const SESSIONS_MANY = 120;

/** How long `advance()` waits for somebody to set a timer, in real milliseconds: as long as taking a lock may need. */
const TIMER_WAIT_MS = 100;

/** What starts this program. In Node this file is part of a bundle, which is then what is started. */
export function selfCommand(): string[] {
  const flags = "Deno" in globalThis ? ["run", "--quiet", "--allow-all"] : [];
  return [process.execPath, ...flags, fileURLToPath(import.meta.url)];
}

/** Runs the cases one after the other; `heard` is called with each result. */
export async function runStoreSuite(heard: (result: CaseResult) => void): Promise<void> {
  const other = new PipedProcess([...selfCommand(), "--other"]);
  for (const { name, run } of sessionStoreContract) {
    const { context, end } = sqliteContext(other);
    let error: string | null = null;
    try {
      await run(context);
    } catch (caught) {
      error = caught instanceof Error ? `${caught.stack}\n${caught.cause ?? ""}` : String(caught);
    }
    await end();
    heard({ name, skipped: null, error });
  }
  await other.kill();
}

/** A fresh folder, and stores on one database in it. */
export function sqliteContext(other: PipedProcess): { context: SessionStoreContext; end: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
  const root = join(folder, "data", "sessions.db");
  const clock = new FakeClock();
  const stores: SessionStore[] = [];
  const context: SessionStoreContext = {
    openStore() {
      const store = openStore(root, clock);
      stores.push(store);
      return Promise.resolve(store);
    },
    // It hands on whatever it is told as JSON; what answers is `serveOther()` below.
    other: other.for(root) as unknown as OtherStoreProcess,
    advance: (ms) => advance(clock, ms),
    sessionsMany: SESSIONS_MANY,
  };
  const end = async () => {
    for (const store of stores) await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { context, end };
}

function openStore(root: string, clock: FakeClock): SessionStore {
  return openSqlStore({ sql: openSqlite({ path: root, clock: systemClock }), clock, random: systemRandom });
}

/** Moves the clock from timer to timer. Between two of them a real lock may have to be asked for. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0;) {
    for (let waitedMs = 0; clock.nextTimerMs === null && waitedMs < TIMER_WAIT_MS; waitedMs += 5) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const stepMs = Math.min(leftMs, Math.max(1, clock.nextTimerMs ?? leftMs));
    await clock.advance(stepMs);
    leftMs -= stepMs;
  }
}

async function serveOther(): Promise<void> {
  const sides = new Map<string, OtherStoreSide>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { root, command } = JSON.parse(line) as { root: string; command: StoreCommand };
    const side = sides.get(root) ?? new OtherStoreSide(openStore(root, new FakeClock()));
    sides.set(root, side);
    process.stdout.write(JSON.stringify(await side.run(command)) + "\n");
  }
}

const [mode] = process.argv.slice(2);
if (mode === "--other") await serveOther();
if (mode === "--suite") await runStoreSuite((result) => console.log(JSON.stringify(result)));
