/**
 * Sessions in memory: for tests and for the volatile. The same journal over the memory adapter.
 *
 * @module
 */
import { MemoryStorage } from "../adapters/memory/mod.ts";
import { portableZstd } from "../frame/portable_zstd.ts";
import { openJournal } from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SessionStore } from "../store/session_store.ts";
import { systemRuntime } from "./system.ts";

export {
  type CrashOptions,
  type Fault,
  type KeepUnsynced,
  MemoryStorage,
  type MemoryStorageOptions,
  type MemoryStranger,
  type OperationKind,
  type OperationRecord,
} from "../adapters/memory/mod.ts";
export { systemClock, systemRandom, systemRuntime } from "./system.ts";

/** What the memory pretends to be. */
export interface MemoryStoreOptions {
  /** `"disk"` promises durability, so that barriers pass as they would on a disk. Default: it promises nothing. */
  readonly simulate?: "disk";
  /** A storage to build on, such as one that crashes. */
  readonly storage?: MemoryStorage;
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Opens a store that is gone with the process.
 *
 * Without `simulate: "disk"` it promises nothing, and tools with effects are refused unless the session is `volatile`.
 *
 * @example
 * ```ts
 * import { createSession } from "../session/mod.ts";
 * import { openMemoryStore } from "./memory.ts";
 *
 * await using store = openMemoryStore();
 * await using session = await createSession({ store });
 * if (session.traits.sync !== "none") throw new Error("unreachable");
 * ```
 */
export function openMemoryStore(options: MemoryStoreOptions = {}): SessionStore {
  const { simulate, runtime = systemRuntime } = options;
  const storage = options.storage ?? new MemoryStorage({ simulate });
  return openJournal({ storage, codec: portableZstd(), ...runtime });
}
