/**
 * The file adapter, for Deno and Node.
 *
 * @module
 */

export type { FileEntry, FileStat, FileSystem } from "./file_system.ts";
export { nodeFileSystem } from "./file_system.ts";
export { type FileStorageOptions, openFileStorage } from "./file_storage.ts";
export type { Guard, KernelLock } from "./guard.ts";
export { systemKernelLock } from "./kernel_lock.ts";
