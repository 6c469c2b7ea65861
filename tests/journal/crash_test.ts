import { assert, assertEquals, assertRejects } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import { walkFrames, type ZstdCodec } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import {
  type CrashBounds,
  type MediumOperationKind,
  type SimulatedMedium,
  simulatedMedium,
  simulatedMediumWith,
} from "../../src/testing/media/mod.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { logFold } from "../../src/fold/mod.ts";
import { closers } from "../../src/session/repair.ts";
import { BATCHES, headerOf, journal, logBytes, logOf, remembering, tinyBlocks, turnOf } from "./script.ts";

const EVENTS = turnOf(1);

interface Setup {
  readonly encoding: "zstd" | "none";
  readonly codec: ZstdCodec;
}

/** A medium that does everything in order: what a crash leaves on it is never damage (rulings 21). */
const IN_ORDER: Partial<CrashBounds> = { blockCombinationsMax: 0 };

/** The same, with the prefixes of a write only around its ends. */
const SOME: Partial<CrashBounds> = { blockCombinationsMax: 0, prefixBytesMax: 32 };

/** A medium of blocks so small that most frames have several, each of which arrives by itself. */
const BY_BLOCK: Partial<CrashBounds> = { blockBytes: 64, blockCombinationsMax: 16 };

/** What a run of the script got to before its machine died. */
interface Outcome {
  /** How many events were acknowledged. */
  readonly acknowledged: number;
  /** How many were handed over. */
  readonly appended: number;
}

/** Appends the script's batches until something fails. */
async function runScript(medium: SimulatedMedium, setup: Setup): Promise<Outcome> {
  const store = open(medium, setup);
  let acknowledged = 0;
  let appended = 0;
  try {
    const log = await store.create(headerOf());
    for (const batch of BATCHES) {
      appended += batch.length;
      acknowledged = await log.append(batch) + 1;
    }
  } catch (error) {
    if (!medium.isDead) throw error;
  }
  return { acknowledged, appended };
}

/** A store of a process of its own. */
function open(medium: SimulatedMedium, { encoding, codec }: Setup): SessionStore {
  return journal(medium.open("writer"), { compression: encoding, codec });
}

/** What a reader sees, `null` when there is no session. Changes nothing. */
async function readable(medium: SimulatedMedium, setup: Setup): Promise<readonly SessionEvent[] | null> {
  const store = open(medium, setup);
  if (await store.stat("s") === null) return null;
  const visited: SessionEvent[] = [];
  const log = await store.open("s", "read", { visit: (event) => visited.push(event) });
  assertEquals(log.state().fault, null);
  assertEquals((await log.read()).events, visited);
  await log.close();
  return visited;
}

/** Whoever opens the directory sees whole frames and, at most, one torn one. */
function checkFile(medium: SimulatedMedium, { encoding, codec }: Setup): void {
  const bytes = medium.snapshot().get(logOf(encoding));
  if (encoding === "none" || bytes === undefined) return;
  const { frames, fault } = walkFrames(bytes);
  assertEquals(fault, null);
  for (const { startOffset, endOffset } of frames) codec.decompress(bytes.subarray(startOffset, endOffset), 1e6);
}

/** Opens for writing what a crash left, and goes on to the end of the script. */
async function recoverAndFinish(
  medium: SimulatedMedium,
  setup: Setup,
  { acknowledged, appended }: Outcome,
): Promise<void> {
  checkFile(medium, setup);
  const before = await readable(medium, setup);
  if (before === null) return assertEquals(acknowledged, 0);
  assert(
    acknowledged <= before.length && before.length <= appended,
    `${acknowledged} ≤ ${before.length} ≤ ${appended}`,
  );
  assertEquals(before, EVENTS.slice(0, before.length));

  const store = open(medium, setup);
  const visited: SessionEvent[] = [];
  const log = await store.open("s", "write", { visit: (event) => visited.push(event) });
  assertEquals(visited, before);
  assertEquals(await log.recover([]), before.length - 1);
  const recovered = medium.snapshot();
  assertEquals(log.state().torn, null);
  assertEquals(await log.recover([]), before.length - 1);
  assertEquals(medium.snapshot(), recovered, "a second recovery changes nothing");
  if (before.length < EVENTS.length) await log.append(EVENTS.slice(before.length));
  await log.close();
  assertEquals(await readable(medium, setup), EVENTS);
}

