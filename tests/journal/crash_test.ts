import { assert, assertEquals } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { walkFrames, type ZstdCodec } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { logFold } from "../../src/fold/mod.ts";
import { closers } from "../../src/session/repair.ts";
import {
  BATCHES,
  filesOf,
  headerOf,
  journal,
  logBytes,
  logOf,
  remembering,
  storageWith,
  tinyBlocks,
  turnOf,
} from "./script.ts";

const EVENTS = turnOf(1);

interface Setup {
  readonly encoding: "zstd" | "none";
  readonly codec: ZstdCodec;
}

/** What a run of the script got to before its machine died. */
interface Outcome {
  /** How many events were acknowledged. */
  readonly acknowledged: number;
  /** How many were handed over. */
  readonly appended: number;
}

/** Appends the script's batches until something fails. */
async function runScript(storage: MemoryStorage, setup: Setup): Promise<Outcome> {
  const store = open(storage, setup);
  let acknowledged = 0;
  let appended = 0;
  try {
    const log = await store.create(headerOf());
    for (const batch of BATCHES) {
      appended += batch.length;
      acknowledged = await log.append(batch) + 1;
    }
  } catch (error) {
    if (!storage.isDead) throw error;
  }
  return { acknowledged, appended };
}

function open(storage: MemoryStorage, { encoding, codec }: Setup): SessionStore {
  return journal(storage, { compression: encoding, codec });
}

/** What a reader sees, `null` when there is no session. Changes nothing. */
async function readable(storage: MemoryStorage, setup: Setup): Promise<readonly SessionEvent[] | null> {
  const store = open(storage, setup);
  if (await store.stat("s") === null) return null;
  const visited: SessionEvent[] = [];
  const log = await store.open("s", "read", { visit: (event) => visited.push(event) });
  assertEquals(log.state().fault, null);
  assertEquals((await log.read()).events, visited);
  await log.close();
  return visited;
}

/** Whoever opens the directory sees whole frames and, at most, one torn one. */
async function checkFile(storage: MemoryStorage, { encoding, codec }: Setup): Promise<void> {
  const name = logOf(encoding);
  if (encoding === "none" || await storage.stat(name) === null) return;
  const bytes = await storage.read(name);
  const { frames, fault } = walkFrames(bytes);
  assertEquals(fault, null);
  for (const { startOffset, endOffset } of frames) codec.decompress(bytes.subarray(startOffset, endOffset), 1e6);
}

/** Opens for writing what a crash left, and goes on to the end of the script. */
async function recoverAndFinish(
  storage: MemoryStorage,
  setup: Setup,
  { acknowledged, appended }: Outcome,
): Promise<void> {
  await checkFile(storage, setup);
  const before = await readable(storage, setup);
  if (before === null) return assertEquals(acknowledged, 0);
  assert(
    acknowledged <= before.length && before.length <= appended,
    `${acknowledged} ≤ ${before.length} ≤ ${appended}`,
  );
  assertEquals(before, EVENTS.slice(0, before.length));

  const store = open(storage, setup);
  const visited: SessionEvent[] = [];
  const log = await store.open("s", "write", { visit: (event) => visited.push(event) });
  assertEquals(visited, before);
  assertEquals(await log.recover([]), before.length - 1);
  const recovered = await filesOf(storage);
  assertEquals(log.state().torn, null);
  assertEquals(await log.recover([]), before.length - 1);
  assertEquals(await filesOf(storage), recovered, "a second recovery changes nothing");
  if (before.length < EVENTS.length) await log.append(EVENTS.slice(before.length));
  await log.close();
  assertEquals(await readable(storage, setup), EVENTS);
}

/** Names the state of a medium, to look at equal ones once. */
async function keyOf(storage: MemoryStorage, outcome: Outcome): Promise<string> {
  const files = await filesOf(storage);
  return JSON.stringify([outcome, [...files].map(([name, bytes]) => [name, bytes.toHex()])]);
}

