/**
 * The shell of a server: of the agents it hosts, and of those in a browser that ask its endpoint.
 *
 * @module
 */
import { type CommandDoor, commandDoor } from "../server/door.ts";
import { SHELL_MODES, type ShellMode, shellTool } from "../tools/mod.ts";
import type { Tool } from "../../mod.ts";
import type { CommandContext } from "./command.ts";
import { SANDBOX_FLAG, type ShellSetting, shellSetting, shellText } from "./shell.ts";
import { type Flag, UsageError } from "./usage.ts";

/** What every command is started by. */
const SHELL = "/bin/sh";

/** The flags of a server's shell. */
export const SANDBOX_FLAGS: Readonly<Record<string, Flag>> = {
  sandbox: {
    ...SANDBOX_FLAG,
    help: `what commands may change: as in run; default read-only, and off where this process may not start ${SHELL}`,
  },
  "sandbox-max": {
    value: "MODE",
    help:
      "the most that whoever has the token may grant to one command; default workspace-write, or --sandbox if wider",
  },
  "sandbox-network": { help: "whoever has the token may grant one command the network" },
};

/** The shell of a server. */
export interface HostedShell {
  readonly setting: ShellSetting;
  /** `null` when it is off. */
  readonly door: CommandDoor | null;
  /** Of a hosted agent: the shell, or nothing. */
  readonly tools: readonly Tool[];
  /** What no grant goes beyond, and why nothing runs at all (`null`: it runs). */
  readonly limits: { readonly modeMax: ShellMode; readonly allowNetwork: boolean; readonly whyOff: string | null };
}

/**
 * The shell that the flags ask for, as far as this process has leave to start one. Starts and measures nothing yet.
 *
 * @throws {UsageError} when the flags do not fit each other, or that leave
 */
export function hostedShell(context: CommandContext, workspace: string): HostedShell {
  const { args, root } = context;
  const given = shellSetting(context);
  const mayRun = Deno.permissions.querySync({ name: "run", command: SHELL }).state === "granted";
  if (given !== undefined && given !== "off" && !mayRun) {
    throw new UsageError(`Cannot use --sandbox "${given}": this process may not start ${SHELL} (--allow-run=${SHELL})`);
  }
  const setting = given ?? (mayRun ? "read-only" : "off");
  const allowNetwork = args.has("sandbox-network");
  if (setting === "off") {
    if (args.has("sandbox-max") || allowNetwork) {
      throw new UsageError("Cannot use --sandbox-max and --sandbox-network: there is no shell");
    }
    const whyOff = given === "off" ? "this server was started with --sandbox off" : `it may not start ${SHELL}`;
    return { setting, door: null, tools: [], limits: { modeMax: "read-only", allowNetwork, whyOff } };
  }
  const modeMax = widestOf(args.text("sandbox-max"), setting);
  const door = commandDoor({ workspace, hidden: [root], modeMax, allowNetwork });
  const tools = [shellTool({ run: door, mode: setting })];
  return { setting, door, tools, limits: { modeMax, allowNetwork, whyOff: null } };
}

function widestOf(max: string | undefined, mode: ShellMode): ShellMode {
  const isWider = (one: ShellMode, other: ShellMode) => SHELL_MODES.indexOf(one) > SHELL_MODES.indexOf(other);
  if (max === undefined) return isWider(mode, "workspace-write") ? mode : "workspace-write";
  const found = SHELL_MODES.find((each) => each === max);
  if (found === undefined) {
    throw new UsageError(`Cannot use --sandbox-max "${max}": wanted one of ${SHELL_MODES.join(", ")}`);
  }
  if (isWider(mode, found)) throw new UsageError(`Cannot use --sandbox-max "${max}": --sandbox ${mode} is wider`);
  return found;
}

/** Says once what confines commands. It is measured, which takes a while, so the server answers already. */
export async function tellShell({ setting, door, limits }: HostedShell, out: CommandContext["out"]): Promise<void> {
  const { modeMax, whyOff } = limits;
  if (door === null || setting === "off") return out.note(`No shell: ${whyOff}`);
  const granted = modeMax === setting ? "nothing wider can be granted" : `up to ${modeMax} can be granted`;
  out.note(`${shellText(await door.state(setting))}; ${granted}`);
}