/** What a crash left of a run. */
interface Crash {
  readonly machine: SimulatedMedium;
  readonly outcome: Outcome;
  readonly at: string;
  /** The operation before which it fell; `null` after the last. */
  readonly operation: MediumOperationKind | null;
  /** Whether only the process died: the cache is as it was, and waits. */
  readonly isKill: boolean;
}

/**
 * Every state a crash can leave, before each operation and after the last: all that a power cut may make of it, and, where
 * only the process died, the cache, with some parts of a write.
 */
async function* crashes(
  script: (medium: SimulatedMedium) => Promise<Outcome>,
  fresh: () => SimulatedMedium,
): AsyncGenerator<Crash> {
  const rehearsal = fresh();
  await script(rehearsal);
  const seen = new Set<string>();
  for (let index = 0; index <= rehearsal.operations; index++) {
    const next = rehearsal.operationLog[index];
    const operation = next?.kind ?? null;
    for (const bytes of next?.kind === "write" ? some(next.sizeBytes) : [0]) {
      const medium = fresh();
      medium.failAt({ operation: index, kind: "crash", bytes });
      const outcome = await script(medium);
      assertEquals(medium.isDead, next !== undefined);
      medium.crash();
      const where = `before operation ${index}, ${operation} "${next?.name}", ${JSON.stringify(outcome)}`;
      // All that a part of a write can leave is left by the whole, before the operation behind it.
      for (const state of bytes === 0 ? medium.crashStates() : []) {
        const key = `cut ${outcome.acknowledged} ${outcome.appended} ${state.key}`;
        if (seen.has(key)) continue;
        seen.add(key);
        const at = `a power cut ${where}: ${state.describe()}`;
        yield { machine: state.medium(), outcome, at, operation, isKill: false };
      }
      const at = `kill -9 ${where}, ${bytes} bytes written`;
      yield { machine: medium.afterKill(), outcome, at, operation, isKill: true };
    }
  }
}

/** First, middle and last, and around the places where something is just done or just not. */
function some(steps: number): Iterable<number> {
  return new Set([0, 1, steps >> 1, steps - 4, steps - 1, steps].filter((step) => step >= 0 && step <= steps));
}

async function explained(at: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`after ${at}: ${error instanceof Error ? error.message : error}`, { cause: error });
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
    const fresh = () => simulatedMedium({ kind: "posix", bounds: IN_ORDER });
    for await (const { machine, outcome, at } of crashes((medium) => runScript(medium, setup), fresh)) {
      states += 1;
      await explained(at, () => recoverAndFinish(machine, setup, outcome));
    }
    console.log(`${states} different states`);
  });
}

for (const { name, ...setup } of SETUPS) {
  Deno.test(`a crash that leaves any of a frame's blocks is recovered from, or is damage under which all that was acknowledged is read (${name})`, async () => {
    let [states, refused] = [0, 0];
    const fresh = () => simulatedMedium({ kind: "posix", bounds: BY_BLOCK });
    for await (const { machine, outcome, at } of crashes((medium) => runScript(medium, setup), fresh)) {
      states += 1;
      await explained(at, async () => {
        if (await isDamaged(machine, setup, outcome)) refused += 1;
        else await recoverAndFinish(machine, setup, outcome);
      });
    }
    console.log(`${states} different states, ${refused} refused`);
    assert(refused > 0 && refused < states / 2, `${refused} of ${states}`);
  });
}

