/**
 * `deno task start`: serves the page in which the agent runs, and prints its address. The agent in a terminal is `holdfast run`.
 *
 * This file runs without a configuration, so that an old Deno comes far enough to be told what to type instead.
 *
 * @module
 */

import { requireDeno } from "./deno_version.ts";
import { fileURLToPath } from "node:url";

const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const SERVER = fileURLToPath(new URL("./page_server.ts", import.meta.url));

requireDeno("start");

const server = new Deno.Command(Deno.execPath(), {
  args: ["run", "-A", "--config", CONFIG, SERVER, ...Deno.args],
  stdin: "null",
}).spawn();
// Ctrl-C reaches the server too, and telling it twice is harmless. What is sent to this process alone is passed on.
if (Deno.build.os === "windows") Deno.addSignalListener("SIGINT", () => {});
else for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, () => pass(signal));
Deno.exit((await server.status).code);

function pass(signal: Deno.Signal): void {
  try {
    server.kill(signal);
  } catch {
    // It has ended already, and its code is on the way.
  }
}
