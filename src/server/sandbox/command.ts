/**
 * A command as the endpoint was asked for it, and what a host that runs such commands looks like.
 *
 * @module
 */
import { canonicalJson, type JsonObject } from "../../../mod.ts";
import { COMMAND_TIMEOUT_MS, type ShellEnd, type ShellLimits, type ShellMode } from "../../tools/mod.ts";
import { hex } from "../auth.ts";
import { Refusal } from "../problem.ts";
import { COMMAND_LENGTH_MAX } from "./limits.ts";
import type { ExecBody } from "./schemas.ts";

/** A command with nothing left out. */
export interface AskedCommand {
  readonly argv: readonly string[];
  readonly mode: ShellMode;
  readonly network: "off" | "on";
  /** `null` = the workspace. */
  readonly cwd: string | null;
  /** When it is ended, in milliseconds. */
  readonly timeoutMs: number;
}

/** Whoever runs commands. */
export interface CommandRunner {
  /** What no command is given here, whoever granted it. */
  readonly limits: ShellLimits;
  /**
   * Looks at a command before anything is written down. Starts nothing of it.
   *
   * @throws {Refusal} when this host does not allow it
   * @throws {SandboxUnavailableError} when it cannot be confined
   */
  readonly check: (command: AskedCommand) => Promise<void>;
  /**
   * Runs it. Resolves when it and everything it started has ended.
   *
   * @throws {SandboxUnavailableError} when it was not started. Any other failure leaves open how far it came
   */
  readonly run: (command: AskedCommand, signal: AbortSignal) => Promise<ShellEnd>;
}

/**
 * The command of a body.
 *
 * @throws {Refusal} when it is too long
 *
 * @example
 * ```ts
 * import { askedCommand } from "./command.ts";
 *
 * const { argv, mode } = askedCommand({ effectKey: "0".repeat(32), script: "ls" });
 * if (argv.length !== 3 || mode !== "read-only") throw new Error("unreachable");
 * ```
 */
export function askedCommand(body: ExecBody): AskedCommand {
  const { argv, script, mode = "read-only", network = "off", cwd = null, timeoutMs = COMMAND_TIMEOUT_MS } = body;
  const list = argv ?? ["/bin/sh", "-c", script!];
  if (list.reduce((sum, { length }) => sum + length + 1, 0) > COMMAND_LENGTH_MAX) {
    throw new Refusal(413, "TOO_LARGE", `Cannot run a command line of more than ${COMMAND_LENGTH_MAX}`);
  }
  if (list[0] === "") throw new Refusal(400, "INVALID_REQUEST", "Cannot run a command without a name");
  return { argv: list, mode, network, cwd, timeoutMs };
}

/**
 * What an effect key stands for: SHA-256 over the canonical JSON of the whole command, lower-case hex.
 *
 * @example
 * ```ts
 * import { askedCommand, commandDigest } from "./command.ts";
 *
 * const effectKey = "0".repeat(32);
 * const [script, argv] = [{ effectKey, script: "ls" }, { effectKey, argv: ["/bin/sh", "-c", "ls"] }].map(askedCommand);
 * if (await commandDigest(script!) !== await commandDigest(argv!)) throw new Error("unreachable");
 * ```
 */
export async function commandDigest(command: AskedCommand): Promise<string> {
  const text = canonicalJson(command as unknown as JsonObject);
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
