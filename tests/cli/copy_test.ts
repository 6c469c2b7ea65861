import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { hasCode, type SessionStore } from "../../mod.ts";
import { copySession } from "../../src/cli/copy_session.ts";
import { parsePlace, placeName } from "../../src/cli/place.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { openSqliteStore } from "../../src/entry/sqlite.ts";
import { createAll, eventsOf, headerOf as headerFor, readAll } from "../../src/testing/session_store_context.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, holdfast, TempFolder, writeLog } from "./cli.ts";

function twoTurns(): LogBuilder {
  const log = new LogBuilder();
  log.startTurn();
  log.user("one");
  log.endTurn();
  log.startTurn();
  return log;
}

Deno.test("copy takes a session from files to SQLite and back, and says the same digest of both", async () => {
  await using folder = new TempFolder();
  const { events } = twoTurns();
  const path = writeLog(folder.root, "first", events);
  const before = Deno.readFileSync(path);
  const there = await document(["copy", "fir", "--to", "sqlite:a/s.db"], { cwd: folder.path });
  assertEquals([there.code, there.json.id, there.json.events, there.json.resumedFrom], [0, "first", events.length, 0]);
  assertMatch(there.json.digest, /^[0-9a-f]{64}$/);
  assertEquals(there.json.to, `sqlite:${folder.path}/a/s.db`);

  const back = await document(["copy", "first", "--from", "sqlite:a/s.db", "--to", "back"], { cwd: folder.path });
  assertEquals([back.code, back.json.digest], [0, there.json.digest]);
  await using store = openFileStore({ root: `${folder.path}/back` });
  assertEquals(await readAll(await store.open("first", "read")), events);
  assertEquals(Deno.readFileSync(path), before);
});

Deno.test("every command that reads or repairs takes --store sqlite:FILE, and $HOLDFAST_STORE unless a root is named", async () => {
  await using folder = new TempFolder();
  const { events } = twoTurns();
  writeLog(folder.root, "first", events);
  const cwd = folder.path;
  await document(["copy", "first", "--to", "sqlite:s.db"], { cwd });
  const store = ["--store", "sqlite:s.db"];
  const listed = await document(["ls", ...store], { cwd });
  assertEquals(listed.json.map((row: { id: string; state: string }) => [row.id, row.state]), [["first", "open"]]);
  const [verdict] = (await document(["verify", "first", ...store], { cwd })).json;
  assertEquals([verdict.id, verdict.version, verdict.encoding, verdict.frames, verdict.events], [
    ...["first", 3, null, 0, events.length],
  ]);
  assertEquals(verdict.file, `sqlite:${cwd}/s.db first`);
  assertEquals((await document(["repair", "first", ...store], { cwd })).code, 0);
  const shown = await document(["show", "first"], { cwd, env: { HOLDFAST_STORE: "sqlite:s.db" } });
  assertEquals(shown.json.events.length, events.length + 1);
  const inRoot = await document(["show", "first", "--root", folder.root], {
    ...{ cwd, env: { HOLDFAST_STORE: "sqlite:s.db" } },
  });
  assertEquals(inRoot.json.events.length, events.length);
  const text = await holdfast(["verify", "first", ...store], { cwd });
  assertStringIncludes(text.stdout, "session first, version 3, rows, 5 events");
  const forked = await document(["fork", "first", ...store], { cwd });
  assertEquals(forked.json.parentSession, "first");
  assertEquals((await document(["rm", "first", "--yes", ...store], { cwd })).code, 0);
  assertEquals((await document(["ls", ...store], { cwd })).json.length, 1);
});

