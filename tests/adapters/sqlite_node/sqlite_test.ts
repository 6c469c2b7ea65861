import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { hasCode, type SessionStore } from "../../../mod.ts";
import { openSqliteFile, openSqliteStore } from "../../../src/entry/sqlite.ts";
import { createAll, eventsOf, headerOf, readAll } from "../../../src/testing/session_store_context.ts";
import { repositoryDir } from "../../support/paths.ts";
import { shortWriters } from "./short_writers.ts";

/** A fresh folder, and the path of a database in it that is not there yet. */
async function withFolder(act: (path: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-sqlite-" });
  try {
    await act(`${folder}/sessions.db`, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function made(path: string, ids: readonly string[] = ["a"]): Promise<void> {
  await using store = openSqliteStore({ path });
  await createAll(store, ids);
}

/** Changes the file as another program would. */
function meddle(path: string, ...statements: readonly string[]): void {
  const database = new DatabaseSync(path);
  try {
    for (const statement of statements) database.exec(statement);
  } finally {
    database.close();
  }
}

function pragmaOf(path: string, name: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Object.values(database.prepare(`PRAGMA ${name}`).get()!)[0];
  } finally {
    database.close();
  }
}

/** Names and sizes of what lies in a folder, and the newest time of a change. */
function filesIn(folder: string): unknown[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => {
    const { size, mtime, isDirectory } = Deno.lstatSync(`${folder}/${name}`);
    return isDirectory ? [name, [...Deno.readDirSync(`${folder}/${name}`)].length] : [name, size, mtime?.getTime()];
  }).sort();
}

async function codeOf(act: () => Promise<unknown>): Promise<string> {
  const error = await assertRejects(act) as Error & { readonly code?: string };
  return error.code ?? error.name;
}

Deno.test("sqlite: the database is its owner's alone, in WAL, and says whose it is and of which version", () =>
  withFolder(async (_, folder) => {
    await made(`${folder}/new/deep/sessions.db`);
    const file = `${folder}/new/deep/sessions.db`;
    assertEquals(Deno.statSync(file).mode! & 0o777, 0o600);
    for (const made of [`${folder}/new`, `${folder}/new/deep`, `${file}.locks`]) {
      assertEquals(Deno.statSync(made).mode! & 0o777, 0o700, made);
    }
    assertEquals(pragmaOf(file, "journal_mode"), "wal");
    assertEquals([pragmaOf(file, "application_id"), pragmaOf(file, "user_version")], [0x48465354, 1]);
  }));

Deno.test("sqlite: another schema version or another program's database is refused, and nothing of it is changed", async (t) => {
  const cases: readonly (readonly [name: string, statement: string, text: RegExp])[] = [
    ["newer", "PRAGMA user_version = 2", /found schema version 2, wanted 1: written by a newer program/],
    ["older", "PRAGMA user_version = 0", /found schema version 0, wanted 1: an older version/],
    ["other", "PRAGMA application_id = 77", /found application id 77, wanted 1212568404/],
    ["nobody's", "PRAGMA application_id = 0", /found application id 0, wanted 1212568404/],
  ];
  for (const [name, statement, text] of cases) {
    await t.step(name, () =>
      withFolder(async (path) => {
        await made(path);
        meddle(path, statement);
        const before = await Deno.readFile(path);
        const acts: ((store: SessionStore) => Promise<unknown>)[] = [
          (store) => store.open("a", "read"),
          (store) => store.open("a", "write"),
          (store) => store.stat("a"),
          (store) => Array.fromAsync(store.list()),
          (store) => store.create(headerOf("b")),
          (store) => store.delete("a"),
        ];
        for (const act of acts) {
          await using store = await openSqliteFile({ path });
          const error = await assertRejects(() => act(store));
          assert(hasCode(error, "UNSUPPORTED_FORMAT"), String(error));
          assertMatch((error as Error).message, text);
        }
        assertEquals(await Deno.readFile(path), before);
      }));
  }
});

Deno.test("sqlite: a link, a folder, a foreign mode and a file that is no database are refused by name (field/D12)", () =>
  withFolder(async (path, folder) => {
    await made(path);
    await Deno.symlink(path, `${folder}/link.db`);
    await Deno.mkdir(`${folder}/folder.db`);
    await Deno.writeTextFile(`${folder}/text.db`, "no database at all, and long enough to be one".repeat(40));
    await Deno.chmod(`${folder}/text.db`, 0o600);
    await Deno.copyFile(path, `${folder}/open.db`);
    await Deno.chmod(`${folder}/open.db`, 0o640);
    const write = (name: string) => async () => {
      await using store = openSqliteStore({ path: `${folder}/${name}` });
      const log = await store.create(headerOf("new"));
      await log.append(eventsOf(0, 1));
    };
    const before = filesIn(folder);
    assertEquals(await codeOf(write("link.db")), "STORAGE_LOST");
    assertEquals(await codeOf(write("folder.db")), "STORAGE_LOST");
    assertEquals(await codeOf(write("text.db")), "CORRUPT_LOG");
    assertEquals(await codeOf(write("open.db")), "STORAGE_LOST");
    // Nothing fell back to anything else: no other store was made, and what was there is as it was.
    const locks = (entry: unknown) => !String((entry as unknown[])[0]).endsWith(".locks");
    assertEquals(filesIn(folder).filter(locks), before.filter(locks));
    // What is readable is shown, whoever else may read it.
    await using store = await openSqliteFile({ path: `${folder}/open.db` });
    assertEquals(await readAll(await store.open("a", "read")), eventsOf(0, 1));
  }));

Deno.test("sqlite: another user's database is read and not written", () =>
  withFolder(async (path) => {
    if (Deno.uid() !== 0) return console.log("1 case not run: only root can give a file away");
    await made(path);
    await Deno.chown(path, 54321, 54321);
    await using store = openSqliteStore({ path });
    assertEquals(await readAll(await store.open("a", "read")), eventsOf(0, 1));
    const error = await assertRejects(() => store.open("a", "write"));
    assert(hasCode(error, "STORAGE_LOST"));
    assertMatch((error as Error).message, /it belongs to user 54321, and this is user 0/);
  }));

Deno.test("sqlite: a session that another process holds is refused in less than a second, also while that one stands still", () =>
  withFolder(async (path) => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--allow-all", `${repositoryDir}/tests/adapters/sqlite_node/kill_child.ts`],
        ...[path, "1"],
      ],
      stdout: "piped",
    }).spawn();
    const words = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; !text.includes("ack ");) text += (await words.read()).value ?? "";
    child.kill("SIGSTOP");
    try {
      await using store = openSqliteStore({ path });
      const startMs = performance.now();
      const error = await assertRejects(() => store.open("killed", "write"));
      const tookMs = performance.now() - startMs;
      assert(hasCode(error, "LOCK_HELD"), String(error));
      console.log(`refused after ${tookMs.toFixed(0)} ms`);
    } finally {
      child.kill("SIGKILL");
      await child.status;
      await words.cancel();
    }
    await using store = openSqliteStore({ path });
    await (await store.open("killed", "write")).close();
  }));

