import { assert, assertEquals, assertThrows } from "@std/assert";
import { publish, type StorageFile, type StorageLock, type StoragePort } from "../../../mod.ts";
import {
  type CrashBounds,
  type MediumKind,
  type SimulatedMedium,
  simulatedMedium,
  simulatedMediumWith,
} from "../../../src/testing/media/mod.ts";
import { type SeededRandom, seededRandom } from "../../support/seeded_random.ts";
import { BruteFile, keyOf } from "./brute_force.ts";

const KINDS: readonly MediumKind[] = ["posix", "opfs"];
const LOG = "a/log";
const LOCK = "a/session.lock";
const TINY: Partial<CrashBounds> = { blockBytes: 4, blockCombinationsMax: 1_000_000, nameCombinationsMax: 1_000_000 };

interface Opened {
  readonly medium: SimulatedMedium;
  readonly storage: StoragePort;
  readonly lock: StorageLock;
  readonly file: StorageFile;
}

/** A medium on which a log of so many bytes is durable, name and all, and open. */
async function opened(kind: MediumKind, sizeBytes: number, bounds: Partial<CrashBounds> = TINY): Promise<Opened> {
  const medium = simulatedMedium({ kind, bounds });
  const storage = medium.open("writer");
  const lock = await storage.lock(LOCK);
  await publish(storage, LOG, bytesFrom(1, sizeBytes), lock);
  medium.writeBack();
  return { medium, storage, lock, file: await storage.open(LOG, lock) };
}

/** Bytes that count up and are never 0. */
function bytesFrom(first: number, sizeBytes: number): Uint8Array {
  return new Uint8Array(sizeBytes).map((_, index) => 1 + (first - 1 + index) % 255);
}

/** The log in every state, as hexadecimal; a state in which it is not there is the empty text. Fails on a state that comes twice. */
function logs(medium: SimulatedMedium): Set<string> {
  const found = new Set<string>();
  for (const state of medium.crashStates()) {
    const key = keyOf(state.files().get(LOG) ?? []);
    assert(!found.has(key), `${state.describe()} comes twice`);
    found.add(key);
  }
  assertEquals(found.size, medium.countCrashStates());
  return found;
}

