import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/mod.ts";
import { AlreadyExistsError, CorruptLogError, NotFoundError } from "../../src/errors.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { IMPORT_NOTE_NAME, openJournal, rawLogs } from "../../src/journal/mod.ts";
import { createSession, openSession } from "../../src/session/mod.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";

function medium(compression: "zstd" | "none" = "zstd") {
  const storage = new MemoryStorage({ simulate: "disk" });
  const runtime = { codec: portableZstd(), clock: new FakeClock(), random: seededRandom(1) };
  const logs = rawLogs({ storage, ...runtime });
  return { storage, logs, store: openJournal({ storage, ...runtime, compression }) };
}

/** A session whose turn is open, with its bytes. */
async function openTurn(store: SessionStore, cwd?: string): Promise<void> {
  const session = await createSession({ store, id: "a", cwd });
  session.append({ type: "turn/start", data: { turn: 1 } });
  session.append({ type: "step/start", data: { turn: 1, step: 1 } });
  await session.close();
}

async function allEvents(store: SessionStore): Promise<readonly SessionEvent[]> {
  await using log = await store.open("a", "read");
  return (await log.read()).events;
}

Deno.test("rawLogs() takes a log out and in again, byte for byte, in both encodings and with its folder", async () => {
  for (const compression of ["zstd", "none"] as const) {
    const source = medium(compression);
    await openTurn(source.store, "/srv/project");
    const { name, bytes } = await source.logs.read("a");
    assertEquals(name, compression === "zstd" ? "session.v3.jsonl.zstd" : "session.v3.jsonl");
    const target = medium();
    assertEquals(await target.logs.take("copy", bytes), {
      id: "a",
      fault: null,
      spilled: { count: 0, missing: [], damaged: [] },
    });
    assertEquals((await target.logs.read("a")).bytes, bytes);
    assertEquals(await allEvents(target.store), await allEvents(source.store));
    assertEquals((await target.store.stat("a"))?.state, "open");
  }
});

Deno.test("take() changes nothing where the id is taken, and where the bytes are no log", async () => {
  const { store, logs, storage } = medium();
  await openTurn(store);
  const { bytes } = await logs.read("a");
  await assertRejects(() => logs.take("copy", bytes), AlreadyExistsError);
  assertEquals((await logs.read("a")).bytes, bytes);
  const empty = medium();
  await assertRejects(() => empty.logs.take("copy", new TextEncoder().encode("no log\n")), CorruptLogError);
  assertEquals(await empty.storage.list(""), []);
  await assertRejects(() => logs.read("b"), NotFoundError);
  assertEquals((await storage.list("_no-cwd/a/")).some(({ name }) => name.endsWith(IMPORT_NOTE_NAME)), false);
});

Deno.test("take() keeps a torn log with its tail, and a damaged one with its fault", async () => {
  const source = medium();
  await openTurn(source.store);
  const { bytes } = await source.logs.read("a");
  const torn = bytes.slice(0, bytes.length - 3);
  const target = medium();
  assertEquals((await target.logs.take("torn", torn)).fault, null);
  assertEquals((await target.logs.read("a")).bytes, torn);

  const damaged = new Uint8Array(bytes);
  damaged[damaged.length - 1]! ^= 1;
  const other = medium();
  const { fault } = await other.logs.take("damaged", damaged);
  assertEquals(fault?.code, "CORRUPT_FRAME");
  await assertRejects(() => openSession({ store: other.store, id: "a" }));
  assertEquals((await other.logs.read("a")).bytes, damaged);
});

Deno.test("admit() says once, in the log, that it came from elsewhere, and leaves every other log alone", async () => {
  const source = medium();
  await openTurn(source.store);
  const { bytes } = await source.logs.read("a");
  {
    await using log = await source.store.open("a", "write");
    assertEquals(await source.logs.admit(log, []), null);
  }
  const { store, logs } = medium();
  await logs.take("from elsewhere", bytes);
  assertEquals([await logs.isAsItCame("a"), await logs.isAsItCame("b")], [true, false]);
  assertEquals(await source.logs.isAsItCame("a"), false);
  let event: SessionEvent | null;
  {
    await using log = await store.open("a", "write");
    event = await logs.admit(log, []);
  }
  assertEquals(event?.type, "log/salvaged");
  assertStringIncludes(JSON.stringify(event?.data), '"name":"from elsewhere"');
  assertEquals((await allEvents(store)).at(-1), event);
  assertEquals(await logs.isAsItCame("a"), false);
  await using log = await store.open("a", "write");
  assertEquals(await logs.admit(log, [event!]), null);
});

Deno.test("take() that dies anywhere leaves no log without its note, and can be done again", async () => {
  const source = medium();
  await openTurn(source.store);
  const { bytes } = await source.logs.read("a");
  const whole = medium();
  await whole.logs.take("copy", bytes);
  for (let operation = 0; operation < whole.storage.operationCount; operation++) {
    const { storage, logs } = medium();
    storage.failAt({ operation, kind: "crash" });
    await assertRejects(() => logs.take("copy", bytes));
    for (const keepUnsynced of ["none", "all"] as const) {
      const restarted = storage.crash({ keepUnsynced });
      const runtime = { codec: portableZstd(), clock: new FakeClock(), random: seededRandom(1) };
      const again = rawLogs({ storage: restarted, ...runtime });
      const names = (await restarted.list("_no-cwd/a/")).map(({ name }) => name);
      if (names.some((name) => name.endsWith(".zstd"))) {
        assertEquals(names.some((name) => name.endsWith(IMPORT_NOTE_NAME)), true);
        assertEquals((await again.read("a")).bytes, bytes);
      } else {
        assertEquals((await again.take("copy", bytes)).id, "a");
      }
    }
  }
});
