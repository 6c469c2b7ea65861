/**
 * The process around the command: what it is given, whom it can ask, how it is interrupted. Tests give their own.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Clock } from "../../mod.ts";
import { systemClock } from "../entry/system.ts";
import { type Output, processOutput } from "./output.ts";
import { ReadlineTerminal, type Terminal } from "./terminal.ts";
import { UsageError } from "./usage.ts";

/** The longest prompt that is read from a pipe, in bytes. */
export const PIPED_INPUT_SIZE_BYTES_MAX: number = 1024 * 1024;

const STDIN_ENDS = ["end", "error"] as const;

/** What surrounds the command. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The current folder, absolute. */
  readonly cwd: string;
  readonly clock: Clock;
  output(isJson: boolean): Output;
  /** Whether a person sits at standard input and output. */
  readonly hasTerminal: boolean;
  openTerminal(): Terminal;
  /** What comes through a pipe, whole; "" when standard input is a terminal. */
  readInput(): Promise<string>;
  /** Calls `handler` at each SIGINT and SIGTERM, until the returned function is called. */
  onInterrupt(handler: () => void): () => void;
  /** Calls `handler` when the terminal is closed (at each SIGHUP, or its input ends), until the returned function is called. */
  onHangup(handler: () => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}

/** The process that we are. */
export function processHost(): Host {
  const isHangupIgnored = ignoresHangup();
  return {
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    output: processOutput,
    hasTerminal: process.stdin.isTTY === true && process.stdout.isTTY === true,
    openTerminal: () => new ReadlineTerminal(),
    readInput,
    onInterrupt: (handler) => onSignals(["SIGINT", "SIGTERM"], handler),
    onHangup(handler) {
      // Deno takes the signal itself after a while, and ends the process with it, unless somebody listens.
      const stopListening = onSignals(["SIGHUP"], isHangupIgnored ? () => {} : handler);
      if (process.stdin.isTTY !== true) return stopListening;
      // Ctrl-D is a key; the input of a terminal ends when it is gone, and that may be seen before the signal.
      for (const event of STDIN_ENDS) process.stdin.on(event, handler);
      return () => {
        stopListening();
        for (const event of STDIN_ENDS) process.stdin.off(event, handler);
      };
    },
    exit: (code) => process.exit(code),
  };
}

function onSignals(signals: readonly ("SIGHUP" | "SIGINT" | "SIGTERM")[], handler: () => void): () => void {
  for (const signal of signals) process.on(signal, handler);
  return () => {
    for (const signal of signals) process.off(signal, handler);
  };
}

/** Whether whoever started us wants us to outlive the terminal (`nohup`). Known on Linux only, and only at the start. */
function ignoresHangup(): boolean {
  let status: string;
  try {
    status = readFileSync("/proc/self/status", "utf8");
  } catch {
    return false;
  }
  // One bit for each signal, as hexadecimal digits; SIGHUP is the lowest.
  return /^SigIgn:\s*[0-9a-f]*[13579bdf]$/m.test(status);
}

async function readInput(): Promise<string> {
  if (process.stdin.isTTY === true) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let sizeBytes = 0;
  try {
    for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
      sizeBytes += chunk.length;
      if (sizeBytes > PIPED_INPUT_SIZE_BYTES_MAX) {
        throw new UsageError(`Cannot read standard input: it has more than ${PIPED_INPUT_SIZE_BYTES_MAX} bytes`);
      }
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const found = error instanceof TypeError ? "it is not UTF-8 text" : (error as Error).message;
    throw new UsageError(`Cannot read standard input: ${found}`);
  }
}
