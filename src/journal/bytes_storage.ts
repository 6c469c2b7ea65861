/**
 * One file in memory as a storage that only reads, so that bytes can be looked at before they are kept.
 *
 * @module
 */
import { NotFoundError } from "../errors.ts";
import type { ByteRange, StoragePort, StorageTraits } from "../storage/storage_port.ts";

const TRAITS: StorageTraits = {
  medium: "bytes",
  sync: "none",
  names: "synced",
  publish: "link",
  lockScope: "process",
  persistence: "volatile",
};

/** A storage that holds `bytes` under `name`, and nothing else. Whatever writes is a TypeError. */
export function bytesStorage(name: string, bytes: Uint8Array<ArrayBuffer>): StoragePort {
  const refuse = (): Promise<never> =>
    Promise.reject(new TypeError(`Cannot write "${name}": these bytes are only read`));
  return {
    traits: TRAITS,
    list: () => Promise.resolve([]),
    stat: (wanted) => Promise.resolve(wanted === name ? { sizeBytes: bytes.length, revision: "0" } : null),
    read(wanted, { startBytes, endBytes }: ByteRange = { startBytes: 0 }) {
      if (wanted === name) return Promise.resolve(bytes.slice(startBytes, endBytes));
      return Promise.reject(new NotFoundError(`Cannot read "${wanted}": there is no such file`));
    },
    isLocked: () => Promise.resolve(false),
    lock: refuse,
    stage: refuse,
    open: refuse,
    remove: refuse,
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
