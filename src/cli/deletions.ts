/**
 * What was deleted, when and why: `deleted.jsonl` in the root.
 *
 * One line is written before a session is deleted and one after, each durable before the next step, like an intent and its
 * result: a line "deleting" without a later line of the same id means that the deletion was cut short, and the next
 * `holdfast rm` of that id finishes it. Lines are only ever added. The file holds no content of a session.
 *
 * @module
 */
import { closeSync, constants, fdatasyncSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemError } from "../entry/system_error.ts";

/** The record's name in the root. A session lies two folders deeper, so no listing takes it for one. */
export const DELETIONS_NAME = "deleted.jsonl";

/** How much of the record's end is read to look something up. */
export const DELETIONS_READ_BYTES_MAX: number = 4 * 1024 * 1024;

/** One line of the record. */
export interface Deletion {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** `deleting` comes before, `deleted` or `kept` after. */
  readonly state: "deleting" | "deleted" | "kept";
  readonly id: string;
  /** The log's name below the root. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Time of the newest event that was seen, `null` when none was. */
  readonly lastEventTime: number | null;
  /** What was asked for: `by id`, or `older than 30d`. */
  readonly why: string;
  /** Why it was kept. */
  readonly reason?: string;
}

/**
 * Adds a line, durable when it returns.
 *
 * @throws {StorageFullError} when there is no room
 * @throws {StorageLostError} when the record cannot be written
 */
export function recordDeletion(root: string, deletion: Deletion): void {
  const path = join(root, DELETIONS_NAME);
  try {
    const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR } = constants;
    const descriptor = openSync(path, O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
    try {
      const { size, mode } = fstatSync(descriptor);
      if ((mode & 0o170000) !== 0o100000) throw new Error("it is not a regular file");
      // A line that a crash cut short must not swallow this one.
      const start = size > 0 && lastByte(descriptor, size) !== 0x0a ? "\n" : "";
      writeWhole(descriptor, new TextEncoder().encode(`${start}${JSON.stringify(deletion)}\n`));
      fdatasyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    syncFolder(root);
  } catch (error) {
    throw systemError(error, `record in "${path}" what is deleted`);
  }
}

/** When and why a session was deleted, as far as the end of the record says; `null` when it does not. */
export function deletionOf(root: string, id: string): Deletion | null {
  return readDeletions(root).findLast((deletion) => deletion.id === id && deletion.state === "deleted") ?? null;
}

/** The lines at the end of the record, oldest first; what is no such line is skipped. None when there is no record. */
export function readDeletions(root: string): Deletion[] {
  let text: string;
  try {
    const descriptor = openSync(join(root, DELETIONS_NAME), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const { size } = fstatSync(descriptor);
      const bytes = new Uint8Array(Math.min(size, DELETIONS_READ_BYTES_MAX));
      readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
      text = new TextDecoder().decode(bytes);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return []; // It only adds to what an error says, and must not be one.
  }
  return text.split("\n").flatMap((line) => {
    try {
      const deletion = JSON.parse(line);
      return typeof deletion?.id === "string" && typeof deletion.time === "number" ? [deletion as Deletion] : [];
    } catch {
      return [];
    }
  });
}

function lastByte(descriptor: number, sizeBytes: number): number | undefined {
  const byte = new Uint8Array(1);
  return readSync(descriptor, byte, 0, 1, sizeBytes - 1) === 1 ? byte[0] : undefined;
}

function writeWhole(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
}

function syncFolder(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
