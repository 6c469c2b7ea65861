/**
 * The POSIX-like medium against the disk of the memory adapter: whatever that one can leave, this one can.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { MemoryStorage } from "../../../src/adapters/memory/mod.ts";
import type { StoragePort } from "../../../mod.ts";
import { type SimulatedMedium, simulatedMedium, simulatedMediumWith } from "../../../src/testing/media/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { BATCHES, headerOf, journal, logBytes, logOf, remembering, storageWith } from "../../journal/script.ts";

const codec = remembering(nodeZstd());

/** A script that is run on both. It goes on until it is done or the machine is dead. */
type Script = (storage: StoragePort) => Promise<void>;

const writing: Script = async (storage) => {
  const log = await journal(storage, { codec }).create(headerOf());
  for (const batch of BATCHES) await log.append(batch);
};

const recovering: Script = async (storage) => {
  const log = await journal(storage, { codec }).open("s", "write");
  await log.recover([]);
};

const removing: Script = async (storage) => await journal(storage, { codec }).delete("s");

/** A log whose last frame is torn. */
function tornFiles(): Record<string, Uint8Array> {
  return { [logOf("zstd")]: logBytes(headerOf(), BATCHES, "zstd", codec).slice(0, -9) };
}

for (
  const [name, script, files] of [
    ["writing a log", writing, {}],
    ["recovering a torn log", recovering, tornFiles()],
    ["deleting a session", removing, tornFiles()],
  ] as const
) {
  Deno.test(`every state that the memory adapter's disk leaves is one of the posix ones (${name})`, async () => {
    const ours = await posixImages(script, files);
    const theirs = await memoryImages(script, files);
    assert(theirs.size >= 2);
    for (const image of theirs) assert(ours.has(image), `not among ${ours.size} states: ${image}`);
    console.log(`${theirs.size} states of the memory adapter's disk, ${ours.size} of the posix medium`);
  });
}

async function posixImages(script: Script, files: Record<string, Uint8Array>): Promise<Set<string>> {
  const images = new Set<string>();
  const fresh = () => simulatedMediumWith(files, { kind: "posix" });
  const rehearsal = fresh();
  await script(rehearsal.open("writer"));
  for (let operation = 0; operation <= rehearsal.operations; operation++) {
    const medium = fresh();
    medium.failAt({ operation, kind: "crash" });
    await until(script(medium.open("writer")), () => medium.isDead);
    medium.crash();
    for (const state of medium.crashStates()) images.add(keyOf(state.files()));
  }
  return images;
}

async function memoryImages(script: Script, files: Record<string, Uint8Array>): Promise<Set<string>> {
  const images = new Set<string>();
  const fresh = () => Object.keys(files).length === 0 ? new MemoryStorage({ simulate: "disk" }) : storageWith(files);
  const rehearsal = fresh();
  await script(rehearsal);
  for (const { operation, kind, steps } of rehearsal.operations) {
    // What waits after a part of a write is the beginning of what waits after all of it.
    const parts = kind === "append" || kind === "stageAppend"
      ? [steps]
      : Array.from({ length: steps + 1 }, (_, step) => step);
    for (const part of parts) {
      const storage = fresh();
      storage.failAt({ operation, kind: "crash", steps: part });
      await until(script(storage), () => storage.isDead);
      const keeps = kind === "sync"
        ? [0, storage.unsyncedSteps]
        : Array.from({ length: storage.unsyncedSteps + 1 }, (_, n) => n);
      for (const keepUnsynced of keeps) images.add(keyOf(await filesOf(storage.crash({ keepUnsynced }))));
      images.add(keyOf(await filesOf(storage.crash({ keepUnsynced: "all" }))));
    }
  }
  return images;
}

/** Waits for a script that is meant to be stopped by a death, and by nothing else. */
async function until(running: Promise<void>, isDead: () => boolean): Promise<void> {
  try {
    await running;
  } catch (error) {
    if (!isDead()) throw error;
  }
}

async function filesOf(storage: StoragePort, prefix = ""): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const { name, kind } of await storage.list(prefix)) {
    if (kind === "file") files.set(name, await storage.read(name));
    else for (const [inner, bytes] of await filesOf(storage, name)) files.set(inner, bytes);
  }
  return files;
}

function keyOf(files: ReadonlyMap<string, Uint8Array>): string {
  return [...files].map(([name, bytes]) => `${name}=${bytes.toHex()}`).toSorted().join();
}

Deno.test("what the memory adapter's disk loses in a failed sync is one of the posix states", async () => {
  const write = async (storage: StoragePort, fail: () => void) => {
    const lock = await storage.lock("a/session.lock");
    const staged = await storage.stage("a/log", lock);
    await staged.append(new TextEncoder().encode("one"));
    const file = await staged.publish();
    await file.append(new TextEncoder().encode("twothree"));
    fail();
    await file.sync().catch(() => {});
  };
  const medium: SimulatedMedium = simulatedMedium({ kind: "posix" });
  await write(medium.open("writer"), () => medium.failAt({ operation: medium.operations, kind: "sync-drops" }));
  const ours = new Set([...medium.crashStates()].map((state) => keyOf(state.files())));
  for (let steps = 0; steps <= 8; steps++) {
    const storage = new MemoryStorage({ simulate: "disk" });
    await write(storage, () => storage.failAt({ operation: "sync", kind: "sync", steps }));
    const found = keyOf(await filesOf(storage.crash()));
    assert(ours.has(found), found);
  }
  assertEquals(ours.size, 9 + 1, "nine prefixes, and the length over zeros");
});