Deno.test("an agent runs in a SQLite store, and its tools do not reach the file", async () => {
  await using folder = new TempFolder();
  const cwd = folder.path;
  Deno.writeTextFileSync(`${cwd}/plain.txt`, "a plain file");
  const read = (path: string) => ({ call: { name: "read_file", arguments: { path } } });
  const files = ["plain.txt", "s.db", "s.db-wal", "s.db.locks"];
  const steps = [...files.map((path) => [read(path)]), [{ text: "done" }]];
  Deno.writeTextFileSync(`${cwd}/script.json`, JSON.stringify(steps));
  const args = ["run", "read", "--store", "sqlite:s.db", "--workspace", ".", "--model", "scripted:script.json"];
  const ran = await holdfast(args, { cwd });
  assertEquals(ran.code, 0, ran.stderr);
  const [row] = (await document(["ls", "--store", "sqlite:s.db"], { cwd })).json;
  assertEquals([row.state, row.header.cwd], ["ok", cwd]);
  const { json } = await document(["show", row.id, "--store", "sqlite:s.db"], { cwd });
  const results = json.events.filter(({ type }: { type: string }) => type === "tool/result");
  const texts = results.map((event: { data: unknown }) => JSON.stringify(event.data));
  assertEquals(
    texts.map((text: string) => text.includes('"isError":true')),
    [false, true, true, true],
    texts.join("\n"),
  );
});

Deno.test("copy refuses what it cannot do as a mistake, and makes nothing", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "first", twoTurns().events);
  const before = folder.snapshot();
  for (
    const args of [
      ["copy", "first"],
      ["copy", "first", "--to", "mysql://x"],
      ["copy", "first", "--to", "sqlite:"],
      ["copy", "first", "--to", folder.root],
      ["ls", "--store", "http://x"],
      ["import", "x.jsonl", "--store", "sqlite:s.db"],
    ]
  ) {
    const { code, json } = await document(args, { cwd: folder.path });
    assertEquals([code, json.error.code], [2, "USAGE"], args.join(" "));
  }
  const missing = await document(["copy", "no", "--to", "sqlite:s.db"], { cwd: folder.path });
  assertEquals([missing.code, missing.json.error.code], [1, "NOT_FOUND"]);
  assertEquals(folder.snapshot(), before);
});

