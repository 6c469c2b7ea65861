/**
 * Appends and syncs 200 times between two looks at names that are not there, for counting system calls by hand:
 *
 * `strace -f -e trace=%file,%desc,fsync,fdatasync deno run -A tests/adapters/file/flush_loop.ts FOLDER`
 *
 * @module
 */

import { existsSync } from "node:fs";
import process from "node:process";
import { openFileStorage } from "../../../src/adapters/file/mod.ts";
import { publish } from "../../../src/storage/storage_port.ts";

const root = process.argv[2] ?? "";
await using storage = openFileStorage({ root });
const lock = await storage.lock("p/s/session.lock");
const record = new TextEncoder().encode(`{"type":"step/start"}\n`);
await publish(storage, "p/s/log", record, lock);
const file = await storage.open("p/s/log", lock);
existsSync("/begin-of-steady-flushes");
for (let flush = 0; flush < 200; flush++) {
  await file.append(record);
  await file.sync();
}
existsSync("/end-of-steady-flushes");
