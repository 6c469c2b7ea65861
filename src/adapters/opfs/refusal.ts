/**
 * What the browser said, translated once.
 *
 * @module
 */

import { HoldfastError, ShortWriteError, StorageFullError, StorageLostError, SyncFailedError } from "../../errors.ts";
import type { OpfsPlatform } from "./platform.ts";

/** Chromium hands out its own error numbers as the count of a write, unsigned (base/files/file.h). */
const CHROMIUM_NO_SPACE = -8;
const CHROMIUM_NOT_FOUND = -4;

/** A write whose count is not the number of bytes it was given. */
export class WrongCount {
  /** What `write()` returned. */
  readonly count: number;
  /** How many bytes it was given. */
  readonly givenBytes: number;

  constructor(count: number, givenBytes: number) {
    this.count = count;
    this.givenBytes = givenBytes;
  }

  /** The negative number a wrapped count stands for, or `null` when it is none. */
  get errorNumber(): number | null {
    return Number.isInteger(this.count) && this.count >= 2 ** 31 && this.count < 2 ** 32 ? this.count - 2 ** 32 : null;
  }

  /** Fewer bytes than were given: the way Firefox says that there is no room. */
  get isShort(): boolean {
    return this.count >= 0 && this.count < this.givenBytes;
  }
}

/** The name of a `DOMException`; the empty text when there is none. */
export function nameOf(error: unknown): string {
  return typeof error === "object" && error !== null && "name" in error ? String(error.name) : "";
}

/** Whether there is nothing under the name. */
export function isMissing(error: unknown): boolean {
  return nameOf(error) === "NotFoundError";
}

/** Whether a file stands where a folder was wanted, or the other way round. */
export function isOtherKind(error: unknown): boolean {
  return nameOf(error) === "TypeMismatchError";
}

/** Whether somebody holds the file. Safari says it with `InvalidStateError`. */
export function isInUse(error: unknown): boolean {
  return nameOf(error) === "NoModificationAllowedError" || nameOf(error) === "InvalidStateError";
}

/**
 * Says what the world refused. `what` completes "Cannot …" and names the thing.
 *
 * @param error what was thrown, or a {@link WrongCount}
 */
export async function refusal(platform: OpfsPlatform, error: unknown, what: string): Promise<HoldfastError> {
  if (error instanceof HoldfastError) return error;
  if (error instanceof WrongCount) return await countRefusal(platform, error, what);
  const message = `Cannot ${what}: ${textOf(error)}`;
  if (nameOf(error) !== "QuotaExceededError") return new StorageLostError(message, { cause: error });
  return new StorageFullError(`${message} (${await usageText(platform)})`, { cause: error });
}

/** A failed `flush()`; its cause says whether it was for lack of room. */
export async function syncRefusal(platform: OpfsPlatform, error: unknown, what: string): Promise<SyncFailedError> {
  const cause = await refusal(platform, error, what);
  return new SyncFailedError(cause.message, { cause });
}

async function countRefusal(platform: OpfsPlatform, wrong: WrongCount, what: string): Promise<HoldfastError> {
  const { count, givenBytes, errorNumber } = wrong;
  const found = `of ${givenBytes} bytes the browser says it took ${count}`;
  if (errorNumber === CHROMIUM_NOT_FOUND) {
    return new StorageLostError(`Cannot ${what}: ${found}, so the file is gone`);
  }
  if (errorNumber === CHROMIUM_NO_SPACE || wrong.isShort) {
    return new StorageFullError(`Cannot ${what}: ${found}, so there is no room (${await usageText(platform)})`);
  }
  return new ShortWriteError(`Cannot ${what}: ${found}`);
}

async function usageText(platform: OpfsPlatform): Promise<string> {
  try {
    const { usage, quota } = await platform.estimate();
    return `this origin uses ${usage ?? "an unknown number of"} of ${quota ?? "an unknown number of"} bytes`;
  } catch (error) {
    return `how much this origin uses is not known: ${textOf(error)}`;
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
