/**
 * A fresh folder for one case of the file adapter, and whatever a case may need around it.
 *
 * @module
 */

import { appendFileSync, chmodSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFileStorage } from "../../../src/adapters/file/mod.ts";
import type { StoragePort } from "../../../src/storage/storage_port.ts";
import type { StorageContext, StorageFaultContext } from "../../../src/testing/storage_contract.ts";
import { FaultyFileSystem } from "./faulty_file_system.ts";
import type { PipedProcess } from "./other_process.ts";

/** What a case of the file adapter gets. */
export interface FileContext extends StorageContext, StorageFaultContext {
  /** The root; it is not there yet. Its parent is the case's own folder. */
  readonly root: string;
  /** Opens one more storage, closed with the case. Same root unless told otherwise. */
  open(options?: Partial<Parameters<typeof openFileStorage>[0]>): StoragePort;
  /** What starts this program again with other arguments: `--other`, `--fill ROOT`. */
  readonly selfCommand: readonly string[];
  /** Removes everything. */
  end(): Promise<void>;
}

/** Makes one. */
export function createFileContext(process: PipedProcess, selfCommand: readonly string[]): FileContext {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-file-"));
  // Some systems make temporary folders that others may look into; what is below must not depend on it.
  chmodSync(folder, 0o755);
  const root = join(folder, "root");
  const faulty = new FaultyFileSystem();
  const opened: StoragePort[] = [];
  const open: FileContext["open"] = (options = {}) => {
    const storage = openFileStorage({ root, ...options });
    opened.push(storage);
    return storage;
  };
  return {
    storage: open({ fs: faulty.fs }),
    failNext: (fault) => faulty.failNext(fault),
    other: process.for(root),
    root,
    open,
    selfCommand,
    stranger: {
      write(name, bytes) {
        writeFileSync(join(root, `${name}.new`), bytes);
        renameSync(join(root, `${name}.new`), join(root, name));
      },
      append: (name, bytes) => appendFileSync(join(root, name), bytes),
      remove: (name) => unlinkSync(join(root, name)),
    },
    async end() {
      for (const storage of opened) await storage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
