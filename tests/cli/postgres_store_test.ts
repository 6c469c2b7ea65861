import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import { readAll } from "../../src/testing/session_store_context.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { startPostgres } from "../support/postgres.ts";
import { document, holdfast, type Ran, TempFolder, writeLog } from "./cli.ts";

/** Nobody's real password; it must never be seen. */
const SECRET = "s3cret-of-nobody";

function twoTurns(): LogBuilder {
  const log = new LogBuilder();
  for (const text of ["one", "two"]) {
    log.startTurn();
    log.user(text);
    log.endTurn();
  }
  return log;
}

function assertSaysNot(secret: string, { stdout, stderr }: Ran, what: string): void {
  assert(!`${stdout}${stderr}`.includes(secret), `${what} says the password: ${stdout}${stderr}`);
}

Deno.test({
  name: "every command takes --store postgres://…, copy goes there and back, and no output says a password",
  ...{ sanitizeOps: false, sanitizeResources: false },
  async fn() {
    const server = await startPostgres();
    await using folder = new TempFolder();
    try {
      const cwd = folder.path;
      const { password } = new URL(server.url);
      const { events } = twoTurns();
      writeLog(folder.root, "first", events);
      const id = `cli-${crypto.randomUUID()}`;
      writeLog(folder.root, id, events);
      const said = async (args: readonly string[], env: Record<string, string> = {}) => {
        const ran = await document(args, { cwd, env });
        assertSaysNot(password, ran, args.join(" "));
        assertEquals(ran.code, 0, `${args.join(" ")}: ${ran.stdout}${ran.stderr}`);
        return ran.json;
      };
      const store = ["--store", server.url];
      const there = await said(["copy", id, "--to", server.url]);
      assertEquals([there.id, there.events], [id, events.length]);
      assertMatch(there.to, /^postgres(ql)?:\/\//);
      const again = await said(["copy", id, "--to", server.url]);
      assertEquals([again.resumedFrom, again.digest], [events.length, there.digest]);
      const rows: { id: string; state: string }[] = await said(["ls", ...store]);
      assertEquals(rows.filter((row) => row.id === id).map(({ state }) => state), ["ok"]);
      const [verdict] = await said(["verify", id, ...store]);
      assertEquals([verdict.id, verdict.events], [id, events.length]);
      const shown = await said(["show", id], { HOLDFAST_STORE: server.url });
      assertEquals(shown.events.length, events.length);
      const back = await said(["copy", id, "--from", server.url, "--to", "back"]);
      assertEquals(back.digest, there.digest);
      const text = await holdfast(["verify", id, ...store], { cwd });
      assertSaysNot(password, text, "verify");
      assertStringIncludes(text.stdout, id);
      await said(["rm", id, "--yes", ...store]);
      assertEquals((await said(["ls", ...store])).filter((row: { id: string }) => row.id === id), []);
      const files = openFileStore({ root: `${cwd}/back` });
      assertEquals(await readAll(await files.open(id, "read")), events);
      await files.close();

      // What the server refuses is said in its words, at once.
      const wrong = new URL(server.url);
      wrong.password = SECRET;
      const refused = await document(["ls", "--store", wrong.href], { cwd });
      assertEquals([refused.code, refused.json.error.code], [1, "STORAGE_LOST"]);
      assertMatch(refused.json.error.message, /password authentication failed/);
      assertSaysNot(SECRET, refused, "a wrong password");
      const nowhere = new URL(server.url);
      nowhere.pathname = "/no_such_database";
      const missing = await document(["ls", "--store", nowhere.href], { cwd });
      assertEquals([missing.code, missing.json.error.code], [1, "STORAGE_LOST"]);
      assertMatch(missing.json.error.message, /no_such_database/);
      assertSaysNot(password, missing, "a database that is not there");
    } finally {
      await server.stop();
    }
  },
});

Deno.test("an address that is none is a mistake, said at once and without what is in it", async () => {
  await using folder = new TempFolder();
  const cwd = folder.path;
  const bad = [
    "postgres:",
    "postgres://",
    `postgres:me:${SECRET}@host/db`,
    `postgres://me:${SECRET}@host:port/db`,
    `postgres://me:${SECRET}@host:99999/db`,
    `postgres://me:${SECRET}@/db`,
    `postgres://me:${SECRET}%@host/db`,
    `postgresql://me:${SECRET}%zz@host/db`,
  ];
  const commands = (url: string) => [
    ["ls", "--store", url],
    ["serve", "--port", "0", "--store", url],
    ["copy", "first", "--to", url],
    ["copy", "first", "--from", url, "--to", "x"],
  ];
  for (const url of bad) {
    for (const args of commands(url)) {
      const ran = await document(args, { cwd });
      assertEquals([ran.code, ran.json.error.code], [2, "USAGE"], `${args[0]} ${url}`);
      assertMatch(ran.json.error.message, /wanted postgres:\/\/USER:PASSWORD@HOST/);
      assertSaysNot(SECRET, ran, `${args[0]} ${url}`);
      assertSaysNot(SECRET, await holdfast(args, { cwd }), `${args[0]} ${url}`);
    }
  }
  const named = await document(["ls"], { cwd, env: { HOLDFAST_STORE: `postgres://me:${SECRET}@host:port/db` } });
  assertEquals([named.code, named.json.error.code], [2, "USAGE"]);
  assertSaysNot(SECRET, named, "$HOLDFAST_STORE");
  const sqlite = await document(["serve", "--port", "0", "--store", "sqlite:s.db"], { cwd });
  assertEquals([sqlite.code, sqlite.json.error.code], [2, "USAGE"]);
});