/** Two stores, files and SQLite, on fresh places. */
async function withStores(act: (files: SessionStore, sqlite: SessionStore) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-copy-" });
  try {
    await using files = openFileStore({ root: `${folder}/root` });
    await using sqlite = openSqliteStore({ path: `${folder}/s.db` });
    await act(files, sqlite);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("copySession() carries blobs before the events that name them, and says which the source has not", () =>
  withStores(async (source, target) => {
    const log = await source.create(headerFor("a"));
    const bytes = new TextEncoder().encode("a long result");
    const kept = await log.putBlob(bytes);
    const spilled = (seq: number, digest: string) => ({
      ...{ type: "result/spilled", seq, time: 1, ignorable: true as const },
      data: { callId: "c", callSeq: 0, digest, sizeBytes: 13 },
    });
    const events = [...eventsOf(0, 1), ...[kept, "0".repeat(64)].map((digest, index) => spilled(1 + index, digest))];
    const problem = await log.append(events).then(() => null, (error: Error) => error.message);
    assertEquals(problem, null);
    const copied = await copySession({ source, target, id: "a", upgrade: null });
    assertEquals([copied.blobs, copied.missingBlobs], [2, ["0".repeat(64)]]);
    assertEquals(await (await target.open("a", "read")).getBlob(kept), bytes);
  }));

Deno.test("copySession() goes on where an interrupted copy ended, and leaves another session of the id alone", () =>
  withStores(async (source, target) => {
    const log = await source.create(headerFor("a"));
    await log.append(eventsOf(0, 100));
    const begun = await target.create(headerFor("a"));
    await begun.append(eventsOf(0, 37));
    await begun.close();
    const copied = await copySession({ source, target, id: "a", upgrade: null });
    assertEquals([copied.resumedFrom, copied.events], [37, 100]);
    assertEquals(await readAll(await target.open("a", "read")), eventsOf(0, 100));

    await createAll(source, ["b"]);
    const other = await target.create(headerFor("b", { createdAt: 7 }));
    await other.append(eventsOf(0, 1));
    await other.close();
    const refusal = await assertRejects(() => copySession({ source, target, id: "b", upgrade: null }));
    assert(hasCode(refusal, "ALREADY_EXISTS"));
    // One that has gone on is no beginning of its source either.
    const ahead = await target.open("a", "write");
    await ahead.append(eventsOf(100, 1));
    await ahead.close();
    assert(
      hasCode(await assertRejects(() => copySession({ source, target, id: "a", upgrade: null })), "ALREADY_EXISTS"),
    );
  }));

Deno.test("copySession() refuses a copy that does not read back as it was written", () =>
  withStores(async (source, target) => {
    await createAll(source, ["a"]);
    const forgetful: SessionStore = new Proxy(target, {
      get(store, name) {
        if (name !== "create") return Reflect.get(store, name).bind?.(store) ?? Reflect.get(store, name);
        return async (header: Parameters<SessionStore["create"]>[0]) => {
          const log = await store.create(header);
          const read = log.read.bind(log);
          log.read = async (options) => {
            const page = await read(options);
            return { ...page, events: page.events.map((event) => ({ ...event, time: event.time + 1 })) };
          };
          return log;
        };
      },
    });
    const refusal = await assertRejects(() => copySession({ source, target: forgetful, id: "a", upgrade: null }));
    assert(hasCode(refusal, "CORRUPT_LOG"), String(refusal));
  }));

Deno.test("copySession() keeps values that JSON.stringify would change, and events of types that are not known", () =>
  withStores(async (source, target) => {
    const log = await source.create(headerFor("a"));
    const data = JSON.parse('{"z": -0, "deep": [[{"": null}]], "half": "\\ud800", "__proto__": {"a": 1}}');
    await log.append([{ type: "x/\ud800\u0000", seq: 0, time: -5, data, ignorable: true, more: { b: 1 } } as never]);
    const { digest } = await copySession({ source, target, id: "a", upgrade: null });
    const [event] = await readAll(await target.open("a", "read"));
    assertEquals(
      JSON.stringify(Object.entries(event!).sort()),
      JSON.stringify(Object.entries((await readAll(log))[0]!).sort()),
    );
    assert(Object.is((event!.data as { z: number }).z, -0));
    assertMatch(digest, /^[0-9a-f]{64}$/);
  }));

Deno.test("copy of a log of an older version is refused until something upgrades it; then what comes of it is copied", async () => {
  const fixtures = fixturesDir();
  if (fixtures === null) return casesNotRun(2, "sqlite-v15");
  await using folder = new TempFolder();
  const from = `sqlite:${fixtures}/dsh/sqlite-v15/sessions.before-load.db`;
  const refused = await document(["copy", "plain", "--from", from, "--to", "sqlite:s.db"], { cwd: folder.path });
  assertEquals([refused.code, refused.json.error.code], [1, "UNSUPPORTED_FORMAT"]);
  assertMatch(refused.json.error.message, /version 0/);
  await withStores(async (files, target) => {
    await createAll(files, ["a"]);
    const source = oldStore(files);
    const upgrade = () => Promise.resolve({ header: headerFor("a"), events: eventsOf(0, 12) });
    assertEquals((await copySession({ source, target, id: "a", upgrade })).events, 12);
    assertEquals(await readAll(await target.open("a", "read")), eventsOf(0, 12));
  });
});

/** A store whose logs say that they are of version 0. */
function oldStore(store: SessionStore): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      if (name !== "open") return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
      return async (id: string) => {
        const reader = await target.open(id, "read");
        Object.defineProperty(reader, "header", { value: { ...reader.header, version: 0 } });
        return reader;
      };
    },
  });
}

Deno.test("parsePlace() reads folders, SQLite files and addresses, and placeName() never says a password", () => {
  const nameOf = (spec: string) => placeName(parsePlace(spec, "/w"));
  assertEquals(nameOf("root"), "/w/root");
  assertEquals(nameOf("file:root"), "/w/root");
  assertEquals(nameOf("sqlite:s.db"), "sqlite:/w/s.db");
  assertEquals(nameOf("sqlite:/tmp/s.db"), "sqlite:/tmp/s.db");
  assertEquals(nameOf("postgres://me:secret@host:5432/db"), "postgres://me@host:5432/db");
  assertEquals(nameOf("postgres://me:se@cret@host/db").includes("cret"), false);
  assertEquals(nameOf("postgresql://host/db?user=me&password=secret").includes("secret"), false);
});
