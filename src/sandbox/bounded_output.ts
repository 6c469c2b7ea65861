/**
 * The output of a process: bounded, passed on as it comes, and kept in part.
 *
 * @module
 */
import { type KeptOutput, OutputKeeper } from "./kept_output.ts";
import { StartWatch } from "./start.ts";

/** How long pipes are read after the process has ended, in milliseconds: something it left behind may hold them open. */
export const DRAIN_MS = 1000;

/** Output as it comes. */
export interface OutputChunk {
  /** Which stream. */
  readonly stream: "stdout" | "stderr";
  /** At most what one read of a pipe gives. */
  readonly bytes: Uint8Array;
}

/** What is known about the output of a process that has ended. */
export interface OutputEnd {
  /** Whether the command itself was started, and not only its runner. */
  readonly hasStarted: boolean;
  /** What the runner said before it. */
  readonly runnerMessage: string;
  /** Standard output. */
  readonly stdout: KeptOutput;
  /** Standard error, without what the runner said. */
  readonly stderr: KeptOutput;
}

/** How output is bounded, and who gets it. */
export interface OutputPlan {
  /** What stands on standard error when the command itself starts; `null` = it starts at once. */
  readonly startToken: string | null;
  /** After how much output, of both streams, `onFull` is called. */
  readonly outputBytes: number;
  /** Called with every piece within the bound; reading waits for what it returns. What it throws is dropped. */
  readonly onOutput: ((chunk: OutputChunk) => void | Promise<void>) | undefined;
  /** Called when there is more than the bound. */
  readonly onFull: () => void;
}

/**
 * Both streams of a process, counted together.
 *
 * @example
 * ```ts
 * import { BoundedOutput } from "./bounded_output.ts";
 *
 * const output = new BoundedOutput({ startToken: null, outputBytes: 3, onOutput: undefined, onFull: () => {} });
 * await output.read("stdout", new Response("hello").body!.getReader());
 * if (output.end().stdout.text !== "hel") throw new Error("unreachable");
 * ```
 */
export class BoundedOutput {
  readonly #plan: OutputPlan;
  readonly #watch: StartWatch | null;
  readonly #kept = { stdout: new OutputKeeper(), stderr: new OutputKeeper() };
  readonly #readers: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>[] = [];
  #sizeBytes = 0;

  /** Reads nothing yet. */
  constructor(plan: OutputPlan) {
    this.#plan = plan;
    this.#watch = plan.startToken === null ? null : new StartWatch(plan.startToken);
  }

  /** Reads a stream to its end. */
  async read(stream: OutputChunk["stream"], reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>) {
    this.#readers.push(reader);
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) return;
      const own = stream === "stderr" && this.#watch !== null ? this.#watch.take(value) : value;
      const bytes = own.subarray(0, Math.max(0, this.#plan.outputBytes - this.#sizeBytes));
      this.#sizeBytes += own.length;
      if (bytes.length > 0) {
        this.#kept[stream].add(bytes);
        try {
          await this.#plan.onOutput?.({ stream, bytes });
        } catch {
          // Who watches cannot change what runs.
        }
      }
      if (this.#sizeBytes > this.#plan.outputBytes) this.#plan.onFull();
    }
  }

  /** Waits for the end of both pipes, but not for ever. */
  async drained(pipes: readonly Promise<void>[]): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isLate = new Promise<void>((resolve) => timer = setTimeout(resolve, DRAIN_MS));
    await Promise.race([Promise.all(pipes), isLate]);
    clearTimeout(timer);
    await Promise.all(this.#readers.map((reader) => reader.cancel().catch(() => {})));
  }

  /** What is known when both streams have ended, or were given up. */
  end(): OutputEnd {
    return {
      hasStarted: this.#watch?.hasStarted ?? true,
      runnerMessage: this.#watch?.runnerMessage ?? "",
      stdout: this.#kept.stdout.end(),
      stderr: this.#kept.stderr.end(),
    };
  }
}