/** Every state a crash can leave: at each operation, after each of its steps, with and without what only the cache held. */
async function* crashes(
  script: (storage: MemoryStorage) => Promise<Outcome>,
  fresh: () => MemoryStorage,
  stepsOf: (steps: number) => Iterable<number>,
): AsyncGenerator<{ machine: MemoryStorage; outcome: Outcome; at: string }> {
  const rehearsal = fresh();
  await script(rehearsal);
  const seen = new Set<string>();
  for (const { operation, kind, name, steps } of rehearsal.operations) {
    for (const done of stepsOf(steps)) {
      const storage = fresh();
      storage.failAt({ operation, kind: "crash", steps: done });
      const outcome = await script(storage);
      assert(storage.isDead, "the planned crash did not happen");
      for (const keepUnsynced of ["none", "all"] as const) {
        const machine = storage.crash({ keepUnsynced });
        const key = await keyOf(machine, outcome);
        if (seen.has(key)) continue;
        seen.add(key);
        yield { machine, outcome, at: `${kind} ${name}, step ${done} of ${steps}, kept ${keepUnsynced}` };
      }
    }
  }
}

function* every(steps: number): Iterable<number> {
  for (let step = 0; step <= steps; step++) yield step;
}

/** First, middle and last, and around the places where something is just done or just not. */
function some(steps: number): Iterable<number> {
  return new Set([0, 1, steps >> 1, steps - 4, steps - 1, steps].filter((step) => step >= 0 && step <= steps));
}

