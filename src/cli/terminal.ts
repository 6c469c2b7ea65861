/**
 * A person at a terminal: lines typed, questions answered, Ctrl-C.
 *
 * @module
 */
import process from "node:process";
import { createInterface, type Interface } from "node:readline";

/** A terminal somebody sits at. */
export interface Terminal {
  /** Asks for a line. `null` when there will be none: Ctrl-D, or Ctrl-C while nobody handles it. */
  ask(prompt: string): Promise<string | null>;
  /**
   * Asks a question that only a line typed after it may answer: what was typed before is thrown away. `null` when there will be
   * no answer, or when the signal aborts.
   */
  confirm(question: string, signal?: AbortSignal): Promise<string | null>;
  /** What Ctrl-C does from now on; `null`: it ends the input. */
  onInterrupt(handler: (() => void) | null): void;
  /** Told each line that was typed while nobody asked for one. Such a line is dropped: it answers nothing. */
  onUnasked(handler: ((line: string) => void) | null): void;
  close(): void;
}

/** The terminal at standard input and output. */
export class ReadlineTerminal implements Terminal {
  readonly #lines: Interface;
  #onInterrupt: (() => void) | null = null;
  #onUnasked: ((line: string) => void) | null = null;
  #isClosed = false;

  constructor() {
    this.#lines = createInterface({ input: process.stdin, output: process.stdout, terminal: true });
    this.#lines.on("SIGINT", () => this.#onInterrupt === null ? this.#lines.close() : this.#onInterrupt());
    this.#lines.on("line", (line) => this.#onUnasked?.(line)); // A line that was asked for goes to who asked.
    this.#lines.on("close", () => this.#isClosed = true);
  }

  ask(prompt: string): Promise<string | null> {
    return this.#question(prompt);
  }

  confirm(question: string, signal?: AbortSignal): Promise<string | null> {
    // What stands on the line but was not sent yet was typed before the question could be read.
    if (!this.#isClosed) this.#lines.write(null, { ctrl: true, name: "e" });
    if (!this.#isClosed) this.#lines.write(null, { ctrl: true, name: "u" });
    return this.#question(question, signal);
  }

  onInterrupt(handler: (() => void) | null): void {
    this.#onInterrupt = handler;
  }

  onUnasked(handler: ((line: string) => void) | null): void {
    this.#onUnasked = handler;
  }

  close(): void {
    this.#lines.close();
  }

  async #question(text: string, signal?: AbortSignal): Promise<string | null> {
    if (this.#isClosed || signal?.aborted) return null;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const onEnd = () => resolve(null);
    this.#lines.once("close", onEnd);
    signal?.addEventListener("abort", onEnd, { once: true });
    try {
      this.#lines.question(text, { signal }, resolve);
      return await promise;
    } finally {
      this.#lines.off("close", onEnd);
      signal?.removeEventListener("abort", onEnd);
    }
  }
}
