/**
 * The door through which the shell tool reaches whoever can run commands: in the server its sandbox, in a page a request to it.
 *
 * @see execution §6
 * @module
 */
import { SandboxUnavailableError } from "../errors.ts";

/** How much a command may change, from the narrowest to the widest. */
export const SHELL_MODES = ["read-only", "workspace-write", "danger-full-access"] as const;
/** How much a command may change. */
export type ShellMode = typeof SHELL_MODES[number];

/** The code of a command that asks for more than its host ever gives, whoever grants it. */
export const MODE_REFUSED = "MODE_REFUSED";

/** What no grant goes beyond. */
export interface ShellLimits {
  /** The widest mode that one command can be granted. */
  readonly modeMax: ShellMode;
  /** Whether one command can be granted the network. */
  readonly allowNetwork: boolean;
}

/** A command as it is passed through the door. */
export interface ShellCommand {
  /** A list: the shell, and the script as one argument. */
  readonly argv: readonly string[];
  /** The mode that holds for this command alone. */
  readonly mode: ShellMode;
  /** The switch of the network, for this command alone. */
  readonly network: "off" | "on";
  /** A folder to start in, relative to the workspace or inside of it; the workspace when there is none. */
  readonly cwd?: string;
  /** When it is ended, in milliseconds. */
  readonly timeMs: number;
  /** The session of the call. */
  readonly sessionId: string;
  /** The same for every repetition of this call: a door that keeps it runs the command once. */
  readonly effectKey: string;
}

/** A stream of a command that has ended. */
export interface ShellOutput {
  /** What was kept of it. */
  readonly text: string;
  /** How much there was. */
  readonly sizeBytes: number;
  /** Whether something is left out. */
  readonly isCut: boolean;
}

/** How a command ended. */
export interface ShellEnd {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it. */
  readonly signal: string | null;
  /** Who ended it: itself, or which bound. */
  readonly ending: "exited" | "timed-out" | "cancelled" | "output-limit";
  /** Whether it was started at all. */
  readonly hasStarted: boolean;
  /** Standard output. */
  readonly stdout: ShellOutput;
  /** Standard error. */
  readonly stderr: ShellOutput;
  /** Whether it failed in the words of a command that the sandbox refused something. */
  readonly isDenied: boolean;
  /** Names that a program outside of the sandbox obeys (settings, hooks), and that are new in the workspace. */
  readonly appeared: readonly string[];
  /** What it ran under; `enforcement` is `null` when nothing confined it. */
  readonly report: {
    readonly mode: ShellMode;
    readonly provider: string | null;
    readonly enforcement: Readonly<Record<"files" | "network" | "processes" | "environment", string>> | null;
    readonly gaps: readonly { readonly dimension: string; readonly what: string }[];
  };
}

/** Output as it comes. */
export interface ShellChunk {
  /** Which stream. */
  readonly stream: "stdout" | "stderr";
  /** The bytes. */
  readonly bytes: Uint8Array;
}

/** Who watches a command. */
export interface ShellWatch {
  /** Ends the command and everything it started. */
  readonly signal: AbortSignal;
  /** Called with every piece of output; the command waits for what it returns. */
  readonly onOutput: (chunk: ShellChunk) => void | Promise<void>;
}

/** Whoever can run commands. */
export interface SandboxDoor {
  /**
   * Runs a command. Resolves when it and everything it started has ended.
   *
   * Rejects only with what says that the command was not started. Everything else that it rejects with (a connection that broke)
   * leaves that open, and the call ends with `TOOL_OUTCOME_UNKNOWN`.
   *
   * @throws {SandboxUnavailableError} when it cannot be confined as it must
   * @throws {ToolError} when a command may not ask for that, a folder outside of the workspace for instance
   */
  readonly runCommand: (command: ShellCommand, watch: ShellWatch) => Promise<ShellEnd>;
  /**
   * What no grant goes beyond, for whoever is about to ask a person: nobody is asked for what is refused afterwards all the same.
   * Starts nothing, and ends soon. `null`, or no such member = that is not known, and the door refuses what it must.
   */
  readonly limits?: () => ShellLimits | null | Promise<ShellLimits | null>;
}

/**
 * Why a command that asks for so much is refused whoever grants it; `null` = it is not.
 *
 * @example
 * ```ts
 * import { overLimits } from "./shell_door.ts";
 *
 * const limits = { modeMax: "workspace-write", allowNetwork: false } as const;
 * if (overLimits({ mode: "read-only", network: "off" }, limits) !== null) throw new Error("unreachable");
 * if (overLimits({ mode: "danger-full-access", network: "off" }, limits) === null) throw new Error("unreachable");
 * ```
 */
export function overLimits(
  { mode, network }: Pick<ShellCommand, "mode" | "network">,
  { modeMax, allowNetwork }: ShellLimits,
): string | null {
  if (SHELL_MODES.indexOf(mode) > SHELL_MODES.indexOf(modeMax)) {
    return `the command did not run: this host allows ${modeMax} at most`;
  }
  return network === "on" && !allowNetwork ? "the command did not run: this host gives no command the network" : null;
}

/**
 * A door where no process can be started: it refuses every command.
 *
 * @param reason why; the model reads it
 *
 * @example
 * ```ts
 * import { hasCode } from "../errors.ts";
 * import { noSandbox } from "./shell_door.ts";
 *
 * const command = { argv: ["ls"], mode: "read-only", network: "off", timeMs: 1000, sessionId: "", effectKey: "" } as const;
 * const watch = { signal: new AbortController().signal, onOutput: () => {} };
 * const door = noSandbox("a browser cannot start processes");
 * const refused = await door.runCommand(command, watch).catch((error: unknown) => error);
 * if (!hasCode(refused, "SANDBOX_UNAVAILABLE")) throw new Error("unreachable");
 * ```
 */
export function noSandbox(reason: string): SandboxDoor {
  return {
    runCommand: ({ argv }) =>
      Promise.reject(new SandboxUnavailableError(`Cannot confine command "${argv[0]}": ${reason}`)),
  };
}
