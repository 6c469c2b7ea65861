/**
 * One shell command, run by whoever has a sandbox.
 *
 * The tool starts nothing itself. It is given a door: in the server that is the sandbox, in a page a request to the server.
 * What a command may do is decided and asked before the barrier, by the arguments alone; the body only passes it on.
 *
 * @see execution §5, §6
 * @module
 */
import { hasCode } from "../errors.ts";
import { type EffectClass, type JsonValue, TOOL_TIMEOUT } from "../event/mod.ts";
import {
  defineTool,
  type EffectLookup,
  INVALID_ARGS,
  type LookupAnswer,
  messageOf,
  outcomeUnknown,
  type Permission,
  readArguments,
  type Tool,
  type ToolCall,
  ToolError,
  type ToolOutput,
} from "../tool/mod.ts";

import {
  MODE_REFUSED,
  overLimits,
  type SandboxDoor,
  SHELL_MODES,
  type ShellChunk,
  type ShellEnd,
  type ShellMode,
} from "./shell_door.ts";

/** The longest time a command may be given, in milliseconds. */
export const COMMAND_TIMEOUT_MS_MAX = 3_600_000;
/** How long a command may take when nobody says, in milliseconds. */
export const COMMAND_TIMEOUT_MS = 120_000;

/** How the tool is made. */
export interface ShellOptions {
  /** Runs the commands. */
  readonly run: SandboxDoor;
  /** The mode that holds now, unless a call is granted a wider one. Default "read-only". */
  readonly mode?: ShellMode | (() => ShellMode);
  /** Whether commands have a network, unless a call is granted one. Default "off". */
  readonly network?: "off" | "on";
  /**
   * What a command needs that stays in its mode: "ask" a person, or "allow". More than the mode, and `danger-full-access` in any
   * case, is always asked about. Default "ask".
   */
  readonly inside?: "ask" | "allow";
  /** What a command may do to the world. Default "opaque"; "keyed" behind a door that runs each effect key once. */
  readonly effect?: EffectClass;
  /** The shell, before the script. Default `/bin/sh -c`. */
  readonly shell?: readonly string[];
  /** Default COMMAND_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** Called with every piece of output: to show it, or to spill it. */
  readonly onOutput?: (chunk: ShellChunk, call: ToolCall) => void | Promise<void>;
  /** Looks up what became of a command whose outcome is unknown. Default: nobody is asked. */
  readonly reconcile?: (
    lookup: Pick<EffectLookup<unknown>, "effectKey" | "signal">,
  ) => LookupAnswer<string> | Promise<LookupAnswer<string>>;
}

/**
 * Makes the tool `shell`.
 *
 * A call can ask for a wider mode (`sandbox_permissions`) or the network (`sandbox_network`), with a `justification`. It is
 * granted by a person, for this call alone, before the barrier; what is refused runs nothing. What the host of the door never gives
 * is refused before anybody is asked.
 *
 * @example
 * ```ts
 * import { shellTool } from "./shell.ts";
 * import { noSandbox } from "./shell_door.ts";
 *
 * const tool = shellTool({ run: noSandbox("an example cannot start processes"), inside: "allow" });
 * const asked = await tool.permissionFor({
 *   command: "make",
 *   sandbox_permissions: "workspace-write",
 *   justification: "it writes the build folder",
 * }, "opaque");
 * if (asked.decision !== "ask") throw new Error("unreachable");
 * if ((await tool.permissionFor({ command: "ls" }, "opaque")).decision !== "allow") throw new Error("unreachable");
 * ```
 */
export function shellTool(options: ShellOptions): Tool {
  return defineTool({
    name: "shell",
    description:
      "Runs one shell command in a sandbox and returns exit code and output. The workspace is the working folder. " +
      "When the sandbox refuses what is needed, call again with sandbox_permissions or sandbox_network and a justification, " +
      "and the user is asked.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", description: "A script for the shell" },
        cwd: { type: "string", description: "Folder to start in, inside the workspace" },
        timeout_ms: { type: "number", description: `At most ${COMMAND_TIMEOUT_MS_MAX}` },
        sandbox_permissions: { type: "string", enum: SHELL_MODES.slice(1), description: "A wider mode for this call" },
        sandbox_network: { type: "string", enum: ["on"], description: "The network for this call" },
        justification: { type: "string", description: "Why the call needs more; shown to the user" },
      },
      required: ["command"],
    },
    effect: options.effect ?? "opaque",
    // Arguments that are not what the schema says come as null; the schema's own words, which follow, say more than ours.
    permission: (args) => args === null ? { decision: "allow" } : permissionFor(readCommand(args, options), options),
    execute: (args, call) => execute(readCommand(args, options), call, options),
    reconcile: options.reconcile,
  });
}