/** Whether the log cannot be written to. Then all that was acknowledged is read, and nothing that was not appended. */
async function isDamaged(medium: SimulatedMedium, setup: Setup, { acknowledged, appended }: Outcome): Promise<boolean> {
  const store = open(medium, setup);
  if (await store.stat("s") === null) return false;
  const visited: SessionEvent[] = [];
  const log = await store.open("s", "read", { visit: (event) => visited.push(event) });
  await log.close();
  if (log.state().fault === null) return false;
  assert(acknowledged <= visited.length && visited.length <= appended, `${visited.length} read`);
  assertEquals(visited, EVENTS.slice(0, visited.length));
  const before = medium.snapshot();
  await assertRejects(() => store.open("s", "write"));
  assertEquals(medium.snapshot(), before, "what is damaged is left alone");
  return true;
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
      const bounds = cutBytes === 150 ? IN_ORDER : SOME;
      const fresh = () => simulatedMediumWith({ [torn.name]: torn.bytes }, { kind: "posix", bounds });
      const before = await readable(fresh(), setup);
      assert(before !== null && before.length >= 8);
      const recover = async (medium: SimulatedMedium): Promise<Outcome> => {
        try {
          const log = await open(medium, setup).open("s", "write");
          await log.recover([]);
          await log.append(EVENTS.slice(before.length));
        } catch (error) {
          if (!medium.isDead) throw error;
        }
        return { acknowledged: before.length, appended: EVENTS.length };
      };
      for await (const { machine, outcome, at } of crashes(recover, fresh)) {
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

/**
 * There the name of a torn tail's copy may be lost after the tail is cut, and with it what could be read of a batch that
 * nobody was told of. What was acknowledged is never in a tail.
 */
Deno.test("where names are deferred, a crash in a recovery loses nothing that was acknowledged, and what it salvaged at worst", async () => {
  const setup = SETUPS[1]!;
  const acknowledged = BATCHES.slice(0, -1).flat().length;
  let [states, forgotten] = [0, 0];
  for (const cutBytes of [9, 300]) {
    const torn = tornFile(setup, cutBytes);
    const fresh = () => simulatedMediumWith({ [torn.name]: torn.bytes }, { kind: "opfs", bounds: SOME });
    const before = await readable(fresh(), setup);
    assert(before !== null);
    const recover = async (medium: SimulatedMedium): Promise<Outcome> => {
      let recovered = 0;
      try {
        const log = await open(medium, setup).open("s", "write");
        recovered = await log.recover([]) + 1;
        recovered = await log.append(EVENTS.slice(before.length)) + 1;
      } catch (error) {
        if (!medium.isDead) throw error;
      }
      return { acknowledged: Math.max(acknowledged, recovered), appended: EVENTS.length };
    };
    for await (const { machine, outcome, at } of crashes(recover, fresh)) {
      states += 1;
      await explained(`${at}, with ${cutBytes} torn bytes`, async () => {
        const after = await readable(machine, setup);
        if (after !== null && after.length < before.length) forgotten += 1;
        await recoverAndFinish(machine, setup, outcome);
      });
    }
  }
  console.log(`${states} different states, in ${forgotten} of them less was read than before`);
  assert(forgotten > 0 && forgotten < states / 2);
});

Deno.test("crash after crash after crash, each inside the recovery from the last, loses nothing (exec/R20)", async () => {
  const setup = SETUPS[1]!;
  const random = seededRandom(7);
  const whole = logBytes(headerOf(), BATCHES, setup.encoding, setup.codec).length;
  for (let run = 0; run < 150; run++) {
    const torn = tornFile(setup, 1 + random.below(whole - tornFile(setup, 0).solid - 1));
    let machine = simulatedMediumWith({ [torn.name]: torn.bytes }, { kind: "posix", bounds: IN_ORDER });
    let least = (await readable(machine, setup))!.length;
    for (let crash = 0; crash < 5; crash++) {
      machine.failAt({ operation: random.below(24), kind: "crash", bytes: random.below(200) });
      try {
        const log = await open(machine, setup).open("s", "write");
        least = await log.recover([]) + 1;
        if (least < EVENTS.length) least = await log.append(EVENTS.slice(least, least + 1)) + 1;
      } catch (error) {
        if (!machine.isDead) throw error;
      }
      machine.crash();
      const isKill = random.below(3) === 0;
      machine = isKill ? machine.afterKill() : machine.randomCrashState(random).medium();
      const found = (await readable(machine, setup))!.length;
      assert(found >= least, `run ${run}, crash ${crash}: ${found} of ${least} readable`);
      // What only the cache has is read, and may still be lost.
      if (!isKill) least = found;
    }
    await recoverAndFinish(machine, setup, { acknowledged: least, appended: EVENTS.length });
  }
});

for (const { name, ...setup } of SETUPS) {
  Deno.test(`a crash inside a repair ends in the log of an uninterrupted repair (exec/R18, ${name})`, async () => {
    const repair = async (medium: SimulatedMedium): Promise<Outcome> => {
      let folds = logFold.initial();
      const visit = (event: SessionEvent) => folds = logFold.apply(folds, event);
      try {
        const log = await open(medium, setup).open("s", "write", { visit });
        await log.recover(closers(folds));
      } catch (error) {
        if (!medium.isDead) throw error;
      }
      return { acknowledged: 0, appended: 0 };
    };
    for (const [solid, cutBytes] of [[3, 0], [4, 0], [4, 40], [5, 100]] as const) {
      const start = logBytes(headerOf(), BATCHES.slice(0, solid), setup.encoding, setup.codec).length;
      const bytes = logBytes(headerOf(), BATCHES, setup.encoding, setup.codec).slice(0, start + cutBytes);
      const bounds = cutBytes === 40 ? IN_ORDER : SOME;
      const fresh = () => simulatedMediumWith({ [logOf(setup.encoding)]: bytes }, { kind: "posix", bounds });
      const uninterrupted = fresh();
      await repair(uninterrupted);
      const expected = await readable(uninterrupted, setup);
      assertEquals(expected?.at(-1)?.type, "turn/end");
      for await (const { machine, at } of crashes(repair, fresh)) {
        await explained(at, async () => {
          await repair(machine);
          assertEquals(await readable(machine, setup), expected);
        });
      }
    }
  });
}

/** Kills a writer everywhere, opens what the cache still shows, and then cuts the power. */
async function checkCacheIsMadeDurable(concerns: (operation: MediumOperationKind | null) => boolean): Promise<number> {
  const setup = SETUPS[0]!;
  const fresh = () => simulatedMedium({ kind: "posix" });
  let states = 0;
  for await (const { machine, at, operation, isKill } of crashes((medium) => runScript(medium, setup), fresh)) {
    if (!isKill || !concerns(operation) || await readable(machine, setup) === null) continue;
    states += 1;
    await explained(at, async () => {
      const log = await open(machine, setup).open("s", "write");
      const lastSeq = await log.recover([]);
      for (const state of machine.crashStates()) {
        assertEquals(await readable(state.medium(), setup), EVENTS.slice(0, lastSeq + 1));
      }
    });
  }
  return states;
}

/** Between these a name is there and not durable. */
const NAMING: readonly (MediumOperationKind | null)[] = ["link", "sync-folder"];

Deno.test("what a killed writer left in the cache is durable before anybody builds on it", async () => {
  assert(await checkCacheIsMadeDurable((operation) => !NAMING.includes(operation)) > 10);
});

Deno.test("a name that a killed writer left in the cache is durable before anybody builds on it", async () => {
  assert(await checkCacheIsMadeDurable((operation) => NAMING.includes(operation)) > 0);
});
