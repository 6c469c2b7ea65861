import { assertEquals, assertRejects } from "@std/assert";
import { createSession, openSession, type SessionStore } from "../../../mod.ts";
import { MemoryStorage, openMemoryStore, systemClock } from "../../../src/entry/memory.ts";
import { ledgerDrafts } from "../../../src/server/sandbox/entries.ts";
import { Ledger, type LedgerParts } from "../../../src/server/sandbox/ledger.ts";
import { keyOf } from "./sandbox_support.ts";

const DIGEST = "d".repeat(64);

function ledgerOn(storage: MemoryStorage, more: Partial<LedgerParts> = {}): Ledger {
  return new Ledger({ store: openMemoryStore({ storage }), clock: systemClock, ...more });
}

/** Runs keys to their end, one after the other. */
async function runAll(ledger: Ledger, first: number, last: number): Promise<void> {
  for (let key = first; key <= last; key++) {
    await ledger.exec(keyOf(key), DIGEST, () => Promise.resolve({ exitCode: key }));
    await ledger.ended(keyOf(key), 10_000);
  }
}

const neverRun = () => Promise.reject(new Error("it runs"));

async function idsIn(store: SessionStore): Promise<string[]> {
  return (await Array.fromAsync(store.list())).map(({ id }) => id);
}

Deno.test("a log that grows begins a new generation: outcomes of old keys go, the keys never", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const limits = { keysMax: 10, outcomesCarriedMax: 3 };
  const ledger = ledgerOn(storage, { limits });
  await ledger.settle(keyOf(0));
  await runAll(ledger, 1, 100);
  await ledger.close();

  const restarted = storage.crash();
  const store = openMemoryStore({ storage: restarted });
  assertEquals(await idsIn(store), ["sandbox-ledger-000011"]);
  const again = ledgerOn(restarted, { limits });
  assertEquals(await again.exec(keyOf(0), DIGEST, neverRun), { state: "absent" });
  const states = [];
  for (let key = 1; key <= 100; key++) states.push((await again.exec(keyOf(key), DIGEST, neverRun)).state);
  const finished = states.indexOf("finished");
  assertEquals(states.slice(0, finished).every((state) => state === "forgotten"), true);
  assertEquals(states.slice(finished).every((state) => state === "finished"), true);
  // Those of this generation, and the three that were carried into it.
  assertEquals(states.length - finished, 4);
  assertEquals(await again.settle(keyOf(1)), { state: "forgotten" });
  assertEquals(await again.look(keyOf(100)), { state: "finished", outcome: { exitCode: 100 } });
  await again.close();
});

Deno.test("a command that runs while the log begins anew keeps its key, and its outcome goes into the new one", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const ledger = ledgerOn(storage, { limits: { keysMax: 3, outcomesCarriedMax: 0 } });
  const { promise, resolve } = Promise.withResolvers<{ exitCode: number }>();
  await ledger.exec(keyOf(99), DIGEST, () => promise);
  await runAll(ledger, 1, 10);
  assertEquals(await ledger.settle(keyOf(99)), { state: "running" });
  resolve({ exitCode: 7 });
  await ledger.ended(keyOf(99), 10_000);
  await ledger.close();
  const again = ledgerOn(storage.crash());
  assertEquals(await again.settle(keyOf(99)), { state: "finished", outcome: { exitCode: 7 } });
  await again.close();
});

Deno.test("outcomes that are spilled make room for others: the blobs of a generation are bounded", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const ledger = ledgerOn(storage, { limits: { blobBytesMax: 100_000, outcomesCarriedMax: 2 } });
  for (let key = 1; key <= 40; key++) {
    await ledger.exec(keyOf(key), DIGEST, () => Promise.resolve({ text: `${key} `.repeat(5000) }));
    await ledger.ended(keyOf(key), 10_000);
  }
  let sizeBytes = 0;
  for (const { name, kind } of await walk(storage, "")) {
    if (kind === "file") sizeBytes += (await storage.stat(name))!.sizeBytes;
  }
  assertEquals(sizeBytes < 200_000, true, `${sizeBytes} bytes`);
  const last = await ledger.look(keyOf(40));
  assertEquals(last.state === "finished" && last.outcome["text"], "40 ".repeat(5000));
  await ledger.close();
});

async function walk(storage: MemoryStorage, prefix: string): Promise<{ name: string; kind: string }[]> {
  const entries = await storage.list(prefix);
  const inner = await Promise.all(
    entries.filter(({ kind }) => kind === "folder").map(({ name }) => walk(storage, name)),
  );
  return [...entries, ...inner.flat()];
}

