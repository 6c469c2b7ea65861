import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { hasCode } from "../../src/errors.ts";
import type { LogWriter } from "../../src/store/session_store.ts";
import { FaultyFileSystem } from "../adapters/file/faulty_file_system.ts";
import { BATCHES, headerOf, journal, turnOf, turnsOf } from "./script.ts";

/** A session in real files, whose system calls can be made to fail. */
async function onFiles(
  act: (setup: { readonly faulty: FaultyFileSystem; readonly log: LogWriter; readonly root: string }) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  const faulty = new FaultyFileSystem();
  const store = journal(openFileStorage({ root, fs: faulty.fs }));
  try {
    const log = await store.create(headerOf());
    await log.append(BATCHES[0]!);
    await act({ faulty, log, root });
  } finally {
    await store.close();
    await Deno.remove(root, { recursive: true });
  }
}

async function eventsIn(root: string) {
  const store = journal(openFileStorage({ root }));
  const { events } = await (await store.open("s", "read")).read({ limit: 5000 });
  await store.close();
  return events;
}

Deno.test("a steady append costs two stats, one write and one fdatasync", () =>
  onFiles(async ({ faulty, log }) => {
    const events = turnsOf(40).slice(2);
    const before = faulty.calls.length;
    let flushes = 0;
    for (let from = 0; from + 4 <= events.length; from += 4, flushes++) await log.append(events.slice(from, from + 4));
    const counts: Record<string, number> = {};
    for (const { call } of faulty.calls.slice(before)) counts[call] = (counts[call] ?? 0) + 1;
    assertEquals(counts, { lstatSync: 2 * flushes, writeSync: flushes, fdatasyncSync: flushes });
  }));

Deno.test("a failed fdatasync is made good under the same lock, and the log holds the batch once", () =>
  onFiles(async ({ faulty, log, root }) => {
    faulty.failNext({ operation: "sync", kind: "eio" });
    assertEquals(await log.append(BATCHES[1]!), 3);
    assertEquals(await log.append(BATCHES[2]!), 4);
    assertEquals(await eventsIn(root), turnOf(1).slice(0, 5));
  }));

Deno.test("two failed fdatasyncs end the writer and keep what was acknowledged (field/D04)", () =>
  onFiles(async ({ faulty, log, root }) => {
    faulty.failNext({ operation: "sync", kind: "eio" });
    faulty.failNext({ operation: "sync", kind: "eio" });
    const error = await assertRejects(() => log.append(BATCHES[1]!));
    assert(hasCode(error, "SYNC_FAILED"));
    assertStrictEquals(await assertRejects(() => log.append(BATCHES[1]!)), error);
    assertEquals((await eventsIn(root)).slice(0, 2), turnOf(1).slice(0, 2));
  }));

Deno.test("a full disk in the middle of a batch leaves the log as it was, cut back or not (field/A04)", async () => {
  for (const cutsBack of [true, false]) {
    await onFiles(async ({ faulty, log, root }) => {
      faulty.failNext({ operation: "append", kind: "enospc", steps: 9, cutsBack });
      const error = await assertRejects(() => log.append(BATCHES[1]!));
      assert(hasCode(error, "STORAGE_FULL"));
      assertEquals(await eventsIn(root), turnOf(1).slice(0, 2));
      assertEquals(await log.append(BATCHES[1]!), 3);
      assertEquals(await eventsIn(root), turnOf(1).slice(0, 4));
    });
  }
});
