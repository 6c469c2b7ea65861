/**
 * A fresh schema for each case of the session store contract, and the contract's other process on it.
 *
 * @module
 */
import { createInterface } from "node:readline";
import process from "node:process";
import { Line } from "../../../src/adapters/postgres/line.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/entry/postgres.ts";
import {
  type OtherStoreProcess,
  OtherStoreSide,
  type SessionStoreContext,
  type StoreCommand,
} from "../../../src/testing/session_store_contract.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { fromFileUrl } from "../../support/paths.ts";
import { systemClock, systemRandom } from "../../../src/entry/system.ts";
import type { PipedProcess } from "../file/other_process.ts";

/** Every session is some transactions that are synced to the disk. */
const SESSIONS_MANY = 120;

/** How long `advance()` waits for somebody to set a timer, in real milliseconds: as long as a claim may need. */
const TIMER_WAIT_MS = 400;

/** A time after which a case wants everything to have been seen, in milliseconds of the moved clock. */
const LONG_MS = 1000;

/** How long the database may take to answer what was woken, in real milliseconds. */
const ANSWERED_MS = 400;

/** What starts the contract's other process. */
export function otherCommand(): string[] {
  const program = fromFileUrl(new URL("./other_store.ts", import.meta.url));
  return [Deno.execPath(), "run", "--quiet", "--allow-all", program];
}

/** Where a schema is, as one text that can be handed to another process. */
export interface Place {
  readonly url: string;
  readonly schema: string;
}

/** A place that nothing is in yet. */
export function freshPlace(url: string): Place {
  return { url, schema: `t_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}` };
}

/** Removes everything of a place. */
export async function removePlace(place: Place): Promise<void> {
  await administer(place, `DROP SCHEMA IF EXISTS "${place.schema}" CASCADE`);
}

/** Runs a statement of its own, as an administrator would. */
export async function administer(place: Place, statement: string): Promise<readonly Record<string, unknown>[]> {
  const line = new Line({ ...place, idleInTransactionMs: 60_000, schedule: systemClock.schedule });
  try {
    return (await line.ask(statement, [])).rows;
  } finally {
    await line.end();
  }
}

/** A fresh place, and stores on it. */
export function postgresContext(url: string, other: PipedProcess): {
  readonly context: SessionStoreContext;
  readonly end: () => Promise<void>;
} {
  const place = freshPlace(url);
  const clock = new FakeClock();
  const stores: PostgresStore[] = [];
  const context: SessionStoreContext = {
    async openStore() {
      const store = await openStore(place, clock);
      stores.push(store);
      return store;
    },
    // It hands on whatever it is told as JSON; what answers is `serveOther()` below.
    other: other.for(JSON.stringify(place)) as unknown as OtherStoreProcess,
    advance: (ms) => advance(clock, ms),
    sessionsMany: SESSIONS_MANY,
  };
  const end = async () => {
    for (const store of stores) await store.close();
    await removePlace(place);
  };
  return { context, end };
}

async function openStore(place: Place, clock: FakeClock): Promise<PostgresStore> {
  return await openPostgresStore({ ...place, runtime: { clock, random: systemRandom }, connectionsMax: 3 });
}

/** Moves the clock from timer to timer. Between two of them the database may have to be asked. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0;) {
    for (let waitedMs = 0; clock.nextTimerMs === null && waitedMs < TIMER_WAIT_MS; waitedMs += 5) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const stepMs = Math.min(leftMs, Math.max(1, clock.nextTimerMs ?? leftMs));
    await clock.advance(stepMs);
    leftMs -= stepMs;
  }
  // What the timers woke asks the database, which knows nothing of this clock.
  if (ms >= LONG_MS) await new Promise((resolve) => setTimeout(resolve, ANSWERED_MS));
}

/** Answers commands from standard input until it ends. */
export async function serveOther(): Promise<void> {
  const sides = new Map<string, OtherStoreSide>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { root, command } = JSON.parse(line) as { root: string; command: StoreCommand };
    const side = sides.get(root) ?? new OtherStoreSide(await openStore(JSON.parse(root) as Place, new FakeClock()));
    sides.set(root, side);
    process.stdout.write(JSON.stringify(await side.run(command)) + "\n");
  }
}