for (const kind of KINDS) {
  Deno.test(`${kind}: nothing waits, so there is one state`, async () => {
    const { medium } = await opened(kind, 5);
    assertEquals(logs(medium), new Set([keyOf(bytesFrom(1, 5))]));
    assertEquals(medium.crashStateAt(0).describe(), "nothing waited");
  });

  Deno.test(`${kind}: one write inside a block leaves any prefix, or its length over zeros`, async () => {
    const { medium, file } = await opened(kind, 1);
    await file.append(Uint8Array.of(7, 8, 9));
    assertEquals(logs(medium), new Set(["01", "0107", "010708", "01070809", "01000000"]));
  });

  Deno.test(`${kind}: one write of n whole blocks leaves 4n + 1 prefixes and Σ(2ʲ − 1) sets of blocks`, async () => {
    for (const blocks of [1, 2, 3, 4, 5]) {
      const { medium, file } = await opened(kind, 4);
      await file.append(bytesFrom(5, 4 * blocks));
      const subsets = Array.from({ length: blocks }, (_, index) => 2 ** (index + 1) - 1).reduce((a, b) => a + b);
      assertEquals(logs(medium).size, 4 * blocks + 1 + subsets);
    }
  });

  Deno.test(`${kind}: a cut may be there in the block and not in the length`, async () => {
    const { medium, file } = await opened(kind, 10);
    await file.truncate(6);
    assertEquals(logs(medium), new Set(["0102030405060708090a", "010203040506", "01020304050600000" + "90a"]));
  });

  Deno.test(`${kind}: what was synced stays in every state, also in the block that is written again`, async () => {
    const { medium, file } = await opened(kind, 3);
    await file.append(Uint8Array.of(4, 5, 6));
    await file.sync();
    assertEquals(logs(medium).size, 1);
    await file.append(Uint8Array.of(7, 8, 9, 10));
    for (const log of logs(medium)) assert(log.startsWith("010203040506"), log);
  });

  Deno.test(`${kind}: a sync that drops leaves each block in doubt until something in it is written again`, async () => {
    const { medium, storage, lock, file } = await opened(kind, 4);
    await file.append(bytesFrom(5, 8));
    medium.failAt({ operation: medium.operations, kind: "sync-drops" });
    await rejects(file.sync(), "SYNC_FAILED");
    await file.close();
    assert(medium.isInDoubt(LOG));
    const doubted = logs(medium);
    // Nine prefixes, and of the two blocks below the lengths 8 and 12 either content, unless that is a prefix.
    assertEquals(doubted.size, 9 + 1 + 3);
    const again = await storage.open(LOG, lock);
    await again.sync();
    assertEquals(logs(medium), doubted, "a second sync writes nothing that was dropped");
    assert(medium.isInDoubt(LOG) && medium.afterKill().isInDoubt(LOG));
    await again.truncate(4);
    await again.append(bytesFrom(5, 8));
    await again.sync();
    assertEquals(logs(medium), new Set([keyOf(bytesFrom(1, 12))]));
    assert(!medium.isInDoubt(LOG));
  });

  Deno.test(`${kind}: a refused sync keeps what waits, and a later one makes it durable`, async () => {
    const { medium, storage, lock, file } = await opened(kind, 4);
    await file.append(bytesFrom(5, 3));
    const before = logs(medium);
    medium.failAt({ operation: medium.operations, kind: "sync-refused" });
    await rejects(file.sync(), "SYNC_FAILED");
    assertEquals(logs(medium), before);
    await file.close();
    await (await storage.open(LOG, lock)).sync();
    assertEquals(logs(medium), new Set([keyOf(bytesFrom(1, 7))]));
  });

  Deno.test(`${kind}: any series of writes, cuts and syncs leaves what a second model says, no more and no less`, async () => {
    let states = 0;
    for (let seed = 1; seed <= 100; seed++) states += await compareWithBrute(kind, seededRandom(seed), `seed ${seed}`);
    assert(states > 5_000, `${states} states`);
    console.log(`${states} states`);
  });

  Deno.test(`${kind}: a drawn state is one of those that are enumerated, and every one of them is drawn`, async () => {
    const { medium, file } = await opened(kind, 3);
    await file.append(bytesFrom(4, 6));
    const all = logs(medium);
    const random = seededRandom(1);
    const drawn = new Set<string>();
    for (let draw = 0; draw < 500; draw++) {
      const state = medium.randomCrashState(random);
      drawn.add(keyOf(state.files().get(LOG)!));
      assertEquals(keyOf(state.files().get(LOG)!), keyOf(state.medium().snapshot().get(LOG)!));
    }
    assertEquals(drawn, all);
  });

  Deno.test(`${kind}: a state is a medium of its own, and what happens on one changes no other`, async () => {
    const { medium, file } = await opened(kind, 4);
    await file.append(bytesFrom(5, 3));
    medium.crash();
    const before = logs(medium);
    for (let index = 0; index < medium.countCrashStates(); index++) {
      const state = medium.crashStateAt(index);
      const after = state.medium();
      const storage = after.open("next");
      const lock = await storage.lock(LOCK);
      const again = await storage.open(LOG, lock);
      assertEquals(after.countCrashStates(), 1);
      await again.append(Uint8Array.of(99));
      await again.truncate(1);
      await again.sync();
      assertEquals(keyOf(after.snapshot().get(LOG)!), "01");
      assertEquals(keyOf(state.files().get(LOG)!), keyOf(state.medium().snapshot().get(LOG)!));
    }
    assertEquals(logs(medium), before);
    await rejects(file.append(Uint8Array.of(1)), "STORAGE_LOST");
  });

  Deno.test(`${kind}: beyond the bounds the edges are enumerated, and every one of them is a state of the whole`, async () => {
    const whole = await opened(kind, 4, { ...TINY, prefixBytesMax: 40 });
    const edges = await opened(kind, 4, { ...TINY, prefixBytesMax: 40, blockCombinationsMax: 16 });
    for (const { file } of [whole, edges]) await file.append(bytesFrom(5, 40));
    const [all, some] = [logs(whole.medium), logs(edges.medium)];
    for (const log of some) assert(all.has(log), log);
    assert(some.size < all.size / 4, `${some.size} of ${all.size}`);
    const zeros = keyOf(new Uint8Array(40));
    assert(some.has(keyOf(bytesFrom(1, 4)) + zeros), "the length without any data");
    const inOrder = await opened(kind, 4, { ...TINY, prefixBytesMax: 40, blockCombinationsMax: 0 });
    await inOrder.file.append(bytesFrom(5, 40));
    assertEquals(logs(inOrder.medium).size, 41);
    const few = await opened(kind, 4, { ...TINY, prefixBytesMax: 39, blockCombinationsMax: 0 });
    await few.file.append(bytesFrom(5, 40));
    const prefixes = logs(few.medium);
    assertEquals(prefixes.size, 17 + 16 + 1 + 3, "17 and 16 at the ends, the whole, and three around the edge between");
  });

  Deno.test(`${kind}: after kill -9 everything is read, and waits as before`, async () => {
    const { medium, file } = await opened(kind, 4);
    await file.append(bytesFrom(5, 3));
    const before = logs(medium);
    const after = medium.afterKill();
    assertEquals(keyOf(after.snapshot().get(LOG)!), keyOf(bytesFrom(1, 7)));
    assertEquals(logs(after), before);
    const storage = after.open("next");
    await (await storage.open(LOG, await storage.lock(LOCK))).sync();
    assertEquals(logs(after).size, 1);
    assertEquals(logs(medium), before);
  });
}