async function explained(at: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`after a crash at ${at}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

const SETUPS: readonly (Setup & { readonly name: string })[] = [
  { name: "zstd", encoding: "zstd", codec: remembering(nodeZstd()) },
  { name: "zstd in tiny blocks", encoding: "zstd", codec: remembering(tinyBlocks(64)) },
  { name: "none", encoding: "none", codec: remembering(nodeZstd()) },
];

for (const { name, ...setup } of SETUPS) {
  Deno.test(`a crash at every operation and byte recovers what was acknowledged and nothing that was not appended (${name})`, async () => {
    let states = 0;
    const fresh = () => new MemoryStorage({ simulate: "disk" });
    for await (const { machine, outcome, at } of crashes((storage) => runScript(storage, setup), fresh, every)) {
      states += 1;
      await explained(at, () => recoverAndFinish(machine, setup, outcome));
    }
    console.log(`${states} different states`);
  });
}

/** The log of the script with the last batch cut off after some bytes. */
function tornFile(
  { encoding, codec }: Setup,
  cutBytes: number,
): { name: string; bytes: Uint8Array<ArrayBuffer>; solid: number } {
  const solid = logBytes(headerOf(), BATCHES.slice(0, -1), encoding, codec);
  const whole = logBytes(headerOf(), BATCHES, encoding, codec);
  return { name: logOf(encoding), bytes: whole.slice(0, solid.length + cutBytes), solid: solid.length };
}

for (const { name, ...setup } of SETUPS) {
  Deno.test(`a crash at every operation of a recovery loses no record that was readable before (exec/R20, ${name})`, async () => {
    const whole = logBytes(headerOf(), BATCHES, setup.encoding, setup.codec).length;
    const solidBytes = tornFile(setup, 0).solid;
    const lastFour = [4, 3, 2, 1].map((left) => whole - solidBytes - left);
    const cuts = [1, 3, 4, 9, 70, 150, 230, 300, ...lastFour];
    let states = 0;
    for (const cutBytes of cuts) {
      const torn = tornFile(setup, cutBytes);
      const fresh = () => storageWith({ [torn.name]: torn.bytes });
      const before = await readable(fresh(), setup);
      assert(before !== null && before.length >= 8);
      const recover = async (storage: MemoryStorage): Promise<Outcome> => {
        try {
          const log = await open(storage, setup).open("s", "write");
          await log.recover([]);
          await log.append(EVENTS.slice(before.length));
        } catch (error) {
          if (!storage.isDead) throw error;
        }
        return { acknowledged: before.length, appended: EVENTS.length };
      };
      for await (const { machine, outcome, at } of crashes(recover, fresh, cutBytes === 150 ? every : some)) {
        states += 1;
        await explained(`${at}, with ${cutBytes} torn bytes`, async () => {
          const after = await readable(machine, setup);
          assert(after !== null && after.length >= before.length, `${after?.length} of ${before.length} readable`);
          await recoverAndFinish(machine, setup, outcome);
        });
      }
    }
    console.log(`${states} different states`);
  });
}

Deno.test("crash after crash after crash, each inside the recovery from the last, loses nothing (exec/R20)", async () => {
  const setup = SETUPS[1]!;
  const random = seededRandom(7);
  const whole = logBytes(headerOf(), BATCHES, setup.encoding, setup.codec).length;
  for (let run = 0; run < 150; run++) {
    const torn = tornFile(setup, 1 + random.below(whole - tornFile(setup, 0).solid - 1));
    let machine = storageWith({ [torn.name]: torn.bytes });
    let least = (await readable(machine, setup))!.length;
    for (let crash = 0; crash < 5; crash++) {
      const kind = random.pick(["lock", "stageAppend", "publish", "append", "sync", "truncate", "remove"] as const);
      machine.failAt({ operation: kind, kind: "crash", steps: random.below(200) });
      try {
        const log = await open(machine, setup).open("s", "write");
        least = await log.recover([]) + 1;
        if (least < EVENTS.length) least = await log.append(EVENTS.slice(least, least + 1)) + 1;
      } catch (error) {
        if (!machine.isDead) throw error;
      }
      machine = machine.crash({ keepUnsynced: random.pick(["none", "all", random.below(machine.unsyncedSteps + 1)]) });
      const found = (await readable(machine, setup))!.length;
      assert(found >= least, `run ${run}, crash ${crash}: ${found} of ${least} readable`);
      least = found;
    }
    await recoverAndFinish(machine, setup, { acknowledged: least, appended: EVENTS.length });
  }
});

for (const { name, ...setup } of SETUPS) {
  Deno.test(`a crash inside a repair ends in the log of an uninterrupted repair (exec/R18, ${name})`, async () => {
    const repair = async (storage: MemoryStorage): Promise<Outcome> => {
      let folds = logFold.initial();
      const visit = (event: SessionEvent) => folds = logFold.apply(folds, event);
      try {
        const log = await open(storage, setup).open("s", "write", { visit });
        await log.recover(closers(folds));
      } catch (error) {
        if (!storage.isDead) throw error;
      }
      return { acknowledged: 0, appended: 0 };
    };
    for (const [solid, cutBytes] of [[3, 0], [4, 0], [4, 40], [5, 100]] as const) {
      const start = logBytes(headerOf(), BATCHES.slice(0, solid), setup.encoding, setup.codec).length;
      const bytes = logBytes(headerOf(), BATCHES, setup.encoding, setup.codec).slice(0, start + cutBytes);
      const fresh = () => storageWith({ [logOf(setup.encoding)]: bytes });
      const uninterrupted = fresh();
      await repair(uninterrupted);
      const expected = await readable(uninterrupted, setup);
      assertEquals(expected?.at(-1)?.type, "turn/end");
      for await (const { machine, at } of crashes(repair, fresh, cutBytes === 40 ? every : some)) {
        await explained(at, async () => {
          await repair(machine);
          assertEquals(await readable(machine, setup), expected);
        });
      }
    }
  });
}

/** Kills a writer everywhere, opens what the cache still shows, and then cuts the power. */
async function checkCacheIsMadeDurable(concerns: (at: string) => boolean): Promise<number> {
  const setup = SETUPS[0]!;
  const fresh = () => new MemoryStorage({ simulate: "disk" });
  let states = 0;
  for await (const { machine, at } of crashes((storage) => runScript(storage, setup), fresh, some)) {
    if (!at.endsWith("kept all") || !concerns(at) || await readable(machine, setup) === null) continue;
    states += 1;
    await explained(at, async () => {
      const log = await open(machine, setup).open("s", "write");
      const lastSeq = await log.recover([]);
      const afterPowerCut = await readable(machine.crash({ keepUnsynced: "none" }), setup);
      assertEquals(afterPowerCut, EVENTS.slice(0, lastSeq + 1));
    });
  }
  return states;
}

Deno.test("what a killed writer left in the cache is durable before anybody builds on it", async () => {
  assert(await checkCacheIsMadeDurable((at) => !at.startsWith("publish")) > 10);
});

Deno.test("a name that a killed writer left in the cache is durable before anybody builds on it", async () => {
  assert(await checkCacheIsMadeDurable((at) => at.startsWith("publish")) > 0);
});
