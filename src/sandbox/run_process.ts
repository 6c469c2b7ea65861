/**
 * One process from its start to the end of everything it started: bounded in time and output, cancelled as a whole.
 *
 * @module
 */
import { ENTER_CGROUPS, LEAVE_CGROUPS } from "./cgroups.ts";
import type { Cgroup } from "./cgroups.ts";
import { SYSTEM_PATH } from "./environment.ts";
import { BoundedOutput, type OutputChunk } from "./bounded_output.ts";
import { type KeptOutput, OutputKeeper } from "./kept_output.ts";
import { REMOVE_FOLDER } from "./private_tmp.ts";
import { killTree } from "./process_tree.ts";

/**
 * The system refused to start a process, so nothing of it ran. Whatever else goes wrong does not say that.
 *
 * @example
 * ```ts
 * import { NotSpawnedError } from "./run_process.ts";
 *
 * if (new NotSpawnedError("no such program").name !== "NotSpawnedError") throw new Error("unreachable");
 * ```
 */
export class NotSpawnedError extends Error {
  /** Its own, whatever a bundler calls the class. */
  override readonly name = "NotSpawnedError";
}

/** What is spawned, and under which bounds. */
export interface ProcessPlan {
  /** The command line, whole. */
  readonly argv: readonly string[];
  /** All variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** The working folder of the process that is spawned. */
  readonly cwd: string;
  /** See {@linkcode Wrapped.input}. */
  readonly input: Uint8Array | null;
  /** See {@linkcode Wrapped.holdsInput}. */
  readonly holdsInput: boolean;
  /** See {@linkcode Wrapped.removes}. */
  readonly removes?: string | null;
  /** What stands on standard error when the command itself starts; `null` = it starts at once. */
  readonly startToken: string | null;
  /** Groups that are made for it and removed after it. */
  readonly cgroups: readonly Cgroup[];
  /** When it is ended, in milliseconds. */
  readonly timeMs: number;
  /** After how much output, of both streams, it is ended. */
  readonly outputBytes: number;
}

/** Who watches. */
export interface ProcessOptions {
  /** Ends the process and everything below it. */
  readonly signal?: AbortSignal;
  /** Called with every piece of output, in order per stream; the process waits for what it returns. What it throws is dropped. */
  readonly onOutput?: (chunk: OutputChunk) => void | Promise<void>;
}

/** How it went. */
export interface ProcessEnd {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it. */
  readonly signal: string | null;
  /** Who ended it: itself, or which bound. */
  readonly ending: "exited" | "timed-out" | "cancelled" | "output-limit";
  /** Whether the command itself was started, and not only its runner. */
  readonly hasStarted: boolean;
  /** What the runner said before it; empty for a process without a runner. */
  readonly runnerMessage: string;
  /** Standard output. */
  readonly stdout: KeptOutput;
  /** Standard error, without what the runner said. */
  readonly stderr: KeptOutput;
}

/**
 * Runs a process. Resolves when it and everything below it has ended.
 *
 * Spawns nothing when it is cancelled already.
 *
 * @throws {NotSpawnedError} when the system refused to start it; then nothing ran
 *
 * @example
 * ```ts
 * import { type ProcessPlan, runProcess } from "./run_process.ts";
 *
 * async function succeeds(plan: ProcessPlan): Promise<boolean> {
 *   return (await runProcess(plan)).exitCode === 0;
 * }
 * ```
 */
export async function runProcess(plan: ProcessPlan, options: ProcessOptions = {}): Promise<ProcessEnd> {
  if (options.signal?.aborted) return notStarted();
  const folders = [...new Set(plan.cgroups.map(({ folder }) => folder))];
  const child = spawn(plan);

  let ending: ProcessEnd["ending"] = "exited";
  let killed: Promise<void> | undefined;
  const end = (why: ProcessEnd["ending"]) => {
    if (killed !== undefined) return;
    ending = why;
    killed = killTree(child.pid, folders);
  };
  const onAbort = () => end("cancelled");
  const timer = setTimeout(() => end("timed-out"), plan.timeMs);
  options.signal?.addEventListener("abort", onAbort, { once: true });

  const input = feed(plan, child);
  const output = new BoundedOutput({ ...plan, onOutput: options.onOutput, onFull: () => end("output-limit") });
  const pipes = [output.read("stdout", child.stdout.getReader()), output.read("stderr", child.stderr.getReader())];
  try {
    const status = await child.status;
    // From here on a cancel cannot change what happened.
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
    await killed;
    await output.drained(pipes);
    return {
      exitCode: status.signal === null ? status.code : null,
      signal: status.signal,
      ending,
      ...output.end(),
    };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
    await input?.close().catch(() => {});
    if (folders.length > 0) await runShell(LEAVE_CGROUPS, folders).catch(() => {});
    // Its runner has done so, unless it was ended with the command.
    if (typeof plan.removes === "string") await runShell(REMOVE_FOLDER, [plan.removes]).catch(() => {});
  }
}

function spawn(plan: ProcessPlan): Deno.ChildProcess {
  const [program, ...args] = commandLine(plan);
  try {
    return new Deno.Command(program!, {
      args,
      env: { ...plan.environment },
      clearEnv: true,
      cwd: plan.cwd,
      stdin: plan.input === null && !plan.holdsInput ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      // A session of its own: a terminal's interrupt does not reach it, and it can be ended as a whole.
      detached: true,
    }).spawn();
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new NotSpawnedError(`Cannot start "${program}": ${found}`, { cause });
  }
}

function notStarted(): ProcessEnd {
  const nothing = new OutputKeeper().end();
  const end = { exitCode: null, signal: null, ending: "cancelled", hasStarted: false, runnerMessage: "" } as const;
  return { ...end, stdout: nothing, stderr: nothing };
}

function commandLine({ argv, cgroups }: ProcessPlan): readonly string[] {
  if (cgroups.length === 0) return argv;
  const groups = cgroups.flatMap(({ folder, file, value }) => [folder, file, String(value)]);
  return ["/bin/sh", "-c", ENTER_CGROUPS, "enter", String(cgroups.length), ...groups, ...argv];
}

/** Writes what the runner reads. A runner that ends before it has read everything is judged by its exit. */
function feed({ input, holdsInput }: ProcessPlan, child: Deno.ChildProcess) {
  if (input === null && !holdsInput) return null;
  const writer = child.stdin.getWriter();
  writer.closed.catch(() => {});
  const written = input === null ? Promise.resolve() : writer.write(input as Uint8Array<ArrayBuffer>);
  if (!holdsInput) written.then(() => writer.close()).catch(() => {});
  return holdsInput ? writer : { close: () => Promise.resolve() };
}

/**
 * Runs a shell script of ours, not confined.
 *
 * @returns its standard output
 * @throws {Error} when it fails, with what it said
 *
 * @example
 * ```ts
 * import { runShell } from "./run_process.ts";
 *
 * async function machine(): Promise<string> {
 *   return (await runShell("uname -m", [])).trim();
 * }
 * ```
 */
export async function runShell(script: string, args: readonly string[]): Promise<string> {
  const { success, code, stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", ...args],
    env: { PATH: SYSTEM_PATH, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(decoder.decode(stderr).trim() || `the shell ended with ${code}`);
  return decoder.decode(stdout);
}