for (const kind of KINDS) {
  Deno.test(`${kind}: two states have one key exactly when they hold the same`, async () => {
    const { medium, file } = await opened(kind, 4);
    const byKey = new Map<string, string>();
    let states = 0;
    for (let write = 0; write < 40; write++) {
      await file.append(bytesFrom(write + 5, 11));
      for (const state of [...medium.crashStates(), medium.randomCrashState(seededRandom(write))]) {
        const files = [...state.files()].map(([name, bytes]) => `${name}=${keyOf(bytes)}`).toSorted().join();
        assertEquals(byKey.get(state.key) ?? files, files);
        assertEquals(state.medium().crashStateAt(0).key, state.key);
        byKey.set(state.key, files);
        states++;
      }
      if (write % 2 === 1) await file.sync();
    }
    assertEquals(new Set(byKey.values()).size, byKey.size);
    assert(states > byKey.size, "some states came twice");
  });

  Deno.test(`${kind}: an observer sees every operation before it is done, and what a crash would leave then`, async () => {
    const { medium, file } = await opened(kind, 4);
    const seen: string[] = [];
    medium.observer = ({ kind, name, sizeBytes, operation }) => {
      assertEquals(operation, medium.operations);
      seen.push(`${kind} ${name} ${sizeBytes}: ${medium.countCrashStates()}`);
    };
    await file.append(bytesFrom(5, 4));
    await file.sync();
    await file.truncate(4);
    medium.observer = null;
    await file.sync();
    assertEquals(seen, [`write ${LOG} 4: 1`, `sync ${LOG} 0: 6`, `truncate ${LOG} 0: 1`]);
  });

  Deno.test(`${kind}: what a state is, and how it is told, stays the same while the medium goes on`, async () => {
    const { medium, file } = await opened(kind, 4);
    await file.append(bytesFrom(5, 4));
    const states = [...medium.crashStates()];
    const told = states.map((state) => [state.describe(), state.key, keyOf(state.files().get(LOG)!)]);
    await file.append(bytesFrom(9, 4));
    await file.sync();
    await file.truncate(1);
    assertEquals(states.map((state) => [state.describe(), state.key, keyOf(state.files().get(LOG)!)]), told);
    assertEquals(new Set(told.map(([text]) => text)).size, told.length);
  });
}

