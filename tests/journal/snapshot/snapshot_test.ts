import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemoryStorage } from "../../../src/adapters/memory/memory_storage.ts";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { foldEvents, keptText, logFold } from "../../../src/fold/mod.ts";
import { JOURNAL_LIMITS } from "../../../src/journal/mod.ts";
import { createSession, openSession, type Session } from "../../../src/session/mod.ts";
import type { SessionStore } from "../../../src/store/session_store.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { ENCODINGS, FOLDER, headerOf, journal, logOf, storageWith, turnOf, turnsOf } from "../script.ts";

/** Snapshots as soon as anything was written. */
const limits = { ...JOURNAL_LIMITS, snapshotGrowthEvents: 1 };
type Encoding = (typeof ENCODINGS)[number];

function storeOn(storage: MemoryStorage, compression: Encoding = "zstd", more = {}): SessionStore {
  return journal(storage, { compression, limits, ...more });
}

/** A log of some turns in one session, written and closed. */
async function written(storage: MemoryStorage, encoding: Encoding, turns = 3, store = storeOn(storage, encoding)) {
  const log = await store.create(headerOf());
  const events: SessionEvent[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    await log.append(turnOf(turn, events.length));
    events.push(...turnOf(turn, events.length));
  }
  offer(log, events);
  await log.close();
  return events;
}

function offer(log: { offer?(kept: unknown): void } & object, events: readonly SessionEvent[]): void {
  (log as { offer(kept: unknown): void }).offer({
    folds: foldEvents(logFold, events),
    lastType: events.at(-1)!.type,
  });
}

async function snapshotNames(storage: MemoryStorage): Promise<string[]> {
  return (await storage.list(FOLDER)).map(({ name }) => name).filter((name) => name.includes(".snapshot-"));
}

/** Opens the session as one does, and says what came of snapshots. */
async function opened(store: SessionStore) {
  const { session } = await openSession({ store, id: "s" });
  const report = session.snapshots!;
  const text = keptText({ folds: session.folds, lastType: null });
  await session.close();
  return { ...report, text };
}

