import { assert, assertEquals } from "@std/assert";
import { hasCode } from "../../../mod.ts";
import { serverFacts } from "../../../src/adapters/postgres/server_facts.ts";
import type { SqlTransaction, SqlValue } from "../../../src/sql/mod.ts";

const IDLE_MS = 5000;

/** A server that promises everything, but for what a case changes. */
function server(change: Readonly<Record<string, SqlValue>> = {}): SqlTransaction {
  const row = {
    ...{ version: 150_004, shown: "15.4", encoding: "UTF8", in_recovery: 0, fsync: "on", synchronous_commit: "on" },
    ...{ idle_ms: IDLE_MS, ...change },
  };
  return { run: () => Promise.resolve(0), all: () => Promise.resolve([row]) };
}

Deno.test("postgres: what a server cannot promise is refused by name", async () => {
  const cases = [
    [{ version: 110_022, shown: "11.22" }, "UNSUPPORTED_FORMAT", /PostgreSQL 11\.22, wanted 12/],
    [{ encoding: "LATIN1" }, "UNSUPPORTED_FORMAT", /LATIN1, wanted UTF8/],
    [{ in_recovery: 1 }, "STORAGE_LOST", /standby/],
    // A pooler that hands out connections by transaction gives each one its own settings, and not ours.
    [{ idle_ms: 0 }, "STORAGE_LOST", /pooler/],
    [{ idle_ms: null }, "STORAGE_LOST", /pooler/],
  ] as const;
  for (const [change, code, text] of cases) {
    const error = await serverFacts(server(change), "postgres://db/d", IDLE_MS).then(() => null, (error) => error);
    assert(hasCode(error, code) && text.test(error.message) && error.message.includes("postgres://db/d"), `${error}`);
  }
});

Deno.test("postgres: only a commit that is synced before it is answered is on the device", async () => {
  const syncs = async (change: Readonly<Record<string, SqlValue>>) =>
    (await serverFacts(server(change), "db", IDLE_MS)).traits.sync;
  assertEquals(await syncs({}), "device");
  for (const synchronous_commit of ["local", "remote_write", "remote_apply"]) {
    assertEquals(await syncs({ synchronous_commit }), "device", synchronous_commit);
  }
  assertEquals(await syncs({ synchronous_commit: "off" }), "buffered");
  assertEquals(await syncs({ fsync: "off" }), "buffered");
});
