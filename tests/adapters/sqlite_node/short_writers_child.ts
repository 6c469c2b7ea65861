/**
 * The short-lived writer of field/D11: opens the database, writes one event, closes, as often as it is told.
 *
 * `short_writers_child.ts DATABASE TIMES`. After each round a line with its number, and a line is waited for; then `done`.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { hasCode } from "../../../mod.ts";
import { openSqliteStore } from "../../../src/entry/sqlite.ts";
import { eventsOf, headerOf } from "../../../src/testing/session_store_context.ts";

const [path = "", times = "1"] = process.argv.slice(2);
const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (let round = 0; round < Number(times); round++) {
  const store = openSqliteStore({ path });
  const id = "short";
  const log = round === 0 ? await store.create(headerOf(id)) : await store.open(id, "write");
  await log.append(eventsOf(round, 1));
  await log.close();
  // The session of the long-lived writer stays his.
  const refusal = await store.open("long", "write").then(() => null, (error) => error);
  if (!hasCode(refusal, "LOCK_HELD")) throw new Error(`round ${round}: found ${refusal}, wanted LOCK_HELD`);
  await store.close();
  process.stdout.write(`${round}\n`);
  await orders.next();
}
process.stdout.write("done\n");
