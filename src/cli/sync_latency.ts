/**
 * How long the disk takes to make a small append durable, measured.
 *
 * @module
 */
import { closeSync, existsSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** How many appends are timed. */
export const SYNC_SAMPLES = 50;
/** The size of one append: about that of a small frame. */
const SAMPLE_SIZE_BYTES = 200;

/** What was measured. */
export interface SyncLatency {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Where, for a person. */
  readonly where: string;
}

/** Times append and fdatasync on the root's file system, else in the temporary folder; `null` when neither can be written. */
export function syncLatency(root: string): SyncLatency | null {
  let parent = root;
  while (!existsSync(parent)) parent = dirname(parent);
  return measureIn(parent, "on the root's file system") ??
    measureIn(tmpdir(), "in the temporary folder: the root's file system cannot be written");
}

function measureIn(parent: string, where: string): SyncLatency | null {
  let descriptor: number;
  try {
    descriptor = openNameless(parent);
  } catch {
    return null;
  }
  const timesMs: number[] = [];
  try {
    const bytes = new Uint8Array(SAMPLE_SIZE_BYTES);
    for (let count = 0; count < SYNC_SAMPLES; count++) {
      const startMs = performance.now();
      writeSync(descriptor, bytes);
      fdatasyncSync(descriptor);
      timesMs.push(performance.now() - startMs);
    }
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
  timesMs.sort((a, b) => a - b);
  return { p50Ms: timesMs[SYNC_SAMPLES >> 1]!, p99Ms: timesMs[Math.ceil(SYNC_SAMPLES * 0.99) - 1]!, where };
}

/** A file whose name is gone before anything is measured: a doctor who is interrupted leaves nothing behind. */
function openNameless(parent: string): number {
  const folder = mkdtempSync(join(parent, ".holdfast-doctor-"));
  try {
    return openSync(join(folder, "sync"), "wx", 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