Deno.test("posix: a name is durable when its folder and those above are synced", async () => {
  const medium = simulatedMedium({ kind: "posix" });
  const storage = medium.open("writer");
  const lock = await storage.lock(LOCK);
  const found: boolean[] = [];
  medium.observer = () => found.push(medium.isNameDurable(LOG));
  await publish(storage, LOG, bytesFrom(1, 3), lock);
  // Before create, write, sync, link, the folder's sync and that of the folder above.
  assertEquals([...found, medium.isNameDurable(LOG)], [false, false, false, false, false, false, true]);
  assertEquals([medium.isNameDurable(LOCK), medium.isNameDurable("a/other")], [true, false]);
  found.length = 0;
  await storage.remove(LOG, lock);
  assertEquals([...found, medium.isNameDurable(LOG)], [true, false, false]);
});

Deno.test("opfs: a name is durable only when time has passed", async () => {
  const medium = simulatedMedium({ kind: "opfs" });
  const storage = medium.open("worker");
  await publish(storage, LOG, bytesFrom(1, 3), await storage.lock(LOCK));
  assertEquals(medium.isNameDurable(LOG), false);
  medium.writeBack();
  assertEquals(medium.isNameDurable(LOG), true);
});

Deno.test("posix: folders and a lock file that nobody synced are there, each, or not", async () => {
  const medium = simulatedMedium({ kind: "posix" });
  await medium.open("writer").lock("p/a/session.lock");
  // Nothing; p; p/a; p/a with the lock file.
  assertEquals(medium.countCrashStates(), 4);
  assertEquals([...medium.crashStates()].filter((state) => state.files().has("p/a/session.lock")).length, 1);
});

Deno.test("posix: a name waits for its folder's sync, and its content does not", async () => {
  const medium = simulatedMedium({ kind: "posix" });
  const storage = medium.open("writer");
  const lock = await storage.lock("session.lock");
  const at = medium.operations;
  await publish(storage, "log", bytesFrom(1, 9), lock);
  assertEquals(medium.operationLog.slice(at).map(({ kind }) => kind), [
    "create",
    "write",
    "sync",
    "link",
    "sync-folder",
  ]);

  const dying = simulatedMedium({ kind: "posix" });
  const writer = dying.open("writer");
  const held = await writer.lock("session.lock");
  dying.failAt({ operation: at + 4, kind: "crash" });
  await rejects(publish(writer, "log", bytesFrom(1, 9), held), "STORAGE_LOST");
  const found = [...dying.crashStates()].map((state) => keyOf(state.files().get("log") ?? []));
  // With and without the name of the lock file.
  assertEquals(found.toSorted(), ["", "", keyOf(bytesFrom(1, 9)), keyOf(bytesFrom(1, 9))]);
});

Deno.test("opfs: a name is lost or not however often its file was flushed, until time has passed", async () => {
  const medium = simulatedMedium({ kind: "opfs" });
  const storage = medium.open("worker");
  const lock = await storage.lock("session.lock");
  await publish(storage, "log", bytesFrom(1, 9), lock);
  const file = await storage.open("log", lock);
  for (let flush = 0; flush < 3; flush++) await file.sync();
  const found = new Set([...medium.crashStates()].map((state) => keyOf(state.files().get("log") ?? [])));
  assertEquals(found, new Set(["", keyOf(bytesFrom(1, 9))]));
  medium.writeBack();
  assertEquals(medium.countCrashStates(), 1);
});

Deno.test("opfs: a claim that died in the middle counts as absent, and the next one starts over", async () => {
  const rehearsal = simulatedMedium({ kind: "opfs" });
  await publishOn(rehearsal.open("worker"));
  const kinds = new Set<string>();
  for (let operation = 0; operation < rehearsal.operations; operation++) {
    for (const bytes of [0, 1, 5]) {
      const medium = simulatedMedium({ kind: "opfs" });
      medium.failAt({ operation, kind: "crash", bytes });
      await rejects(publishOn(medium.open("worker")), "STORAGE_LOST");
      for (const after of [medium.afterKill(), ...[...medium.crashStates()].map((state) => state.medium())]) {
        const storage = after.open("next");
        const stat = await storage.stat("a/log");
        kinds.add(stat === null ? "absent" : "whole");
        if (stat !== null) assertEquals(keyOf(await storage.read("a/log")), keyOf(bytesFrom(1, 9)));
        else await publishOn(storage);
        assertEquals(keyOf(await storage.read("a/log")), keyOf(bytesFrom(1, 9)));
      }
    }
  }
  assertEquals(kinds, new Set(["absent", "whole"]));
});

