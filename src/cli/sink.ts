/**
 * Where an export goes: standard output, or a file that is not there yet.
 *
 * @module
 */
import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { AlreadyExistsError, type HoldfastError, NotFoundError } from "../../mod.ts";
import { systemError } from "../entry/system_error.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

/** Takes bytes in order. */
export interface Sink {
  write(bytes: Uint8Array): Promise<void>;
  /** Everything was written: it is durable when it is a file. */
  finish(): void;
  /** It could not be finished: leaves nothing. */
  discard(): void;
}

/**
 * Opens standard output (`file` is `null`) or a new file, with mode 0600: it holds a whole session.
 *
 * @throws {AlreadyExistsError|NotFoundError|StorageFullError|StorageLostError}
 */
export function openSink(out: Output, cwd: string, file: string | null): Sink {
  if (file === null) return outputSink(out);
  const path = resolve(cwd, file);
  const descriptor = attempt(file, () => openSync(path, "wx", 0o600));
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length;) done += attempt(file, () => writeSync(descriptor, bytes, done));
      await null;
    },
    finish() {
      attempt(file, () => fsyncSync(descriptor));
      closeSync(descriptor);
    },
    discard() {
      closeSync(descriptor);
      unlinkSync(path);
    },
  };
}

function outputSink(out: Output): Sink {
  // On a terminal it is only looked at, and must not be obeyed.
  const decoder = new TextDecoder();
  const shown = (bytes: Uint8Array) => new TextEncoder().encode(printable(decoder.decode(bytes, { stream: true })));
  return {
    write: (bytes) => out.bytes(out.isTerminal ? shown(bytes) : bytes),
    finish: () => {},
    discard: () => {},
  };
}

function attempt<Result>(file: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw refusal(file, error as Error & { readonly code?: unknown });
  }
}

function refusal(file: string, cause: Error & { readonly code?: unknown }): HoldfastError {
  const because = (found: string) => `Cannot write file "${file}": ${found}`;
  switch (cause.code) {
    case "EEXIST":
      return new AlreadyExistsError(because("it is there already"), { cause });
    case "ENOENT":
    case "ENOTDIR":
      return new NotFoundError(because("there is no such folder"), { cause });
    default:
      return systemError(cause, `write file "${file}"`);
  }
}
