/**
 * `deno task start`: the terminal agent with the keyless demo model, on a workspace below the folder it is started from.
 *
 * Arguments go to `holdfast run`.
 *
 * @module
 */

import { requireDeno } from "./deno_version.ts";
import { fileURLToPath } from "node:url";

const WORKSPACE = "workspace";
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const COMMAND = fileURLToPath(new URL("./main.ts", import.meta.url));

requireDeno("start");

const given = (flag: string) => Deno.args.some((arg) => arg === flag || arg.startsWith(`${flag}=`));
// A task runs in the folder of deno.json; INIT_CWD is where the person is.
const cwd = Deno.env.get("INIT_CWD") ?? Deno.cwd();
const options: string[] = [];
if (!given("--model")) options.push("--model", "demo");
// Whoever goes on with a session goes on in its folder.
if (!given("--workspace") && !given("--session") && !given("--continue")) {
  options.push("--workspace", WORKSPACE, "--create-workspace");
}

const agent = new Deno.Command(Deno.execPath(), {
  args: ["run", "-A", "--config", CONFIG, COMMAND, "run", ...options, ...Deno.args],
  cwd,
}).spawn();
// Ctrl-C reaches the agent too, and the agent decides what it means. What is sent to this process alone is passed on.
Deno.addSignalListener("SIGINT", () => {});
if (Deno.build.os !== "windows") {
  for (const signal of ["SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, () => agent.kill(signal));
}
Deno.exit((await agent.status).code);
