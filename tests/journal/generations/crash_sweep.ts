/**
 * A crash at every operation of a migration, on a medium that keeps whatever it may keep.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { type JournalLimits, migrateLog } from "../../../src/journal/mod.ts";
import { type CrashBounds, type SimulatedMedium, simulatedMediumWith } from "../../../src/testing/media/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { journal, remembering } from "../script.ts";
import { oldBytes, oldHeader, oldName, oldTurns } from "./old_logs.ts";

/** What a sweep went through. */
export interface Swept {
  readonly operations: number;
  readonly states: number;
  /** In how many of them the current generation was there. */
  readonly published: number;
}

/** How to sweep. */
export interface SweepOptions {
  readonly kind: "posix" | "opfs";
  readonly encoding: "zstd" | "none";
  /** Whether the log is only migrated, or opened for writing. */
  readonly way: "migrate" | "open";
  readonly turns: number;
  readonly bounds?: Partial<CrashBounds>;
  /** How many parts of each write are tried. */
  readonly parts: number;
}

const codec = remembering(nodeZstd());
/** So small that a few turns are several frames. */
const limits: Partial<JournalLimits> = { batchBytesMax: 1024 };

/** Sweeps. Throws at the first state that breaks a promise. */
export async function sweepMigration(options: SweepOptions): Promise<Swept> {
  const { kind, encoding, way, turns, bounds } = options;
  const [source, target] = [oldName(0, encoding), oldName(3, encoding)];
  const bytes = oldBytes(oldHeader(), [oldTurns(turns).slice(0, 7), oldTurns(turns).slice(7)], encoding);
  const fresh = () => simulatedMediumWith({ [source]: bytes }, { kind, bounds });
  const run = async (medium: SimulatedMedium) => {
    try {
      await migrate(medium, way);
    } catch (error) {
      if (!medium.isDead) throw error;
    }
  };
  const rehearsal = fresh();
  await run(rehearsal);
  const whole = rehearsal.snapshot().get(target);
  assert(whole !== undefined);
  const events = await eventsOf(rehearsal);
  assert(events.length > 5 * turns);

  const check = async (medium: SimulatedMedium, at: string): Promise<boolean> => {
    const found = medium.snapshot();
    assertEquals(found.get(source), bytes, `after ${at}: the old generation`);
    const isPublished = await isThere(medium);
    if (isPublished) assertEquals(found.get(target), whole, `after ${at}: the current generation`);
    assertEquals(await eventsOf(medium), events, `after ${at}: what is read`);
    await migrate(medium, "migrate");
    await migrate(medium, "open");
    assertEquals(medium.snapshot().get(source), bytes, `after ${at} and a migration: the old generation`);
    assertEquals(medium.snapshot().get(target), whole, `after ${at} and a migration: the current generation`);
    assertEquals(await eventsOf(medium), events, `after ${at} and a migration: what is read`);
    return isPublished;
  };

  const seen = new Set<string>();
  let [states, published] = [0, 0];
  for (let index = 0; index <= rehearsal.operations; index++) {
    const next = rehearsal.operationLog[index];
    for (const part of next?.kind === "write" ? partsOf(next.sizeBytes, options.parts) : [0]) {
      const medium = fresh();
      medium.failAt({ operation: index, kind: "crash", bytes: part });
      await run(medium);
      assertEquals(medium.isDead, next !== undefined);
      medium.crash();
      const at = `a crash before operation ${index} (${next?.kind} "${next?.name}", ${part} bytes of it)`;
      for (const state of medium.crashStates()) {
        if (seen.has(state.key)) continue;
        seen.add(state.key);
        states++;
        if (await check(state.medium(), `${at}: ${state.describe()}`)) published++;
      }
      states++;
      if (await check(medium.afterKill(), `${at}: kill -9`)) published++;
    }
  }
  assert(published > 0 && published < states, `${published} of ${states} published`);
  return { operations: rehearsal.operations, states, published };
}

async function migrate(medium: SimulatedMedium, way: SweepOptions["way"]): Promise<void> {
  const storage = medium.open("migrating");
  if (way === "migrate") {
    await migrateLog({ storage, codec, clock: new FakeClock(), random: seededRandom(1), limits }, "s");
    await storage.close();
    return;
  }
  const store = journal(storage, { codec, limits });
  await (await store.open("s", "write")).close();
  await store.close();
}

async function isThere(medium: SimulatedMedium): Promise<boolean> {
  const store = journal(medium.open("looking"), { codec });
  return (await store.stat("s"))?.version === 3;
}

async function eventsOf(medium: SimulatedMedium): Promise<readonly SessionEvent[]> {
  const store = journal(medium.open("reading"), { codec });
  const log = await store.open("s", "read");
  assertEquals(log.state().fault, null);
  const { events } = await log.read({ limit: 100_000 });
  await log.close();
  return events;
}

/** First, middle and last, and a few between. */
function partsOf(sizeBytes: number, count: number): Iterable<number> {
  const steps = Array.from({ length: count }, (_, index) => Math.floor(index * sizeBytes / Math.max(1, count - 1)));
  return new Set([0, ...steps, Math.max(0, sizeBytes - 1), sizeBytes]);
}
