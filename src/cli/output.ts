/**
 * What the command prints: results on standard output, everything else on standard error.
 *
 * @module
 */
import process from "node:process";
import { systemClock } from "../entry/system.ts";
import { systemError } from "../entry/system_error.ts";
import { type Clock, jsonText } from "../../mod.ts";
import { printable, printableJson } from "./printable.ts";
import { type Progress, startProgress } from "./progress.ts";

/** Where a command writes. */
export interface Output {
  readonly isJson: boolean;
  /** Whether a person is looking at standard output. */
  readonly isTerminal: boolean;
  /** Whether the one document was begun. */
  readonly hasDocument: boolean;
  /** A line of the result, for a person. Silent with `--json`. */
  line(text?: string): void;
  /** A piece of the result without a line end. Silent with `--json`. */
  write(text: string): void;
  /** The result as data. Silent without `--json`. At most one per run. */
  json(value: unknown): void;
  /** A piece of that document, already JSON, for one that is too large to be held. */
  jsonPiece(text: string): void;
  /** Bytes of a result that is neither, as they are. Resolves when they may be forgotten. */
  bytes(bytes: Uint8Array): Promise<void>;
  /** Resolves when everything printed has left the process. Throws {@linkcode OutputFailed} when it could not. */
  settled(): Promise<void>;
  /** A diagnostic, on standard error. */
  note(text: string): void;
  /** A line on standard error for as long as something takes over a second. */
  progress(text: string): Progress;
}

/** What an output writes to. */
export interface Streams {
  readonly clock: Clock;
  readonly isTerminal: boolean;
  readonly isErrorTerminal: boolean;
  /** Throws {@linkcode OutputFailed} when an earlier piece is known to be lost. */
  print(chunk: string | Uint8Array): void;
  /** Resolves when everything printed has left the process. */
  settled(): Promise<void>;
  /** Writes to standard error. Never throws. */
  complain(text: string): void;
}

/** Standard output takes nothing more: its reader has left, or its disk is full. */
export class OutputFailed extends Error {
  override readonly name = "OutputFailed";

  /** What a caller can do next. */
  get code(): "STORAGE_FULL" | "STORAGE_LOST" {
    return systemError(this.cause, "write to standard output").code === "STORAGE_FULL"
      ? "STORAGE_FULL"
      : "STORAGE_LOST";
  }

  /** Whether nobody reads any more, which is nobody's mistake: `holdfast show ID | head`. */
  get isBrokenPipe(): boolean {
    return (this.cause as { code?: unknown }).code === "EPIPE";
  }
}

/** Makes an output. Whatever reaches a stream as text is made safe for a terminal first. */
export function createOutput(isJson: boolean, streams: Streams): Output {
  let hasDocument = false;
  function jsonPiece(text: string): void {
    if (!isJson) return;
    hasDocument = true;
    streams.print(printableJson(text));
  }
  return {
    isJson,
    isTerminal: streams.isTerminal,
    get hasDocument() {
      return hasDocument;
    },
    line: (text = "") => isJson ? undefined : streams.print(printable(text) + "\n"),
    write: (text) => isJson ? undefined : streams.print(printable(text)),
    json: (value) => jsonPiece(jsonText(value, 2) + "\n"),
    jsonPiece,
    async bytes(bytes) {
      streams.print(bytes);
      await streams.settled();
    },
    settled: () => streams.settled(),
    note: (text) => streams.complain(printable(text) + "\n"),
    progress: (text) =>
      startProgress(text, {
        clock: streams.clock,
        isTerminal: streams.isErrorTerminal,
        write: (line) => streams.complain(line),
      }),
  };
}

/** The process's own output. */
export function processOutput(isJson: boolean): Output {
  const { stdout, stderr } = process;
  let failure: OutputFailed | null = null;
  const fail = (cause: Error) =>
    failure ??= new OutputFailed(`Cannot write standard output: ${cause.message}`, { cause });
  stdout.on("error", fail);
  stderr.on("error", () => {});

  function print(chunk: string | Uint8Array, onWritten: (error?: Error | null) => void = () => {}): void {
    if (failure !== null) throw failure;
    try {
      stdout.write(chunk, onWritten); // Some failures are thrown, others come as an event later.
    } catch (error) {
      throw fail(error as Error);
    }
  }
  return createOutput(isJson, {
    clock: systemClock,
    isTerminal: stdout.isTTY === true,
    isErrorTerminal: stderr.isTTY === true,
    print: (chunk) => print(chunk),
    async settled() {
      const error = await new Promise<Error | null | undefined>((done) => print("", done));
      if (error instanceof Error) fail(error);
      if (failure !== null) throw failure;
    },
    complain(text) {
      try {
        stderr.write(text);
      } catch {
        // There is nobody left to tell.
      }
    },
  });
}