Deno.test("at its bound of keys a ledger runs nothing new and settles nothing new, and still knows what it knew", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const ledger = ledgerOn(storage, { keysMax: 2 });
  await runAll(ledger, 1, 2);
  await assertRejects(() => ledger.exec(keyOf(3), DIGEST, neverRun), Error, "the ledger knows 2 for good");
  await assertRejects(() => ledger.settle(keyOf(3)), Error, "the ledger knows 2 for good");
  assertEquals(await ledger.look(keyOf(3)), { state: "unseen" });
  assertEquals((await ledger.exec(keyOf(1), DIGEST, neverRun)).state, "finished");
  await ledger.close();
});

Deno.test("a generation that a crash cut off before it was whole is removed, and the one before is believed", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const ledger = ledgerOn(storage);
  await ledger.settle(keyOf(1));
  await runAll(ledger, 2, 2);
  await ledger.close();
  const restarted = storage.crash();
  const store = openMemoryStore({ storage: restarted });
  const torn = await createSession({ store, id: "sandbox-ledger-000002" });
  torn.append(ledgerDrafts.carried([keyOf(1)], []));
  await torn.close();
  const again = ledgerOn(restarted);
  assertEquals((await again.look(keyOf(2))).state, "finished");
  assertEquals(await idsIn(store), ["sandbox-ledger-000001"]);
  await again.close();
});

Deno.test("a start that the medium refused can be tried again, or settled as absent", async () => {
  for (const next of ["exec", "settle"] as const) {
    const storage = new MemoryStorage({ simulate: "disk" });
    const ledger = ledgerOn(storage);
    await ledger.settle(keyOf(9));
    let runs = 0;
    const run = () => Promise.resolve({ runs: ++runs });
    storage.failAt({ operation: "append", kind: "enospc" });
    const refused = await assertRejects(() => ledger.exec(keyOf(1), DIGEST, run)) as { code?: string };
    assertEquals([refused.code, runs], ["STORAGE_FULL", 0]);
    assertEquals(await ledger.look(keyOf(1)), { state: "unseen" });
    if (next === "exec") {
      assertEquals(await ledger.exec(keyOf(1), DIGEST, run), { state: "running" });
      await ledger.ended(keyOf(1), 10_000);
      assertEquals(await ledger.look(keyOf(1)), { state: "finished", outcome: { runs: 1 } });
    } else {
      assertEquals(await ledger.settle(keyOf(1)), { state: "absent" });
      assertEquals(await ledger.exec(keyOf(1), DIGEST, neverRun), { state: "absent" });
      assertEquals(await ledgerOn(storage.crash()).exec(keyOf(1), DIGEST, neverRun), { state: "absent" });
    }
    await ledger.close();
  }
});

Deno.test("two servers over one root: the second one is refused while the first one lives", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const first = ledgerOn(storage);
  await first.settle(keyOf(1));
  const second = ledgerOn(storage);
  const refused = await assertRejects(() => second.exec(keyOf(2), DIGEST, neverRun)) as { code?: string };
  assertEquals(refused.code, "LOCK_HELD");
  await first.close();
  assertEquals(await second.exec(keyOf(1), DIGEST, neverRun), { state: "absent" });
  await second.close();
});

Deno.test("a log with an event that is none of a ledger's is not believed, and nothing runs", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const ledger = ledgerOn(storage);
  await ledger.settle(keyOf(1));
  await ledger.close();
  const restarted = storage.crash();
  const store = openMemoryStore({ storage: restarted });
  const { session } = await openSession({ store, id: "sandbox-ledger-000001" });
  session.append({ type: "sandbox/tombstone", data: { effectKey: "../../x" }, ignorable: true });
  await session.close();
  const again = ledgerOn(restarted);
  const refused = await assertRejects(() => again.exec(keyOf(2), DIGEST, neverRun)) as { code?: string };
  assertEquals(refused.code, "CORRUPT_LOG");
});

Deno.test("close() lets a command go on until its deadline, and writes down how it ended", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const due: (() => void)[] = [];
  const clock = { now: () => 0, schedule: (_ms: number, wake: () => void) => (due.push(wake), () => {}) };
  const ledger = ledgerOn(storage, { clock });
  const run = (signal: AbortSignal) =>
    new Promise<{ ending: string }>((resolve) =>
      signal.addEventListener("abort", () => resolve({ ending: "cancelled" }))
    );
  await ledger.exec(keyOf(1), DIGEST, run);
  await ledger.exec(keyOf(2), DIGEST, () => Promise.resolve({ ending: "exited" }));
  await ledger.ended(keyOf(2), 1);
  due.length = 0;
  const closing = ledger.close(1000);
  assertEquals(await ledger.settle(keyOf(1)), { state: "running" });
  await assertRejects(() => ledger.exec(keyOf(3), DIGEST, neverRun), Error, "going down");
  due.forEach((wake) => wake());
  await closing;
  const again = ledgerOn(storage.crash());
  assertEquals(await again.look(keyOf(1)), { state: "finished", outcome: { ending: "cancelled" } });
  await again.close();
});
