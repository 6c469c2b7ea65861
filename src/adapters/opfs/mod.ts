/**
 * The OPFS adapter, for a dedicated worker of a browser.
 *
 * @module
 */

export { SYNC_HANDLES_MAX } from "./handle_pool.ts";
export { DEFAULT_ROOT, openOpfsStorage, type OpfsStorageOptions } from "./opfs_storage.ts";
export type {
  BrowserStorage,
  FileHandle,
  FileSnapshot,
  FolderHandle,
  OpfsPlatform,
  SyncHandle,
  WebLocks,
} from "./platform.ts";
export { type OpfsObstacle, type OpfsProbe, probeOpfs, type ProbeScope } from "./probe.ts";
