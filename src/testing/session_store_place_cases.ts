/**
 * The session store contract: a place with many sessions.
 *
 * @module
 */
import type { SessionRow, SessionStore } from "../store/session_store.ts";
import { check, checkEquals, checkRejects, type ContractCase } from "./check.ts";
import { createAll, eventsOf, headerOf, readAll, type SessionStoreContext } from "./session_store_context.ts";

/** Listing, looking, deleting. */
export const sessionStorePlaceCases: readonly ContractCase<SessionStoreContext>[] = [
  {
    name: "an empty place has no sessions, and looking at it leaves nothing",
    async run({ openStore }) {
      const store = await openStore();
      checkEquals(await rowsOf(store), []);
      checkEquals(await store.stat("a"), null);
      await checkRejects(() => store.open("a", "read"), "NOT_FOUND");
      await checkRejects(() => store.open("a", "write"), "NOT_FOUND");
      await checkRejects(() => store.delete("a"), "NOT_FOUND");
      checkEquals(await rowsOf(store), []);
    },
  },
  {
    name: "list() shows every session in the order of the ids, with its state",
    async run({ openStore }) {
      const store = await openStore();
      const turn = [{ type: "turn/start", seq: 0, time: 77, data: { turn: 1 } }];
      for (const [id, cwd] of [["b", "/w"], ["a", "/w"], ["c", undefined], ["B", "/v"]] as const) {
        const log = await store.create(headerOf(id, { cwd }));
        await log.append(id === "a" ? turn : eventsOf(0, 2));
        if (id !== "b") await log.close();
      }
      const rows = await rowsOf(store);
      checkEquals(rows.map(({ id, state, live }) => [id, state, live]), [
        ["B", "ok", false],
        ["a", "open", false],
        ["b", "ok", true],
        ["c", "ok", false],
      ]);
      check(rows.every((row) => row.version === 3 && row.header?.id === row.id), "version and header");
      checkEquals(rows.map(({ lastEventTime, reason }) => [lastEventTime, reason === null]), [
        ...[[5001, true], [77, false], [5001, true], [5001, true]],
      ]);
      for (const row of rows) checkEquals(await store.stat(row.id), row);
    },
  },
  {
    name: "ids of any kind are sessions of their own",
    async run({ openStore }) {
      const store = await openStore();
      const ids = ["..", ".", "a/b", "a\\b", "~", "~007E", "ü", "🐳", "\ud800", "session.jsonl", "a b", "con", "-"];
      for (const [index, id] of ids.entries()) {
        const log = await store.create(headerOf(id));
        await log.append(eventsOf(0, index + 1));
        await log.close();
      }
      for (const [index, id] of ids.entries()) {
        checkEquals((await readAll(await store.open(id, "read"))).length, index + 1, id);
      }
      checkEquals((await rowsOf(store)).map((row) => row.id), [...ids].sort());
      checkEquals((await rowsOf(store)).every((row) => row.state === "ok"), true);
    },
  },
  {
    name: "an id that is too long for a medium cannot be created, and is not there",
    async run({ openStore }) {
      const store = await openStore();
      for (const id of ["x".repeat(300), "ü".repeat(60)]) {
        await checkRejects(() => store.create(headerOf(id)), "RangeError");
        await checkRejects(() => store.open(id, "read"), "NOT_FOUND");
        await checkRejects(() => store.delete(id), "NOT_FOUND");
        checkEquals(await store.stat(id), null);
      }
      await createAll(store, ["x".repeat(255)]);
      checkEquals((await rowsOf(store)).length, 1);
    },
  },
  {
    name: "sessions that many workers create at once are all listed (field/D13)",
    async run({ openStore, other, sessionsMany = 1000 }) {
      const stores = [await openStore(), await openStore(), await openStore()];
      const share = Math.floor(sessionsMany / 4);
      const idsOf = (worker: number) => Array.from({ length: share }, (_, index) => `s${worker}-${index}`);
      const away = stores[0]!.traits.lockScope === "process"
        ? createAll(await openStore(), idsOf(3))
        : other.run({ do: "createAll", ids: idsOf(3) }).then(({ code }) => checkEquals(code, null));
      await Promise.all([away, ...stores.map((store, worker) => createAll(store, idsOf(worker)))]);
      const wanted = [0, 1, 2, 3].flatMap(idsOf).sort();
      checkEquals((await rowsOf(stores[0]!)).map((row) => row.id), wanted);
    },
  },
  {
    name: "delete() removes a session with everything, and frees its id",
    async run({ openStore }) {
      const store = await openStore();
      await createAll(store, ["a", "b"]);
      const log = await store.open("a", "write");
      const digest = await log.putBlob(Uint8Array.of(1));
      await checkRejects(() => store.delete("a"), "LOCK_HELD");
      checkEquals(await readAll(log), eventsOf(0, 1));
      await log.close();
      const reader = await store.open("a", "read");
      await store.delete("a");
      await checkRejects(() => reader.read(), "NOT_FOUND");
      checkEquals(await store.stat("a"), null);
      await checkRejects(() => store.delete("a"), "NOT_FOUND");
      checkEquals((await rowsOf(store)).map((row) => row.id), ["b"]);
      await createAll(store, ["a"]);
      const again = await store.open("a", "read");
      checkEquals(await readAll(again), eventsOf(0, 1));
      await checkRejects(() => again.getBlob(digest), "NOT_FOUND");
    },
  },
];

async function rowsOf(store: SessionStore): Promise<SessionRow[]> {
  const rows: SessionRow[] = [];
  for await (const row of store.list()) rows.push(row);
  return rows;
}