for (const encoding of ENCODINGS) {
  Deno.test(`snapshot/${encoding}: a log is opened by its snapshot, and the state is that of a whole read`, async () => {
    const storage = new MemoryStorage();
    await written(storage, encoding);
    assertEquals((await snapshotNames(storage)).length, 1);
    const bare = new MemoryStorage();
    bare.stranger.write(logOf(encoding), await storage.read(logOf(encoding)));

    const by = await opened(storeOn(storage, encoding, { clock: new FakeClock() }));
    const whole = await opened(storeOn(bare, encoding, { clock: new FakeClock() }));
    assertEquals([by.openedBy, by.coveredEvents, by.refused, whole.openedBy], ["snapshot", 36, null, "whole read"]);
    assertEquals(by.text, whole.text);
    assertEquals(await storage.read(logOf(encoding)), await bare.read(logOf(encoding)));
  });

  Deno.test(`snapshot/${encoding}: what is behind the snapshot is read, the torn tail too`, async () => {
    const storage = new MemoryStorage();
    await written(storage, encoding);
    const store = journal(storage, { compression: encoding });
    const log = await store.open("s", "write");
    await log.append(turnOf(4, 36));
    await log.append(turnOf(5, 48));
    await log.close();
    const bytes = await storage.read(logOf(encoding));
    storage.stranger.write(logOf(encoding), bytes.slice(0, -3));
    const visited: number[] = [];
    let kept = 0;
    const again = await storeOn(storage, encoding).open("s", "write", {
      visit: ({ seq }) => void visited.push(seq),
      restore: (state) => kept = state!.folds.nextSeq,
    });
    assertEquals([kept, visited[0], again.snapshots!().openedBy], [36, 36, "snapshot"]);
    assert(again.state().torn !== null);
    assertEquals(visited.at(-1), again.state().nextSeq - 1);
    await again.recover([]);
    const { events } = await again.read({ from: 30, limit: 12 });
    assertEquals(events, turnsOf(5).slice(30, 42));
    assertEquals((await again.read({ limit: 5 })).events, turnsOf(5).slice(0, 5));
    await again.close();
  });

  Deno.test(`snapshot/${encoding}: every byte of it may be wrong, every length, and it may be gone: the log is read whole`, async () => {
    const storage = new MemoryStorage();
    const events = await written(storage, encoding, 1);
    const [name] = await snapshotNames(storage);
    const snapshot = await storage.read(name!);
    const text = keptText({ folds: foldEvents(logFold, events), lastType: null });
    const look = async (bytes: Uint8Array<ArrayBuffer>) => {
      const trial = storageWith({ [logOf(encoding)]: await storage.read(logOf(encoding)), [name!]: bytes });
      let folds = logFold.initial();
      const log = await storeOn(trial, encoding).open("s", "write", {
        visit: (event) => folds = logFold.apply(folds, event),
        restore: (kept) => folds = kept?.folds ?? logFold.initial(),
      });
      assertEquals(log.snapshots!().openedBy, "whole read");
      assertEquals(keptText({ folds, lastType: null }), text);
      assertEquals((await snapshotNames(trial)).length, 0, "it is gone before anything is appended");
      await log.close();
    };
    for (let at = 0; at < snapshot.length; at += at < 200 ? 1 : 97) {
      await look(snapshot.with(at, snapshot[at]! ^ 0x10) as Uint8Array<ArrayBuffer>);
      if (at > 0) await look(snapshot.slice(0, at));
    }
  });

  Deno.test(`snapshot/${encoding}: of a log that was cut, of another log, and of a log that was cut and grew again: refused`, async () => {
    const storage = new MemoryStorage();
    const store = storeOn(storage, encoding);
    const log = await store.create(headerOf());
    await log.append(turnOf(1));
    const firstBytes = (await storage.read(logOf(encoding))).length;
    await log.append(turnOf(2, 12));
    offer(log, turnsOf(2));
    await log.close();
    const [name] = await snapshotNames(storage);
    const snapshot = await storage.read(name!);
    const whole = await storage.read(logOf(encoding));

    const said = async (bytes: Uint8Array<ArrayBuffer>) => {
      const trial = storageWith({ [logOf(encoding)]: bytes, [name!]: snapshot });
      const { refused, openedBy } = await opened(storeOn(trial, encoding));
      return [openedBy, refused!.slice(refused!.indexOf(": ") + 2)];
    };
    assertEquals(await said(whole.slice(0, firstBytes)), [
      "whole read",
      `it stands for ${whole.length} bytes, and the log has ${firstBytes}`,
    ]);
    // Power took the second turn, and something else was written where it was.
    const other = new MemoryStorage();
    other.stranger.write(logOf(encoding), whole.slice(0, firstBytes));
    const shorter = journal(other, { compression: encoding });
    const again = await shorter.open("s", "write");
    for (let turn = 12; turn < 15; turn++) await again.append(turnOf(turn, 12 * (turn - 11)));
    await again.close();
    const grown = await other.read(logOf(encoding));
    assert(grown.length > whole.length);
    assertEquals(await said(grown), ["whole read", "the end of what it stands for is another one in the log"]);
    // The same events under another header.
    const stranger = new MemoryStorage();
    const strange = journal(stranger, { compression: encoding });
    const copy = await strange.create(headerOf("s", { createdAt: 1001 }));
    await copy.append(turnsOf(2));
    await copy.append(turnOf(3, 24));
    await copy.close();
    assertEquals(await said(await stranger.read(logOf(encoding))), ["whole read", "the log has another header"]);
  });

  Deno.test(`snapshot/${encoding}: a change in what it stands for is found in the background, and nothing is written any more`, async () => {
    const storage = new MemoryStorage();
    await written(storage, encoding, 200); // More than what is compared at once.
    const store = storeOn(storage, encoding);
    const log = await store.open("s", "write");
    await log.append(turnOf(201, 2400)); // From now on the medium's word for the file means nothing.
    await log.close();
    const bytes = await storage.read(logOf(encoding));
    const at = encoding === "none" ? new TextDecoder("latin1").decode(bytes).indexOf("be good") : bytes.length >> 1;
    const trial = new MemoryStorage();
    const [name] = await snapshotNames(storage);
    trial.stranger.write(name!, await storage.read(name!));
    // In a raw log a word is another one: it is still a log.
    trial.stranger.write(logOf(encoding), bytes.with(encoding === "none" ? at : 400, bytes[at]! ^ 1) as typeof bytes);
    const clock = new FakeClock();
    const { session } = await openSession({ store: storeOn(trial, encoding, { clock }), id: "s" });
    assertEquals([session.snapshots?.openedBy, session.snapshots?.check], ["snapshot", "running"]);
    await session.flush();
    await passed(clock, session);
    assertEquals(session.snapshots?.check, "failed");
    const code = encoding === "none" ? "CORRUPT_LOG" : "CORRUPT_FRAME";
    assertEquals((session.failure as { code?: string }).code, code);
    await assertRejects(() => session.flush(), Error, "Cannot write to session");
    let refused: unknown = null;
    try {
      session.append({ type: "turn/start", data: { turn: 202 } });
    } catch (error) {
      refused = error;
    }
    assertEquals((refused as { code?: string }).code, code);
    const before = (await trial.read(logOf(encoding))).length;
    await session.close();
    assertEquals((await trial.read(logOf(encoding))).length, before);
    assertEquals(await snapshotNames(trial), [], "the next opening reads everything");
  });
}

