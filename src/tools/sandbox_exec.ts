/**
 * The shell of an agent that cannot start processes: commands run in the sandbox of a server, each at most once.
 *
 * @module
 */
import type { Tool } from "../tool/mod.ts";
import { sandboxDoor, type SandboxDoorOptions } from "./sandbox_door.ts";
import { type ShellOptions, shellText, shellTool } from "./shell.ts";

/** How the tool is made. */
export interface SandboxToolOptions
  extends SandboxDoorOptions, Pick<ShellOptions, "mode" | "network" | "inside" | "shell" | "timeoutMs"> {}

/**
 * Makes the tool `shell` over the sandbox endpoint of a server.
 *
 * It is `keyed`: the server runs an effect key once. When the page was gone before the answer came, the next one settles the call
 * from the server's ledger: done, with the output; not run, and never run afterwards; or unknown, when the server itself went
 * down while the command ran.
 *
 * @example
 * ```ts
 * import { sandboxTool } from "./sandbox_exec.ts";
 *
 * const tool = sandboxTool({
 *   endpoint: "http://127.0.0.1:8787/v1/sandbox/exec",
 *   token: "correct-horse-battery",
 *   fetch: (input, init) => fetch(input, init),
 * });
 * if (tool.effectOf({ command: "make" }) !== "keyed") throw new Error("unreachable");
 * if ((await tool.permissionFor({ command: "make" }, "keyed")).decision !== "ask") throw new Error("unreachable");
 * ```
 */
export function sandboxTool(options: SandboxToolOptions): Tool {
  const { mode, network, inside, shell, timeoutMs } = options;
  const door = sandboxDoor(options, shellText);
  return shellTool({
    ...{ mode, network, inside, shell, timeoutMs },
    run: door,
    effect: "keyed",
    reconcile: door.reconcile,
  });
}
