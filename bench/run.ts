/**
 * Measures runtime after runtime, each in a process of its own, and collects what they say.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RuntimeResult } from "./bench_case.ts";
import type { BenchMessage, BenchRequest } from "./messages.ts";
import { type Machine, machine } from "./machine.ts";
import { compileNative } from "./native.ts";
import { NATIVE_VARIABLE } from "./places/file_place.ts";
import { benchProcess, type RuntimeName, type Variables } from "./runtimes.ts";

/** How long one runtime may take. A browser that hangs is ended then. */
const RUNTIME_MS_MAX = 20 * 60_000;
/** How long a process may take to leave once it was asked to. */
const LEAVE_MS_MAX = 10_000;

/** What to measure, and where. */
export interface BenchOptions extends BenchRequest {
  readonly runtimes: readonly RuntimeName[];
  /** The disk of this folder is measured; when it is not there, that of the nearest folder above it. */
  readonly folder: string;
  readonly variables: Variables;
  /** Told what is going on, often. */
  readonly report: (text: string) => void;
  /** Ends the measurement early; what was begun is cleaned up. */
  readonly signal?: AbortSignal;
}

/** Everything that was measured, with the raw samples. */
export interface BenchDocument {
  readonly machine: Machine;
  /** When it began: ISO 8601, UTC. */
  readonly measuredAt: string;
  readonly budget: BenchRequest["budget"];
  readonly runtimes: readonly RuntimeResult[];
  /** Runtimes that were asked for and could not be measured. */
  readonly notRun: readonly { readonly runtime: RuntimeName; readonly reason: string }[];
}

/**
 * Runs the benchmarks. A runtime that is missing or fails does not keep the others from being measured.
 *
 * @throws the signal's reason
 *
 * @example
 * ```ts
 * import { runBench } from "./run.ts";
 *
 * async function flushes(folder: string) {
 *   const report = (text: string) => console.error(text);
 *   return await runBench({ runtimes: ["deno"], cases: ["flush"], budget: "quick", folder, variables: {}, report });
 * }
 * ```
 */
export async function runBench(options: BenchOptions): Promise<BenchDocument> {
  let parent = options.folder;
  while (!existsSync(parent)) parent = dirname(parent);
  const measuredAt = new Date().toISOString();
  const runtimes: RuntimeResult[] = [];
  const notRun: BenchDocument["notRun"][number][] = [];
  for (const runtime of options.runtimes) {
    const folder = await mkdtemp(join(parent, ".holdfast-bench-"));
    try {
      runtimes.push(await runOne(runtime, folder, options));
    } catch (error) {
      options.signal?.throwIfAborted();
      notRun.push({ runtime, reason: (error as Error).message });
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
  return { machine: machine(parent), measuredAt, budget: options.budget, runtimes, notRun };
}

async function runOne(name: RuntimeName, folder: string, options: BenchOptions): Promise<RuntimeResult> {
  const { cases, budget, variables, report, signal } = options;
  report(`${name}: starting`);
  const { command, args, env } = await benchProcess(name, folder, variables);
  signal?.throwIfAborted();
  const request: BenchRequest = { cases, budget };
  const child = new Deno.Command(command, {
    args: [...args, folder, JSON.stringify(request)],
    env: { ...env, NO_COLOR: "1", [NATIVE_VARIABLE]: await compileNative(folder) ?? "" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stop = stopper(child);
  const tooLate = setTimeout(stop, RUNTIME_MS_MAX);
  signal?.addEventListener("abort", stop);
  try {
    const complaint = new Response(child.stderr).text();
    let result: RuntimeResult | null = null;
    let failure: string | null = null;
    for await (const message of messages(child.stdout)) {
      if (message.kind === "progress") report(message.text);
      else if (message.kind === "result") result = message.result;
      else failure = message.message;
    }
    const { code } = await child.status;
    if (failure !== null) throw new Error(`Cannot measure ${name}: ${failure}`);
    if (result !== null && code === 0) return result;
    throw new Error(`Cannot measure ${name}: it ended with code ${code}: ${(await complaint).trim().slice(-1000)}`);
  } finally {
    clearTimeout(tooLate);
    signal?.removeEventListener("abort", stop);
    await stop();
  }
}

/** Asks a process to leave, and makes it when it does not. Harmless when it is gone. */
function stopper(child: Deno.ChildProcess): () => Promise<void> {
  let isGone = false;
  const gone = child.status.then(() => void (isGone = true));
  const kill = (signal: Deno.Signal) => {
    try {
      if (!isGone) child.kill(signal);
    } catch {
      // It left in between.
    }
  };
  return async () => {
    kill("SIGTERM");
    const timer = setTimeout(() => kill("SIGKILL"), LEAVE_MS_MAX);
    await gone;
    clearTimeout(timer);
  };
}

async function* messages(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<BenchMessage> {
  let rest = "";
  for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as BenchMessage;
  }
}