const UNKNOWN = "Whether it took effect is unknown: check before repeating it.";

/** What a call asks for, checked. */
interface AskedCommand {
  readonly script: string;
  readonly cwd: string | undefined;
  readonly timeMs: number;
  readonly mode: ShellMode;
  readonly network: "off" | "on";
  /** What it wants beyond the mode that holds; empty = nothing. */
  readonly wider: readonly string[];
  readonly justification: string;
}

function readCommand(args: JsonValue, options: ShellOptions): AskedCommand {
  const given = readArguments(args, {
    command: "string",
    cwd: "string?",
    timeout_ms: "number?",
    sandbox_permissions: "string?",
    sandbox_network: "string?",
    justification: "string?",
  });
  if (given.command.trim() === "" || given.command.includes("\0")) {
    throw invalid("command is empty, or holds a zero byte");
  }
  const timeMs = given.timeout_ms ?? options.timeoutMs ?? COMMAND_TIMEOUT_MS;
  if (!Number.isInteger(timeMs) || timeMs < 1 || timeMs > COMMAND_TIMEOUT_MS_MAX) {
    throw invalid(`timeout_ms must be a whole number from 1 to ${COMMAND_TIMEOUT_MS_MAX}`);
  }
  return { script: given.command, cwd: given.cwd, timeMs, ...readEscalation(given, options) };
}

function readEscalation(
  given: {
    readonly sandbox_permissions?: string | undefined;
    readonly sandbox_network?: string | undefined;
    readonly justification?: string | undefined;
  },
  options: ShellOptions,
): Pick<AskedCommand, "mode" | "network" | "wider" | "justification"> {
  const current = typeof options.mode === "function" ? options.mode() : options.mode ?? "read-only";
  const { sandbox_permissions: target, sandbox_network: network } = given;
  const justification = given.justification?.trim() ?? "";
  const isAsked = target !== undefined || network !== undefined;
  if (isAsked !== (justification !== "")) {
    throw invalid(
      "sandbox_permissions or sandbox_network, and a justification that says something, always come together",
    );
  }
  if (target !== undefined && !SHELL_MODES.slice(1).includes(target as ShellMode)) {
    throw invalid(`sandbox_permissions must be one of ${SHELL_MODES.slice(1).join(", ")}`);
  }
  if (network !== undefined && network !== "on") throw invalid("sandbox_network must be on");

  const wider: string[] = [];
  if (target !== undefined) {
    if (SHELL_MODES.indexOf(target as ShellMode) <= SHELL_MODES.indexOf(current)) {
      throw invalid(`sandbox_permissions ${target} is not wider than ${current}, which holds already`);
    }
    wider.push(`${target} instead of ${current}`);
  }
  const ownNetwork = options.network ?? "off";
  if (network !== undefined) {
    if (ownNetwork === "on") throw invalid("sandbox_network is on already");
    wider.push("the network on instead of off");
  }
  return { mode: target as ShellMode ?? current, network: network ?? ownNetwork, wider, justification };
}

function permissionFor(asked: AskedCommand, options: ShellOptions): Permission | Promise<Permission> {
  const { inside = "ask", run } = options;
  const { script, mode, wider, justification } = asked;
  if (wider.length > 0) {
    const reason = `run with ${wider.join(" and ")}, because: ${justification}: ${script}`;
    return run.limits === undefined ? { decision: "ask", reason } : askWithin(asked, reason, run.limits);
  }
  if (inside === "allow" && mode !== "danger-full-access") return { decision: "allow" };
  return { decision: "ask", reason: `run in ${mode}: ${script}` };
}

