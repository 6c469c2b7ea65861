/**
 * One process keeps a database open and writes; another opens it, writes one event and closes it, again and again.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals } from "@std/assert";
import { openSqliteStore } from "../../../src/entry/sqlite.ts";
import { eventsOf, headerOf, readAll } from "../../../src/testing/session_store_context.ts";
import { repositoryDir } from "../../support/paths.ts";

/** Runs `rounds` short writers beside a long one, and says what was seen. Throws at the first thing that is not whole. */
export async function shortWriters(rounds: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-short-" });
  const path = `${folder}/sessions.db`;
  try {
    await using store = openSqliteStore({ path });
    const log = await store.create(headerOf("long"));
    await log.append(eventsOf(0, 1));
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--allow-all", `${repositoryDir}/tests/adapters/sqlite_node/short_writers_child.ts`],
        ...[path, String(rounds)],
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const orders = child.stdin.getWriter();
    let next = 1;
    let last = "";
    for await (const line of child.stdout.pipeThrough(new TextDecoderStream())) {
      last = line.trim();
      if (last === "done") break;
      assertEquals(integrityOf(path), "ok", `round ${last}`);
      await log.append(eventsOf(next++, 1));
      await orders.write(new TextEncoder().encode("\n"));
    }
    await orders.close();
    assertEquals([last, (await child.status).code], ["done", 0]);
    assertEquals(await readAll(log), eventsOf(0, next));
    assert(next > rounds, `${next} appends beside ${rounds} rounds`);
    await using again = openSqliteStore({ path });
    assertEquals(await readAll(await again.open("short", "read")), eventsOf(0, rounds));
    console.log(`${rounds} rounds beside ${next} appends, integrity_check ok after each`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function integrityOf(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Object.values(database.prepare("PRAGMA integrity_check").get()!)[0];
  } finally {
    database.close();
  }
}