Deno.test("sqlite: a file that is unlinked or replaced under a writer is not written to any more", () =>
  withFolder(async (path) => {
    await using store = openSqliteStore({ path });
    const log = await store.create(headerOf("a"));
    await log.append(eventsOf(0, 1));
    await Deno.rename(path, `${path}.away`);
    assertEquals(await codeOf(() => log.append(eventsOf(1, 1))), "LOCK_LOST");
    await Deno.rename(`${path}.away`, path);
    // Spent for good: what was refused once is not silently taken later.
    assertEquals(await codeOf(() => log.append(eventsOf(1, 1))), "LOCK_LOST");
  }));

Deno.test("sqlite: reading makes nothing, checkpoints nothing and leaves nothing (field/D11)", () =>
  withFolder(async (path, folder) => {
    await made(path, ["a", "b"]);
    const look = async () => {
      await using store = await openSqliteFile({ path });
      assertEquals(await readAll(await store.open("a", "read")), eventsOf(0, 1));
      assertEquals((await Array.fromAsync(store.list())).length, 2);
      assertEquals(await codeOf(() => store.open("c", "write")), "NOT_FOUND");
    };
    const idle = filesIn(folder);
    await look();
    assertEquals(filesIn(folder), idle);

    // Beside a writer there is a -wal: it is read, and stays as it is.
    await using store = openSqliteStore({ path });
    const log = await store.open("b", "write");
    await log.append(eventsOf(1, 1));
    const wal = await Deno.readFile(`${path}-wal`);
    const database = await Deno.readFile(path);
    assert(wal.length > 0);
    await look();
    assertEquals(await Deno.readFile(`${path}-wal`), wal);
    assertEquals(await Deno.readFile(path), database);
  }));

