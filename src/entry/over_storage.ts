/**
 * Sessions over any storage: for whoever brings a medium of his own, such as a simulated one.
 *
 * @module
 */
import { portableZstd } from "../frame/portable_zstd.ts";
import { type JournalOptions, openJournal } from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SessionStore } from "../store/session_store.ts";
import { systemRuntime } from "./system.ts";

export { portableZstd } from "../frame/portable_zstd.ts";
export { systemRuntime } from "./system.ts";

/** What the sessions are kept on, and how. */
export interface StoreOverOptions extends Pick<JournalOptions, "storage" | "compression" | "limits"> {
  /** Default: the portable one. */
  readonly codec?: JournalOptions["codec"];
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Opens a store over a storage, and closes the storage with it.
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "./memory.ts";
 * import { openStoreOver } from "./over_storage.ts";
 *
 * await using store = openStoreOver({ storage: new MemoryStorage(), compression: "none" });
 * if (await store.stat("a") !== null) throw new Error("unreachable");
 * ```
 */
export function openStoreOver(options: StoreOverOptions): SessionStore {
  const { storage, compression, limits, codec = portableZstd(), runtime = systemRuntime } = options;
  return openJournal({ storage, codec, compression, limits, ...runtime });
}
