import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { hasCode } from "../../src/errors.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { WATCH_POLL_MS } from "../../src/journal/mod.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { BATCHES, bytesOf, headerOf, journal, logBytes, logOf, storageWith, turnOf, turnsOf } from "./script.ts";

const EVENTS = turnOf(1);

/** Gathers a watch in the background. */
function gather(
  events: AsyncIterable<SessionEvent>,
): { readonly seen: SessionEvent[]; readonly ended: Promise<unknown> } {
  const seen: SessionEvent[] = [];
  const ended = (async () => {
    for await (const event of events) seen.push(event);
  })().catch((error) => error);
  return { seen, ended };
}

Deno.test("a reader beside a writer of its store sees nothing that is not acknowledged", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const store = journal(storage);
  const log = await store.create(headerOf());
  await log.append(EVENTS.slice(0, 4));
  const reader = await store.open("s", "read");
  const { promise: until, resolve: go } = Promise.withResolvers<void>();
  storage.failAt({ operation: "sync", kind: "hang", until });
  const appended = log.append(EVENTS.slice(4, 8));
  await settle();
  assert((await storage.read(logOf("zstd"))).length > log.state().sizeBytes!, "the bytes are in the file already");
  for (const view of [reader, log, await store.open("s", "read")]) {
    assertEquals((await view.read()).events.length, 4);
    assertEquals(view.state().torn, null);
  }
  go();
  await appended;
  assertEquals((await reader.read()).events.length, 8);
});

Deno.test("a reader of a torn log follows the writer that recovers it", async () => {
  const machine = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES).slice(0, -2) });
  const clock = new FakeClock();
  const reader = await journal(machine, { clock }).open("s", "read");
  assertEquals([reader.state().nextSeq, reader.state().torn?.salvagedEvents], [12, 4]);
  const watch = gather(reader.watch(6));
  await settle();
  assertEquals(watch.seen.length, 2, "what nobody has acknowledged is not delivered");
  const log = await journal(machine.peer()).open("s", "write");
  await log.append(turnOf(2, 12));
  await clock.advance(WATCH_POLL_MS);
  assertEquals(watch.seen, turnsOf(2).slice(6));
  assertEquals([reader.state().nextSeq, reader.state().torn], [24, null]);
  assertEquals((await reader.read()).events, turnsOf(2));
  await reader.close();
  await watch.ended;
});

Deno.test("a reader survives a writer that takes back what it wrote and writes something else", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 2));
  const storage = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES.slice(0, 3)) });
  const reader = await journal(storage).open("s", "read");
  assertEquals((await reader.read()).events.length, 5);
  storage.stranger.write(logOf("zstd"), solid);
  assertEquals((await reader.read()).events, EVENTS.slice(0, 4));
  const other = turnsOf(1).slice(4, 6).map((event) => ({ ...event, time: 1 }));
  storage.stranger.write(logOf("zstd"), logBytes(headerOf(), [...BATCHES.slice(0, 2), other]));
  assertEquals((await reader.read()).events, [...EVENTS.slice(0, 4), ...other]);
  // The file has the same length or more, and another frame stands where the last one ended.
  storage.stranger.write(logOf("zstd"), logBytes(headerOf(), [EVENTS.slice(0, 1), EVENTS.slice(1)]));
  assertEquals((await reader.read()).events, EVENTS);
  storage.stranger.write(logOf("zstd"), logBytes(headerOf("s", { createdAt: 5 }), [EVENTS.slice(0, 1)]));
  assert(hasCode(await assertRejects(() => reader.read()), "NOT_FOUND"));
  storage.stranger.remove(logOf("zstd"));
  assert(hasCode(await assertRejects(() => reader.read()), "NOT_FOUND"));
});

Deno.test("a reader shows a torn tail that a watch saw first", async () => {
  const machine = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES.slice(0, 5)) });
  const reader = await journal(machine).open("s", "read");
  machine.stranger.write(logOf("zstd"), logBytes(headerOf(), BATCHES).slice(0, -2));
  const watch = gather(reader.watch(0));
  await settle();
  assertEquals(watch.seen.length, 8);
  assertEquals((await reader.read()).events, EVENTS);
  await reader.close();
  await watch.ended;
});

Deno.test("watch() misses no append that comes while it looks", async () => {
  const storage = new MemoryStorage();
  const store = journal(storage);
  const log = await store.create(headerOf());
  await log.append(EVENTS.slice(0, 2));
  const reader = await store.open("s", "read");
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const stat = storage.stat.bind(storage);
  storage.stat = async (name) => {
    const found = await stat(name);
    await answered;
    return found;
  };
  const watch = gather(reader.watch(2));
  await settle();
  await log.append(EVENTS.slice(2, 5));
  answer();
  await settle();
  assertEquals(watch.seen, EVENTS.slice(2, 5));
  await store.close();
  await watch.ended;
});

Deno.test("watch() ends with the damage it meets, after everything before it", async () => {
  const storage = storageWith({
    [logOf("zstd")]: bytesOf(logBytes(headerOf(), BATCHES), new TextEncoder().encode("garbage")),
  });
  const watch = gather((await journal(storage).open("s", "read")).watch(0));
  assert(hasCode(await watch.ended, "CORRUPT_FRAME"));
  assertEquals(watch.seen, EVENTS);
});

Deno.test("watch() asks for one page at a time and gives no event twice when its consumer stops", async () => {
  const storage = storageWith({ [logOf("none")]: logBytes(headerOf(), [turnsOf(300)], "none") });
  let reads = 0;
  const read = storage.read.bind(storage);
  storage.read = (name, range) => {
    reads += 1;
    return read(name, range);
  };
  const reader = await journal(storage).open("s", "read");
  const events = reader.watch(0)[Symbol.asyncIterator]();
  await events.next();
  const readsOfAPage = reads;
  for (let seq = 1; seq < 1000; seq++) assertEquals((await events.next()).value.seq, seq);
  assertEquals(reads, readsOfAPage, "the rest of the page was there");
  assertEquals((await events.next()).value.seq, 1000);
  await events.return!();
});

Deno.test("a page ends early when its events are large, and the next goes on behind it", async () => {
  const storage = new MemoryStorage();
  const log = await journal(storage, { compression: "none" }).create(headerOf());
  const large = (seq: number) => ({
    type: "feedback/record",
    seq,
    time: 1,
    data: { text: "x".repeat(3 * 1024 * 1024) },
  });
  for (let seq = 0; seq < 5; seq++) await log.append([large(seq)]);
  const page = await log.read();
  assertEquals([page.events.length, page.nextFrom], [3, 3]);
  assertEquals((await log.read({ from: 3 })).events.map((event) => event.seq), [3, 4]);
});

Deno.test("a frame that holds many pages is decoded once while they are read in order", async () => {
  const events = turnsOf(300);
  let decodes = 0;
  const codec = {
    ...nodeZstd(),
    decompress(frame: Uint8Array, sizeBytesMax: number) {
      decodes += 1;
      return nodeZstd().decompress(frame, sizeBytesMax);
    },
  };
  const bytes = logBytes(headerOf(), [events.slice(0, 3500), events.slice(3500)]);
  const reader = await journal(storageWith({ [logOf("zstd")]: bytes }), { codec }).open("s", "read");
  decodes = 0;
  for (let from = 0; from < 3600; from += 100) {
    assertEquals((await reader.read({ from, limit: 100 })).events, events.slice(from, from + 100));
  }
  assertEquals(decodes, 3, "the header and two frames");
  assertEquals((await reader.read({ from: 150, limit: 100 })).events, events.slice(150, 250), "out of order too");
});