/** Nobody is asked for what the host never gives. The door refuses it again, whatever was said here. */
async function askWithin(
  asked: AskedCommand,
  reason: string,
  limitsOf: NonNullable<SandboxDoor["limits"]>,
): Promise<Permission> {
  const limits = await limitsOf();
  const refused = limits === null ? null : overLimits(asked, limits);
  if (refused !== null) throw new ToolError(MODE_REFUSED, refused);
  return { decision: "ask", reason };
}

async function execute(asked: AskedCommand, call: ToolCall, options: ShellOptions): Promise<ToolOutput> {
  const { script, cwd, timeMs, mode, network } = asked;
  const { signal, sessionId, effectKey } = call;
  const argv = [...options.shell ?? ["/bin/sh", "-c"], script];
  const command = { argv, mode, network, ...(cwd === undefined ? {} : { cwd }), timeMs, sessionId, effectKey };
  let ended: ShellEnd;
  try {
    ended = await options.run.runCommand(command, { signal, onOutput: (chunk) => options.onOutput?.(chunk, call) });
  } catch (error) {
    throw withoutEnd(error, call);
  }
  refuseUnsettled(ended, timeMs, call);
  const { exitCode, report, isDenied, appeared } = ended;
  return {
    content: [{ type: "text", text: shellText(ended) }],
    meta: {
      exitCode,
      signal: ended.signal,
      ending: ended.ending,
      isDenied,
      appeared: [...appeared],
      sandbox: JSON.parse(JSON.stringify(report)),
    },
  };
}

/** What a door rejects with says that nothing ran, or nothing at all. */
function withoutEnd(error: unknown, call: ToolCall): unknown {
  if (hasCode(error, "SANDBOX_UNAVAILABLE") || error instanceof ToolError || call.effect === "none") return error;
  return outcomeUnknown(`nobody knows how the command ended (${messageOf(error)}). ${UNKNOWN}`, error);
}

/** A command that was cut short may have done all, some or nothing of what it was for. */
function refuseUnsettled(ended: ShellEnd, timeMs: number, call: ToolCall): void {
  const { ending, hasStarted } = ended;
  if (ending !== "cancelled" && ending !== "timed-out") return;
  if (!hasStarted) throw new Error("the command was not started: the call was over before");
  const unknown = call.effect === "none" ? "" : ` ${UNKNOWN}`;
  if (ending === "timed-out") {
    const said = `the command did not end within ${timeMs} ms and was ended.${unknown}${outputText(ended)}`;
    throw new ToolError(TOOL_TIMEOUT, said, { name: "ToolTimeoutError" });
  }
  if (call.effect === "none") throw call.signal.reason;
  throw outcomeUnknown(`the command was cancelled while it ran.${unknown}${outputText(ended)}`);
}

/**
 * What a model reads of a command that has ended: exit code, what was not as usual, and the output.
 *
 * @example
 * ```ts
 * import { shellText } from "./shell.ts";
 * import type { ShellEnd } from "./shell_door.ts";
 *
 * function read(ended: ShellEnd): string {
 *   return shellText(ended); // "exit code 0\nhello"
 * }
 * ```
 */
export function shellText(ended: ShellEnd): string {
  return `${headline(ended)}${outputText(ended)}`;
}

function headline({ exitCode, signal, ending, isDenied, appeared, report }: ShellEnd): string {
  const lines = [exitCode === null ? `ended by ${signal}` : `exit code ${exitCode}`];
  if (ending === "output-limit") lines.push("[it printed too much and was ended]");
  if (report.enforcement === null) lines.push(`[not confined: ${report.mode}]`);
  else if (isDenied) lines.push(`[the sandbox (${report.mode}) seems to have refused something]`);
  if (appeared.length > 0) {
    lines.push(`[new in the workspace, and obeyed outside of the sandbox: ${appeared.join(", ")}]`);
  }
  return lines.join("\n");
}

function outputText({ stdout, stderr }: ShellEnd): string {
  const parts = [];
  if (stdout.text !== "") parts.push(stdout.text.trimEnd());
  if (stderr.text !== "") parts.push(`standard error:\n${stderr.text.trimEnd()}`);
  return parts.length === 0 ? "" : `\n${parts.join("\n")}`;
}

function invalid(problem: string): ToolError {
  return new ToolError(INVALID_ARGS, `invalid arguments: ${problem}`);
}
