/**
 * The bytes that are looked at: a file, or anything else that can be read by range.
 *
 * @module
 */
import { type ByteSource, bytesSource } from "../byte_source.ts";
import type { ZstdCodec } from "../../frame/mod.ts";
import type { JournalLimits } from "../limits.ts";

/** Bytes of a known length. Reading never changes them. */
export interface LogBytes extends ByteSource {
  readonly sizeBytes: number;
}

/** What looking at bytes needs beside them. */
export interface LookOptions {
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  readonly signal?: AbortSignal;
}

/** A stretch of a file. */
export interface BytePlace {
  readonly offsetBytes: number;
  readonly sizeBytes: number;
}

/**
 * Bytes in memory as a source.
 *
 * @example
 * ```ts
 * import { logBytes } from "./source.ts";
 *
 * if (logBytes("a.jsonl", new Uint8Array(3)).sizeBytes !== 3) throw new Error("unreachable");
 * ```
 */
export function logBytes(name: string, bytes: Uint8Array<ArrayBuffer>): LogBytes {
  return { ...bytesSource(name, bytes), sizeBytes: bytes.length };
}

/** Whether these bytes are zeros, all of them. */
export function areZeros(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
