/**
 * A flush that never comes back, at a given sync of the log: because the system call does not return, or because nobody hears
 * that it did.
 *
 * @module
 */
import type { StorageFile, StoragePort } from "../../src/storage/storage_port.ts";
import type { Trace } from "./stretched_disk.ts";
import { wrapStorage } from "./wrapped_storage.ts";

/** Which sync of the log hangs, and how. */
export interface HangPlan {
  /** The first sync is 1. */
  readonly sync: number;
  /**
   * `blocked`: the system call does not return, and with it the whole process stands still. `silent`: the process lives on, the
   * sync does not settle, and after `cancelAfterMs` the turn is cancelled.
   */
  readonly kind: "blocked" | "silent";
  /** Whether the disk has done its work by then. */
  readonly isSynced: boolean;
  readonly cancelAfterMs: number;
}

/** Stands still at the planned sync: for `stretchedDisk`. */
export function blockedSync(hang: HangPlan | null, trace: Trace): (sync: () => void) => void {
  let syncs = 0;
  return (sync) => {
    if (hang?.kind !== "blocked" || ++syncs !== hang.sync) return sync();
    if (hang.isSynced) sync();
    trace.add(["hung", Date.now(), syncs, 0]);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
}

/** A storage whose planned sync never settles. `onHang` runs when it is reached. */
export function silentStorage(
  storage: StoragePort,
  hang: HangPlan | null,
  trace: Trace,
  onHang: () => void,
): StoragePort {
  let syncs = 0;
  const sync = async (file: StorageFile) => {
    if (hang?.kind !== "silent" || ++syncs !== hang.sync) return await file.sync();
    if (hang.isSynced) await file.sync();
    trace.add(["hung", Date.now(), syncs, 0]);
    onHang();
    await new Promise(() => {});
  };

  return wrapStorage(storage, { file: (file) => ({ sync: () => sync(file) }) });
}
