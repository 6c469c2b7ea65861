/**
 * A writer that is killed: appends batches to one session for ever, and says on standard output what was acknowledged.
 *
 * `kill_child.ts DATABASE RUN`. Lines: `ready` before the store is opened, `open N` with the next seq, `ack N` with a durable seq.
 *
 * @module
 */
import process from "node:process";
import { openSqliteStore } from "../../../src/entry/sqlite.ts";
import type { LogWriter } from "../../../mod.ts";
import { headerOf } from "../../../src/testing/session_store_context.ts";
import { batchSizeAt, eventAt, SESSION } from "./kill_plan.ts";

const [path = "", run = "0"] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${text}\n`);

say("ready");
const store = openSqliteStore({ path });
let log: LogWriter;
if (await store.stat(SESSION) === null) log = await store.create(headerOf(SESSION));
else log = await store.open(SESSION, "write");
let next = log.state().nextSeq;
say(`open ${next}`);
for (;;) {
  const size = batchSizeAt(next);
  const events = Array.from({ length: size }, (_, index) => eventAt(next + index, Number(run)));
  // Now and then bytes too, so that kills fall into transactions of both kinds.
  if (next % 7 === 0) await log.putBlob(new TextEncoder().encode(`blob of run ${run} at ${next}`));
  const last = await log.append(events);
  next = last + 1;
  say(`ack ${last}`);
}