// The same with 1000 rounds is short_writers_soak.ts.
Deno.test("sqlite: short-lived writers beside a long-lived one leave the database whole (field/D11)", async () => {
  await shortWriters(100);
});

Deno.test("sqlite: what is deleted is not in the file any more", () =>
  withFolder(async (path) => {
    const secret = "a secret that nobody keeps";
    const isInFile = async () => new TextDecoder("latin1").decode(await Deno.readFile(path)).includes(secret);
    {
      await using store = openSqliteStore({ path });
      const log = await store.create(headerOf("a"));
      await log.append([{ type: "feedback/record", seq: 0, time: 1, data: { text: secret } }]);
      await log.putBlob(new TextEncoder().encode(secret));
    }
    assertEquals(await isInFile(), true);
    {
      await using store = openSqliteStore({ path });
      await store.delete("a");
    }
    assertEquals(await isInFile(), false);
  }));

Deno.test("sqlite: a database that changes while it is read as one at rest is read again, and no event is shown twice", () =>
  withFolder(async (path) => {
    {
      await using store = openSqliteStore({ path });
      const log = await store.create(headerOf("a"));
      await log.append(eventsOf(0, 500));
    }
    await using store = await openSqliteFile({ path });
    let changes = 0;
    const visited: number[] = [];
    await using reader = await store.open("a", "read", {
      visit({ seq }) {
        visited.push(seq);
        if (seq % 150 !== 100) return;
        // Another program opens, changes and closes the database: the file at rest is another one now.
        meddle(
          path,
          `UPDATE session SET agent_preset = 'p${changes++}' WHERE id = 'b'`,
          "CREATE TABLE x (a)",
          "DROP TABLE x",
        );
      },
    });
    assertEquals([changes, visited], [3, eventsOf(0, 500).map(({ seq }) => seq)]);
    assertEquals(await readAll(reader), eventsOf(0, 500));
  }));

Deno.test("sqlite: a database with a rollback journal is read under its locks, beside its writer", () =>
  withFolder(async (path) => {
    const writer = new DatabaseSync(path);
    writer.exec(`PRAGMA application_id = ${0x44534850}; PRAGMA user_version = 15; PRAGMA cache_size = 1`);
    writer.exec(`
      CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER, created_at INTEGER, cwd TEXT, parent_session TEXT,
        seed_length INTEGER, origin TEXT, delegation_depth INTEGER, agent_preset TEXT) STRICT;
      CREATE TABLE events (session_id TEXT, seq INTEGER, type TEXT, time INTEGER, data TEXT, source_event_seqs TEXT,
        surface_op TEXT, ignorable INTEGER, PRIMARY KEY (session_id, seq)) STRICT`);
    writer.exec("INSERT INTO sessions (id, version, created_at) VALUES ('a', 0, 1)");
    const add = (seq: number) =>
      writer.exec(
        `INSERT INTO events (session_id, seq, type, time, data) VALUES ('a', ${seq}, 'turn/start', 1, '{"turn":1}')`,
      );
    add(0);
    await using store = await openSqliteFile({ path });
    await using reader = await store.open("a", "read");
    writer.exec("BEGIN IMMEDIATE");
    add(1);
    // The journal is there, and is nobody's to roll back while its writer lives.
    assertEquals((await readAll(reader)).length, 1);
    writer.exec("COMMIT");
    assertEquals((await readAll(reader)).length, 2);
    writer.close();
  }));
