/**
 * The memory adapter: a volatile medium, and with `simulate: "disk"` a disk that fails on purpose.
 *
 * @module
 */

export { type Fault, type OperationKind, type OperationRecord, OPERATIONS_LISTED_MAX } from "./faults.ts";
export type { KeepUnsynced } from "./medium.ts";
export { SimulatedCrashError } from "./memory_process.ts";
export { type CrashOptions, MemoryStorage, type MemoryStorageOptions } from "./memory_storage.ts";
export type { MemoryStranger } from "./stranger.ts";