/** Lets the background check go on until it is over. */
async function passed(clock: FakeClock, session: Session): Promise<void> {
  for (let tries = 0; tries < 200 && session.snapshots?.check === "running"; tries++) await clock.advance(1000);
}

Deno.test("snapshot: the check in the background passes, at its rate, and leaves no timer behind; closing ends it", async () => {
  const storage = new MemoryStorage();
  await written(storage, "none", 40);
  const clock = new FakeClock();
  const store = storeOn(storage, "none", { clock });
  const { session } = await openSession({ store, id: "s" });
  assertEquals(session.snapshots?.check, "running");
  await passed(clock, session);
  assertEquals(session.snapshots?.check, "passed");
  assertEquals(session.failure, null);
  await session.close();

  const again = await openSession({ store, id: "s" });
  assertEquals(again.session.snapshots?.check, "running");
  await again.session.close();
  assertEquals([again.session.snapshots?.check, clock.pendingTimers], ["ended", 0]);
});

Deno.test("snapshot: a full medium harms nothing: the log comes first, and takes the room of its snapshots", async () => {
  for (const operation of ["append", "publish"] as const) {
    const storage = new MemoryStorage();
    const store = storeOn(storage);
    const session = await createSession({ store, id: "s", cwd: "/w" });
    session.append({ type: "turn/start", data: { turn: 1 } });
    session.append({ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } });
    await session.flush();
    await session.close();
    const had = await snapshotNames(storage);
    assertEquals(had.length, 1);
    const { session: next } = await openSession({ store, id: "s" });
    next.append({ type: "turn/start", data: { turn: 2 } });
    if (operation === "append") storage.failAt({ operation: "append", kind: "enospc" });
    await next.flush();
    assertEquals((await snapshotNames(storage)).length, operation === "append" ? 0 : 1);
    if (operation === "publish") storage.failAt({ operation: "stageAppend", kind: "enospc" });
    next.append({ type: "turn/end", data: { turn: 2, reason: { kind: "completed" } } });
    await next.close();
    const { session: last } = await openSession({ store, id: "s" });
    assertEquals(last.folds.brackets.lastTurn, 2);
    await last.close();
  }
});

Deno.test("snapshot: deleting a session takes its snapshots along, and whoever visits everything sees everything", async () => {
  const storage = new MemoryStorage();
  const events = await written(storage, "zstd");
  const store = storeOn(storage);
  for (const mode of ["read", "write"] as const) {
    const visited: SessionEvent[] = [];
    const visit = (event: SessionEvent) => void visited.push(event);
    const log = mode === "read" ? await store.open("s", mode, { visit }) : await store.open("s", mode, { visit });
    assertEquals(visited, events);
    await log.close();
  }
  await store.delete("s");
  assertEquals(await storage.list(FOLDER), []);
});

Deno.test("snapshot: small sessions have none, and one is written while a session runs", async () => {
  const storage = new MemoryStorage();
  const store = journal(storage, { limits: { snapshotGrowthEvents: 30 } });
  const session = await createSession({ store, id: "s", cwd: "/w" });
  for (let turn = 1; turn <= 12; turn++) {
    session.append({ type: "turn/start", data: { turn } });
    await session.flush();
    session.append({ type: "turn/end", data: { turn, reason: { kind: "completed" } } });
    await session.flush();
    if (turn === 10) assertEquals((await snapshotNames(storage)).length, 0);
  }
  assertEquals(session.nextSeq < 30, true);
  for (let turn = 13; turn <= 20; turn++) {
    session.append({ type: "turn/start", data: { turn } });
    session.append({ type: "turn/end", data: { turn, reason: { kind: "completed" } } });
    await session.flush();
  }
  await store.close();
  assertEquals(session.snapshots?.written, 1);
});
