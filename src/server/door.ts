/**
 * The door from an agent's shell tool to the sandbox of this machine, inside one process.
 *
 * The shell tool knows no sandbox and the sandbox knows no agent. Whoever hosts agents puts this between them: the command line
 * for the agent in a terminal, the server for the agents it hosts.
 *
 * @module
 */
import {
  DIMENSIONS,
  type Enforcement,
  type Gap,
  Sandbox,
  type SandboxMode,
  type SandboxPolicy,
} from "../sandbox/mod.ts";
import { INVALID_ARGS, ToolError } from "../../mod.ts";
import { MODE_REFUSED, overLimits, type SandboxDoor, type ShellCommand } from "../tools/mod.ts";

/** Where commands run, and how far a grant can widen one. */
export interface DoorOptions {
  /** Default: that of this machine. Nothing is probed before the first command, or the first question about it. */
  readonly sandbox?: Sandbox;
  /** The folder that commands work in. Absolute. */
  readonly workspace: string;
  /** What no command may read: where tokens and sessions are kept. Absolute. */
  readonly hidden?: readonly string[];
  /** The widest mode that a grant can give one command. Default "danger-full-access": whoever grants owns the machine. */
  readonly modeMax?: SandboxMode;
  /** Whether a grant can give one command the network. Default true. */
  readonly allowNetwork?: boolean;
}

/** What would confine a command in one mode. */
export interface SandboxState {
  readonly mode: SandboxMode;
  /** What confines; `null` = nothing does. */
  readonly provider: string | null;
  /** Per dimension; `null` = nothing is confined. */
  readonly enforcement: Readonly<Record<string, Enforcement>> | null;
  /** What is possible all the same. */
  readonly gaps: readonly Gap[];
  /** Why no command runs; `null` = commands run. */
  readonly reason: string | null;
}

/** The door of this machine. */
export interface CommandDoor extends SandboxDoor {
  /** What is behind it, so that whoever else runs commands here shares what was measured. */
  readonly sandbox: Sandbox;
  /** What would confine a command now. Probes the sandbox when nobody has yet. Never rejects. */
  state(mode: SandboxMode): Promise<SandboxState>;
}

/**
 * Makes the door of this machine.
 *
 * @example
 * ```ts
 * import { Sandbox } from "../sandbox/mod.ts";
 * import { commandDoor } from "./door.ts";
 *
 * const door = commandDoor({ sandbox: new Sandbox({ platform: "browser" }), workspace: "/srv/ws" });
 * const { provider, reason } = await door.state("read-only");
 * if (provider !== null || reason === null) throw new Error("unreachable");
 * ```
 */
export function commandDoor(options: DoorOptions): CommandDoor {
  const { sandbox = new Sandbox(), workspace, hidden, modeMax = "danger-full-access", allowNetwork = true } = options;
  const limits = { modeMax, allowNetwork };
  return {
    sandbox,
    limits: () => limits,
    async runCommand(command, watch) {
      const { argv, mode } = command;
      const refused = overLimits(command, limits);
      if (refused !== null) throw new ToolError(MODE_REFUSED, refused);
      const policy = policyOf(command, options);
      if (mode !== "danger-full-access") {
        try {
          await sandbox.confine(argv, policy);
        } catch (error) {
          // Whoever asks for what cannot be is told so; nothing has run.
          if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
          throw new ToolError(INVALID_ARGS, `the command did not run: ${error.message}`);
        }
      }
      return await sandbox.run(argv, policy, watch);
    },
    async state(mode) {
      const nothing = { mode, provider: null, enforcement: null, gaps: [] };
      if (mode === "danger-full-access") return { ...nothing, reason: null };
      const found = await sandbox.describe({ workspace, hidden, mode });
      if ("reason" in found) return { ...nothing, reason: found.reason };
      const { provider, enforcement, gaps } = found.report;
      return { mode, provider, enforcement, gaps, reason: null };
    },
  };
}

function policyOf({ mode, network, cwd, timeMs }: ShellCommand, { workspace, hidden }: DoorOptions): SandboxPolicy {
  return { mode, network, workspace, hidden, limits: { timeMs }, ...(cwd === undefined ? {} : { cwd }) };
}

/**
 * What a state says, in words for a person: never more than was measured.
 *
 * @example
 * ```ts
 * import { stateText } from "./door.ts";
 *
 * const state = { mode: "read-only", provider: null, enforcement: null, gaps: [], reason: "no bwrap" } as const;
 * if (stateText(state) !== "no command runs: no bwrap") throw new Error("unreachable");
 * ```
 */
export function stateText({ provider, enforcement, gaps, reason }: SandboxState): string {
  if (reason !== null) return `no command runs: ${reason}`;
  if (enforcement === null) return "commands run as you: nothing confines them";
  const levels = DIMENSIONS.map((dimension) => `${dimension} ${enforcement[dimension]}`).join(", ");
  const open = gaps.length === 0 ? "" : ` (${gaps.map(({ what }) => what).join("; ")})`;
  return `${provider}: ${levels}${open}`;
}
