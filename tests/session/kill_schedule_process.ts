/**
 * A process of the kill schedule, for Deno and Node: `process ORDER ROOT`. It says one JSON line for each thing, and reads answers.
 *
 * @module
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { live } from "./kill_schedule.ts";

/** It waits to be killed, and whoever started it may be gone. */
const LIFE_MS_MAX = 60_000;
setTimeout(() => process.exit(1), LIFE_MS_MAX);

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const [order, root] = process.argv.slice(2) as [string, string];
await live(JSON.parse(order), {
  say: (said) => void writeSync(1, JSON.stringify(said) + "\n"),
  answer: async () => JSON.parse(String((await answers.next()).value)),
}, openFileStorage({ root }));
