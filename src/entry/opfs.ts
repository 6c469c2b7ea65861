/**
 * Sessions in a browser: the OPFS adapter, the portable codec, and the journal. For a dedicated worker.
 *
 * @module
 */
import { openOpfsStorage, type OpfsPlatform } from "../adapters/opfs/mod.ts";
import type { ZstdCodec } from "../frame/mod.ts";
import { portableZstd } from "../frame/portable_zstd.ts";
import { type JournalLimits, openJournal } from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SessionStore } from "../store/session_store.ts";
import { systemRuntime } from "./system.ts";

export {
  openOpfsStorage,
  type OpfsObstacle,
  type OpfsPlatform,
  type OpfsProbe,
  probeOpfs,
  type ProbeScope,
} from "../adapters/opfs/mod.ts";
export { systemClock, systemRandom, systemRuntime } from "./system.ts";

/** Where and how sessions are kept. */
export interface OpfsStoreOptions {
  /** A folder below the origin's root, made at the first write. Default `"holdfast"`. */
  readonly root?: string;
  /** How new sessions are stored. Default `"zstd"`. */
  readonly compression?: "zstd" | "none";
  /** Bounds of the journal to move; the others keep their defaults. */
  readonly limits?: Partial<JournalLimits>;
  /** Default: the system's. */
  readonly runtime?: Runtime;
  /** Default: the portable one, which needs no WebAssembly. */
  readonly codec?: ZstdCodec;
  /** The browser, for tests. Default: the worker we run in. */
  readonly platform?: OpfsPlatform;
}

/**
 * Opens a store in the origin private file system. Nothing is created before the first write.
 *
 * There is no fallback: where the browser refuses, this rejects and says why. Who wants to go on without anything kept opens a
 * memory store instead, and tells the person so.
 *
 * @throws {StorageLostError} when this is no dedicated worker, or the browser refuses, as in some private windows
 * @see probeOpfs for the same reason as data
 *
 * @example
 * ```ts
 * import { createSession } from "../session/mod.ts";
 * import { openOpfsStore } from "./opfs.ts";
 *
 * async function inWorker() {
 *   await using store = await openOpfsStore();
 *   await using session = await createSession({ store });
 *   session.append({ type: "turn/start", data: { turn: 1 } });
 * }
 * if (typeof inWorker !== "function") throw new Error("unreachable");
 * ```
 */
export async function openOpfsStore(options: OpfsStoreOptions = {}): Promise<SessionStore> {
  const { root, compression, limits, runtime = systemRuntime, codec = portableZstd(), platform } = options;
  const storage = await openOpfsStorage({ root, platform });
  return openJournal({ storage, codec, ...runtime, compression, limits });
}