async function publishOn(storage: StoragePort): Promise<void> {
  await publish(storage, "a/log", bytesFrom(1, 9), await storage.lock("a/session.lock"));
}

Deno.test("opfs: a removed name may be back, and a removed folder in any part", async () => {
  const files = Object.fromEntries(["a/session.lock", "a/log", "a/blob"].map((name) => [name, bytesFrom(1, 3)]));
  const medium = simulatedMediumWith(files, { kind: "opfs" });
  const storage = medium.open("worker");
  await storage.remove("a/", await storage.lock("a/session.lock"));
  assertEquals(medium.snapshot().size, 0);
  // The folder lost, or there with any part of three files.
  assertEquals(medium.countCrashStates(), 1 + 2 ** 3);
});

Deno.test("more waiting names than the bound are enumerated at the edges only", async () => {
  const open = async (nameCombinationsMax: number) => {
    const medium = simulatedMedium({ kind: "opfs", bounds: { nameCombinationsMax } });
    const storage = medium.open("worker");
    const lock = await storage.lock("session.lock");
    medium.writeBack();
    for (let index = 0; index < 7; index++) await publish(storage, `blob${index}`, bytesFrom(1, 3), lock);
    const keys = [...medium.crashStates()].map((state) => [...state.files().keys()].sort().join());
    assertEquals(new Set(keys).size, keys.length);
    return new Set(keys);
  };
  const [all, some] = [await open(128), await open(127)];
  assertEquals(all.size, 128);
  // 8 prefixes; of 7 alone one is a prefix; of 7 missing one is a prefix.
  assertEquals(some.size, 8 + 6 + 6);
  for (const names of some) assert(all.has(names), names);
});

Deno.test("a crash state that is not there is refused", () => {
  const medium = simulatedMedium({ kind: "posix" });
  for (const index of [1, -1, 0.5]) assertThrows(() => medium.crashStateAt(index), RangeError);
});

/** Random changes through the port, and the same to the second model; after each the states of both must be equal. */
async function compareWithBrute(kind: MediumKind, random: SeededRandom, at: string): Promise<number> {
  const { medium, storage, lock, file: first } = await opened(kind, 2);
  let file = first;
  const brute = new BruteFile(4);
  brute.append([...bytesFrom(1, 2)]);
  brute.sync();
  let states = 0;
  let next = 50;
  for (let step = 0; step < 7; step++) {
    const action = random.pick(["append", "append", "append", "truncate", "sync", "drop", "refuse"] as const);
    if (action === "append") {
      // Now and then what was written before, so that equal states come from different ways.
      const bytes = bytesFrom(random.below(4) === 0 ? 1 + file.sizeBytes : next, 1 + random.below(5));
      next += bytes.length;
      await file.append(bytes);
      brute.append([...bytes]);
    } else if (action === "truncate") {
      // Never to nothing: where a name is claimed by its first byte that would unpublish it.
      const sizeBytes = 1 + random.below(file.sizeBytes);
      await file.truncate(sizeBytes);
      brute.truncate(sizeBytes);
    } else if (action === "sync") {
      await file.sync();
      brute.sync();
    } else {
      medium.failAt({ operation: medium.operations, kind: action === "drop" ? "sync-drops" : "sync-refused" });
      await rejects(file.sync(), "SYNC_FAILED");
      if (action === "drop") brute.drop();
      await file.close();
      file = await storage.open(LOG, lock);
    }
    const found = logs(medium);
    assertEquals([...found].toSorted(), [...brute.states()].toSorted(), `${at}, step ${step}, ${action}`);
    states += found.size;
  }
  return states;
}

async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  const error = await promise.then(() => null, (error) => error);
  assertEquals(error?.code, code, String(error));
}
