import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { closers, foldEvents, hasCode, logFold, type SessionEvent, type SessionStore } from "../../mod.ts";
import { openSqlite } from "../../src/adapters/sqlite_node/mod.ts";
import { systemRuntime } from "../../src/entry/system.ts";
import { CommitUnknownError, openSqlStore, type SqlPort, type SqlStoreOptions } from "../../src/sql/mod.ts";
import { COMMIT_TRIES_MAX } from "../../src/sql/commit_unknown.ts";
import { eventsOf, headerOf, readAll } from "../../src/testing/session_store_context.ts";

/** A store on a database of its own, whose port may be changed on the way. */
async function withStore(
  act: (place: { store: SessionStore; path: string; open: (change?: Change) => SessionStore }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-sql-" });
  const path = `${folder}/sessions.db`;
  const stores: SessionStore[] = [];
  const open = ({ port = (sql) => sql, ...options }: Change = {}) => {
    const sql = port(openSqlite({ path, clock: systemRuntime.clock }));
    const store = openSqlStore({ ...systemRuntime, ...options, sql });
    stores.push(store);
    return store;
  };
  try {
    await act({ store: open(), path, open });
  } finally {
    for (const store of stores) await store.close();
    await Deno.remove(folder, { recursive: true });
  }
}

interface Change extends Partial<Pick<SqlStoreOptions, "inAppend">> {
  readonly port?: (sql: SqlPort) => SqlPort;
}

/** A port with some of its parts replaced. */
function changed(sql: SqlPort, parts: Partial<SqlPort>): SqlPort {
  return new Proxy(sql, {
    get(target, name) {
      const part = parts[name as keyof SqlPort] ?? target[name as keyof SqlPort];
      return typeof part === "function" ? part.bind(target) : part;
    },
  });
}

/** Claims that everybody gets, as where leases ended too early. */
const unclaimed = (sql: SqlPort) =>
  changed(sql, { claim: () => Promise.resolve({ isHeld: () => true, release: () => Promise.resolve() }) });

function statement(path: string, text: string): unknown[] {
  const database = new DatabaseSync(path);
  try {
    return database.prepare(text).all();
  } finally {
    database.close();
  }
}

Deno.test("a writer whose session another one opened is fenced, and its batch is nowhere", () =>
  withStore(async ({ open }) => {
    const [zombies, owners] = [open({ port: unclaimed }), open({ port: unclaimed })];
    const zombie = await zombies.create(headerOf("a"));
    await zombie.append(eventsOf(0, 2));
    const owner = await owners.open("a", "write");
    assertEquals(await owner.append(eventsOf(2, 1)), 2);
    const error = await assertRejects(() => zombie.append(eventsOf(2, 3)));
    assert(hasCode(error, "FENCED"), String(error));
    // For good, also for what would not touch the log.
    for (const act of [() => zombie.append(eventsOf(3, 1)), () => zombie.putBlob(new Uint8Array(1))]) {
      assert(hasCode(await assertRejects(act), "FENCED"));
    }
    assertEquals(await owner.append(eventsOf(3, 1)), 3);
    assertEquals(await readAll(owner), eventsOf(0, 4));
  }));

Deno.test("opening for writing sees what an earlier writer committed up to the moment it was fenced", () =>
  withStore(async ({ open }) => {
    const zombie = await open({ port: unclaimed }).create(headerOf("a"));
    await zombie.append(eventsOf(0, 1));
    let isFirst = true;
    const port = (sql: SqlPort) =>
      changed(unclaimed(sql), {
        async write(act) {
          if (isFirst) await zombie.append(eventsOf(1, 1));
          isFirst = false;
          return await sql.write(act);
        },
      });
    const visited: SessionEvent[] = [];
    const owner = await open({ port }).open("a", "write", { visit: (event) => visited.push(event) });
    assertEquals(visited, eventsOf(0, 2));
    assertEquals(await owner.append(eventsOf(2, 1)), 2);
    assert(hasCode(await assertRejects(() => zombie.append(eventsOf(2, 1))), "FENCED"));
  }));

for (const happened of [true, false]) {
  const outcome = happened ? "happened is acknowledged and not repeated" : "did not happen is repeated, once";
  Deno.test(`a commit of unknown outcome that ${outcome}`, () =>
    withStore(async ({ open }) => {
      let breaks = 0;
      let writes = 0;
      const port = (sql: SqlPort) =>
        changed(sql, {
          async write(act) {
            writes += 1;
            if (breaks === 0) return await sql.write(act);
            breaks -= 1;
            if (happened) await sql.write(act);
            throw new CommitUnknownError('Cannot commit to "a": the connection broke');
          },
        });
      const log = await open({ port }).create(headerOf("a"));
      for (const at of [0, 1]) { // With the session's row, and without.
        breaks = 1;
        writes = 0;
        assertEquals(await log.append(eventsOf(at, 1), { batchId: `batch ${at}` }), at);
        assertEquals(writes, happened ? 2 : 3);
        assertEquals(await log.append(eventsOf(at, 1), { batchId: `batch ${at}` }), at);
      }
      assertEquals(await readAll(await open().open("a", "read")), eventsOf(0, 2));
    }));
}

Deno.test("a takeover and a blob whose commits are of unknown outcome are done again, and the earlier owner is fenced", () =>
  withStore(async ({ open }) => {
    const first = await open().create(headerOf("a"));
    await first.append(eventsOf(0, 1));
    await first.close();
    for (const happened of [true, false]) {
      let breaks = 1;
      const port = (sql: SqlPort) =>
        changed(sql, {
          async write(act) {
            if (breaks === 0) return await sql.write(act);
            breaks -= 1;
            if (happened) await sql.write(act);
            throw new CommitUnknownError('Cannot commit to "a": the connection broke');
          },
        });
      const log = await open({ port }).open("a", "write");
      breaks = 1;
      const digest = await log.putBlob(Uint8Array.of(1, 2));
      assertEquals(await log.getBlob(digest), Uint8Array.of(1, 2));
      const { nextSeq } = log.state();
      assertEquals(await log.append(eventsOf(nextSeq, 1)), nextSeq);
      await log.close();
    }
  }));

Deno.test("a commit of unknown outcome is settled before anything else is written, once the database can be reached", () =>
  withStore(async ({ open }) => {
    const faults: ("commit" | "away")[] = [];
    const port = (sql: SqlPort) =>
      changed(sql, {
        async write(act) {
          const fault = faults.shift();
          if (fault === undefined) return await sql.write(act);
          if (fault === "commit") await sql.write(act);
          throw new CommitUnknownError('Cannot commit to "a": the connection broke');
        },
      });
    const log = await open({ port }).create(headerOf("a"));
    await log.append(eventsOf(0, 1));
    // The first append and the second one read again as often as they may, and nobody answers.
    faults.push("commit", ...Array<"away">(2 * COMMIT_TRIES_MAX).fill("away"));
    assert(hasCode(await assertRejects(() => log.append(eventsOf(1, 2), { batchId: "x" })), "STORAGE_LOST"));
    assert(hasCode(await assertRejects(() => log.append(eventsOf(1, 2), { batchId: "x" })), "STORAGE_LOST"));
    assertEquals(await log.append(eventsOf(1, 2), { batchId: "x" }), 2);
    assertEquals(await log.append(eventsOf(3, 1)), 3);
    assertEquals(await readAll(log), eventsOf(0, 4));
  }));

Deno.test("what inAppend writes is there with the batch, and what it refuses takes the batch back", () =>
  withStore(async ({ open, path, store }) => {
    await (await store.create(headerOf("b"))).append(eventsOf(0, 1));
    statement(path, "CREATE TABLE heard (session TEXT, epoch INTEGER, batch TEXT, events INTEGER)");
    let isRefused = false;
    const log = await open({
      async inAppend(transaction, { id, epoch, batchId, events }) {
        await transaction.run("INSERT INTO heard VALUES ($1, $2, $3, $4)", id, epoch, batchId, events.length);
        if (isRefused) throw new RangeError("not this one");
      },
    }).create(headerOf("a"));
    await log.append(eventsOf(0, 3), { batchId: "x" });
    isRefused = true;
    await assertRejects(() => log.append(eventsOf(3, 1)), RangeError);
    isRefused = false;
    await log.append(eventsOf(3, 1), { batchId: "y" });
    assertEquals(statement(path, "SELECT * FROM heard").map((row) => Object.values(row as object)), [
      ["a", 1, "x", 3],
      ["a", 1, "y", 1],
    ]);
    assertEquals(await readAll(log), eventsOf(0, 4));
  }));

/** A session with an open turn, and rows behind it that nobody acknowledged. */
async function tornSession(store: SessionStore, path: string): Promise<void> {
  const log = await store.create(headerOf("a"));
  await log.append([
    { type: "turn/start", seq: 0, time: 5, data: { turn: 1 } },
    { type: "step/start", seq: 1, time: 6, data: { turn: 1, step: 1 } },
  ]);
  await log.close();
  statement(path, "INSERT INTO event (session_id, seq, type, time, data) VALUES ('a', 2, 'turn/end', 7, '{\"turn\"')");
  statement(path, "INSERT INTO event (session_id, seq, type, time, data) VALUES ('a', 5, 'x', 7, '{}')");
}

Deno.test("recovery deletes the torn tail and inserts the closers in one transaction, and a copy of the tail stays", () =>
  withStore(async ({ store, open, path }) => {
    await tornSession(store, path);
    await using reader = await store.open("a", "read");
    assertEquals(reader.state().torn?.salvagedEvents, 0);
    assertEquals(reader.state().nextSeq, 2);
    const events = await readAll(reader);
    const closing = closers(foldEvents(logFold, events));
    assertEquals(closing.map(({ type }) => type), ["step/end", "turn/end"]);

    // Whatever stops it on the way, all of it is undone.
    const fails = open({ inAppend: () => Promise.reject(new RangeError("the process dies here")) });
    const failing = await fails.open("a", "write");
    await assertRejects(() => failing.recover(closing), RangeError);
    await failing.close();
    const rows = () => statement(path, "SELECT seq FROM event ORDER BY seq").map((row) => (row as { seq: number }).seq);
    assertEquals(rows(), [0, 1, 2, 5]);
    assertEquals(statement(path, "SELECT 1 FROM torn_event"), []);

    const log = await store.open("a", "write");
    assertEquals(await log.recover(closing), 3);
    assertEquals([log.state().torn, rows()], [null, [0, 1, 2, 3]]);
    assertEquals(await readAll(log), [...events, ...closing]);
    const kept = statement(path, "SELECT seq, type, data FROM torn_event ORDER BY seq");
    assertEquals(kept.map((row) => Object.values(row as object)), [[2, "turn/end", '{"turn"'], [5, "x", "{}"]]);
    assertEquals((await store.stat("a"))?.state, "ok");
  }));

Deno.test("an append recovers a torn tail first, like every store", () =>
  withStore(async ({ store, path }) => {
    await tornSession(store, path);
    const log = await store.open("a", "write");
    assertEquals(await log.append([{ type: "step/end", seq: 2, time: 8, data: { turn: 1, step: 1 } }]), 2);
    assertEquals((await readAll(log)).map(({ type }) => type), ["turn/start", "step/start", "step/end"]);
  }));

Deno.test("damage to an acknowledged event is no torn tail: readable up to it, refused for writing, and one row of the list", async (t) => {
  const cases: readonly (readonly [name: string, statement: string, found: RegExp])[] = [
    ["data that is no JSON", "UPDATE event SET data = '{' WHERE seq = 3", /event 3: data that is not valid JSON/],
    ["the last event is gone", "DELETE FROM event WHERE seq = 3", /event 3 is not there, of 4/],
    ["a gap", "DELETE FROM event WHERE seq = 1", /event 1: /],
    ["another spelling", "UPDATE event SET surface_op = '\"append\"' WHERE seq = 2", /event 2 .*surface/],
    ["ignorable of another kind", "UPDATE event SET ignorable = 2 WHERE seq = 2", /event 2: .*ignorable/],
    ["a required type that is not known", "UPDATE event SET type = 'x/y' WHERE seq = 2", /event 2 is of the type/],
  ];
  for (const [name, text, found] of cases) {
    await t.step(name, () =>
      withStore(async ({ store, path }) => {
        const log = await store.create(headerOf("a"));
        await log.append(eventsOf(0, 4));
        await log.close();
        await (await store.create(headerOf("b"))).append(eventsOf(0, 1));
        statement(path, text);
        await using reader = await store.open("a", "read");
        const { fault } = reader.state();
        assert(found.test(fault!.message), fault!.message);
        const code = name.startsWith("a required") ? "UNSUPPORTED_FORMAT" : "CORRUPT_LOG";
        assertEquals(fault!.code, code);
        const end = code === "CORRUPT_LOG" ? fault!.seq! : 4;
        const seen = await readAll(reader);
        assertEquals(seen.length, end);
        assert(hasCode(await assertRejects(() => store.open("a", "write")), code));
        const rows = await Array.fromAsync(store.list());
        assertEquals(rows.map(({ id, state }) => [id, state]), [
          ["a", code === "CORRUPT_LOG" ? "damaged" : "unsupported"],
          ["b", "ok"],
        ]);
      }));
  }
});

Deno.test("two stores of one process that write at once take turns, and neither waits for ever", () =>
  withStore(async ({ open }) => {
    const logs = await Promise.all(["a", "b", "c"].map((id) => open().create(headerOf(id))));
    await Promise.all(logs.map(async (log) => {
      for (let seq = 0; seq < 30; seq++) await log.append(eventsOf(seq, 1));
    }));
    for (const log of logs) assertEquals(await readAll(log), eventsOf(0, 30));
  }));
