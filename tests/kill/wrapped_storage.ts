/**
 * A storage with something between it and whoever uses it, for tests that look at its calls or make them fail.
 *
 * @module
 */
import type { StagedFile, StorageFile, StoragePort } from "../../src/storage/storage_port.ts";

/** What is put between; everything else is passed on. */
export interface StorageWraps {
  /** The verbs of an open file that are replaced. */
  readonly file?: (file: StorageFile) => Partial<Pick<StorageFile, "append" | "sync" | "truncate">>;
  /** The verbs of a file without a name, by the name it will get. */
  readonly stage?: (staged: StagedFile, name: string) => Partial<Pick<StagedFile, "append" | "read" | "publish">>;
  /** The verbs of the port. */
  readonly port?: Partial<Pick<StoragePort, "lock" | "remove">>;
}

/** The storage with the wraps. Files that it opens and publishes are wrapped too. */
export function wrapStorage(storage: StoragePort, wraps: StorageWraps): StoragePort {
  const fileOf = (file: StorageFile): StorageFile => ({
    name: file.name,
    get sizeBytes() {
      return file.sizeBytes;
    },
    append: (bytes) => file.append(bytes),
    sync: () => file.sync(),
    truncate: (sizeBytes) => file.truncate(sizeBytes),
    close: () => file.close(),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
    ...wraps.file?.(file),
  });
  const stageOf = (staged: StagedFile, name: string): StagedFile => {
    const replaced = wraps.stage?.(staged, name);
    return {
      append: replaced?.append ?? ((bytes) => staged.append(bytes)),
      read: replaced?.read ?? ((range) => staged.read(range)),
      publish: async () => fileOf(await (replaced?.publish ?? (() => staged.publish()))()),
      discard: () => staged.discard(),
      [Symbol.asyncDispose]: () => staged[Symbol.asyncDispose](),
    };
  };
  return {
    get traits() {
      return storage.traits;
    },
    list: (prefix) => storage.list(prefix),
    stat: (name) => storage.stat(name),
    read: (name, range) => storage.read(name, range),
    lock: (name) => storage.lock(name),
    isLocked: (name) => storage.isLocked(name),
    stage: async (name, lock) => stageOf(await storage.stage(name, lock), name),
    open: async (name, lock) => fileOf(await storage.open(name, lock)),
    remove: (name, lock) => storage.remove(name, lock),
    close: () => storage.close(),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
    ...wraps.port,
  };
}
