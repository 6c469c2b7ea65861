import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
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

Deno.test("a folder swapped under a live writer: another one is LOCK_LOST, a link to the old one still leads to our file", async () => {
  for (const swapped of ["--w--", "--w--/s"]) {
    await onFiles(async ({ log, root }) => {
      const folder = `${root}/${swapped}`;
      await Deno.rename(folder, `${root}/--moved--`);
      await copyTree(`${root}/--moved--`, folder);
      const error = await assertRejects(() => log.append(BATCHES[1]!));
      assert(hasCode(error, "LOCK_LOST"), `${swapped}: ${error}`);
    });
    await onFiles(async ({ log, root }) => {
      await Deno.remove(`${root}/${swapped}`, { recursive: true });
      await Deno.writeTextFile(`${root}/${swapped}`, "a file");
      const error = await assertRejects(() => log.append(BATCHES[1]!));
      assert(hasCode(error, "LOCK_LOST"), `${swapped}: ${error}`);
    });
    await onFiles(async ({ log, root }) => {
      const moved = await Deno.makeTempDir();
      try {
        // The session lies at the same place in another root.
        const there = swapped === "--w--" ? moved : `${moved}/--w--`;
        await Deno.mkdir(there, { recursive: true });
        await Deno.rename(`${root}/${swapped}`, `${there}/${swapped.split("/").at(-1)}`);
        await Deno.symlink(`${moved}/${swapped}`, `${root}/${swapped}`);
        await log.append(BATCHES[1]!);
        assertEquals(await eventsIn(moved), turnOf(1).slice(0, 4));
        await using elsewhere = journal(openFileStorage({ root: moved }));
        const held = await assertRejects(() => elsewhere.open("s", "write"));
        assert(hasCode(held, "LOCK_HELD"), "nobody else writes it");
        await using here = journal(openFileStorage({ root }));
        for await (const row of here.list()) assertStringIncludes(row.reason ?? "", "which is not followed");
        await assertRejects(() => log.putBlob(new Uint8Array(3)));
      } finally {
        await Deno.remove(moved, { recursive: true });
      }
    });
  }
});

async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    await (isDirectory ? copyTree : Deno.copyFile)(`${from}/${name}`, `${to}/${name}`);
  }
}
