/**
 * The shell of an agent on this machine: in which mode its commands run, and what a person is told about it.
 *
 * @module
 */
import { commandDoor, type SandboxState, stateText } from "../server/door.ts";
import { SHELL_MODES, type ShellMode, shellTool } from "../tools/mod.ts";
import type { Tool } from "../../mod.ts";
import { databaseFiles } from "./agent_tools.ts";
import type { CommandContext } from "./command.ts";
import type { Flag } from "./usage.ts";
import { UsageError } from "./usage.ts";

/** How much the agent's commands may change, or that it has no shell. */
export type ShellSetting = ShellMode | "off";

const SETTINGS: readonly string[] = [...SHELL_MODES, "off"];

/** The flag `--sandbox`. */
export const SANDBOX_FLAG: Flag = {
  value: "MODE",
  help: `what the agent's commands may change: ${
    SETTINGS.join(", ")
  }; default read-only. More for one command is asked about`,
};

/** The setting of the flag; `undefined` without one. @throws {UsageError} for another word */
export function shellSetting({ args }: Pick<CommandContext, "args">): ShellSetting | undefined {
  const given = args.text("sandbox");
  if (given === undefined || SETTINGS.includes(given)) return given as ShellSetting | undefined;
  throw new UsageError(`Cannot use --sandbox "${given}": wanted one of ${SETTINGS.join(", ")}`);
}

/** A shell, and what can be said about it. */
export interface AgentShell {
  readonly tool: Tool;
  readonly mode: ShellMode;
  /** How its commands are confined, once: `null` when it was told before. Measures it the first time, which takes a while. */
  tell(): Promise<string | null>;
}

/** The shell of an agent whose person sits here, and so may grant one command everything. Starts and measures nothing yet. */
export function agentShell(
  { root, storeFile = null }: Pick<CommandContext, "root"> & Partial<Pick<CommandContext, "storeFile">>,
  workspace: string,
  mode: ShellMode,
): AgentShell {
  // The logs are evidence: a command does not read them, also when they lie inside the workspace.
  const door = commandDoor({ workspace, hidden: [root, ...databaseFiles(storeFile)] });
  let told: Promise<SandboxState> | null = null;
  return {
    tool: shellTool({ run: door, mode }),
    mode,
    async tell() {
      if (told !== null) return null;
      told = door.state(mode);
      return shellText(await told);
    },
  };
}

/** One line about a mode and what enforces it. */
export function shellText(state: SandboxState): string {
  return `shell in ${state.mode}: ${stateText(state)}`;
}

/** What a model is told about where it is. */
export function surroundingsText(workspace: string, mode: ShellSetting): string {
  const files = `You are an agent. Your tools see the folder "${workspace}" and nothing else of this machine.`;
  if (mode === "off") return files;
  return `${files} Only the commands of your shell can read more; they start in that folder, in the mode ${mode}.`;
}
