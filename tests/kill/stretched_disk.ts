/**
 * The operating system's file calls, slowed down by a plan, with a line in a trace around each that matters. What is traced
 * survives SIGKILL: each line is one write to a file opened for appending.
 *
 * @module
 */
import { openSync, writeSync } from "node:fs";
import { type FileSystem, nodeFileSystem } from "../../src/adapters/file/file_system.ts";
import type { DiskPlan } from "./plan.ts";
import { readRaw } from "./raw_log.ts";
import { firstPart } from "./torn_part.ts";

/**
 * A line of the trace: what, when (milliseconds since the epoch), and numbers.
 *
 * - `["appended", time, seq, type, callSeq?]`: committed in memory.
 * - `["write", time, first, last]` … `["wrote", …]`: these seqs go to the log, with one write or several.
 * - `["sync", …]` … `["synced", …]`: what was written so far is made durable.
 * - `["body", time, callSeq, key]`: the first thing a body does. `["left", …]`: the last.
 * - `["call", time, callSeq, name]`: whom the call pays.
 * - `["hung", time, sync, 0]`: this sync does not come back. `["cancel", time, 0, 0]`: the turn is cancelled. `["over", time, 0,
 *   reason]`: the turn has ended.
 * - `["at", time, n, point]`: the process dies at its n-th failpoint. `["opened", time, 0, report]`: what a resume found, as JSON.
 */
export type TraceLine =
  | readonly ["appended", number, number, string, number | null]
  | readonly ["write" | "wrote" | "sync" | "synced", number, number, number]
  | readonly ["hung" | "cancel", number, number, number]
  | readonly ["body" | "left" | "call" | "over" | "at" | "opened", number, number, string];

/** Writes trace lines, each at once. */
export class Trace {
  readonly #descriptor: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, "a");
  }

  add(line: TraceLine): void {
    writeSync(this.#descriptor, JSON.stringify(line) + "\n");
  }
}

/** File calls that sleep as the plan says and tell the trace about the log. With `onSync`, it runs around each sync of the log. */
export function stretchedDisk(
  { sleepsMs, firstParts, tornMs }: DiskPlan,
  trace: Trace,
  onSync: (sync: () => void) => void = (sync) => sync(),
): FileSystem {
  const logs = new Set<number>();
  let sleeps = 0;
  let writes = 0;
  /** The seqs of the batch that was written last. */
  let first = -1;
  let last = -1;
  const sleep = (leastMs = 0) => {
    const ms = Math.max(leastMs, sleepsMs[sleeps++ % sleepsMs.length] ?? 0);
    if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  };

  return {
    ...nodeFileSystem,
    openSync(path, flags, mode) {
      const descriptor = nodeFileSystem.openSync(path, flags, mode);
      // The staging file of a log is the log: it is published by its name, with everything in it.
      if (/session\.v3\.jsonl(\.zstd)?(\.[0-9a-f]{12}\.tmp)?$/.test(path)) logs.add(descriptor);
      return descriptor;
    },
    closeSync(descriptor) {
      logs.delete(descriptor);
      nodeFileSystem.closeSync(descriptor);
    },
    writeSync(descriptor, bytes, offset, length, position) {
      const isLog = logs.has(descriptor);
      const isBegin = offset === 0;
      if (isLog && isBegin) [first, last] = seqsIn(bytes);
      sleep();
      if (isLog && isBegin) trace.add(["write", Date.now(), first, last]);
      const part = isBegin ? firstPart(length, firstParts[writes++ % firstParts.length] ?? 1) : length;
      const taken = nodeFileSystem.writeSync(descriptor, bytes, offset, part, position);
      sleep(taken < length ? tornMs : 0);
      if (isLog && taken === length) trace.add(["wrote", Date.now(), first, last]);
      return taken;
    },
    fdatasyncSync(descriptor) {
      synced(descriptor, () => nodeFileSystem.fdatasyncSync(descriptor));
    },
    fsyncSync(descriptor) {
      synced(descriptor, () => nodeFileSystem.fsyncSync(descriptor));
    },
    ftruncateSync(descriptor, sizeBytes) {
      sleep();
      nodeFileSystem.ftruncateSync(descriptor, sizeBytes);
    },
    linkSync(existingPath, newPath) {
      sleep();
      nodeFileSystem.linkSync(existingPath, newPath);
    },
    unlinkSync(path) {
      sleep();
      nodeFileSystem.unlinkSync(path);
    },
  };

  function synced(descriptor: number, act: () => void): void {
    const isLog = logs.has(descriptor);
    if (isLog) trace.add(["sync", Date.now(), first, last]);
    sleep();
    if (!isLog) act();
    else {
      onSync(() => {
        act();
        trace.add(["synced", Date.now(), first, last]);
      });
    }
    sleep();
  }
}

/** The first and the last seq in the bytes of a batch, −1 for none. */
function seqsIn(bytes: Uint8Array): [number, number] {
  const seqs = readRaw(bytes).rows.flatMap(({ seq }) => seq === null ? [] : [seq]);
  return [seqs[0] ?? -1, seqs.at(-1) ?? -1];
}
