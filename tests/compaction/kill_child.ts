/**
 * Runs the script of the crash sweep on a real disk, and says each event that is committed, so that it can be killed just then.
 *
 * @module
 */
import { openFileStore } from "../../src/entry/file.ts";
import { scriptIn } from "./crash_world.ts";

const [root] = Deno.args as [string];
const encoder = new TextEncoder();
await using store = openFileStore({ root });
await scriptIn(store, ({ type }) => Deno.stdout.writeSync(encoder.encode(`${type}\n`)));
