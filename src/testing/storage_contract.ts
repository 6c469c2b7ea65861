/**
 * What every storage adapter promises, as plain data without a test runner.
 *
 * @module
 */

import type { ContractCase } from "./check.ts";
import type { StorageContext } from "./storage_context.ts";
import { storageFileCases } from "./storage_file_cases.ts";
import { storageLockCases } from "./storage_lock_cases.ts";
import { storageNameCases } from "./storage_name_cases.ts";
import { storageStrangerCases } from "./storage_stranger_cases.ts";

export * from "./storage_context.ts";
export { type StorageFault, storageFaultCases, type StorageFaultContext } from "./storage_fault_cases.ts";

/**
 * The cases, each to be run with a fresh medium.
 *
 * A runner runs `storageFaultCases` too where it can make the medium fail.
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/mod.ts";
 * import { OtherSide, storageContract } from "./storage_contract.ts";
 *
 * for (const { run, skip } of storageContract) {
 *   const storage = new MemoryStorage({ simulate: "disk" });
 *   if ((skip?.(storage.traits) ?? null) !== null) continue;
 *   let peer = storage.peer();
 *   let side = new OtherSide(peer);
 *   const kill = () => {
 *     peer.kill();
 *     peer = storage.peer();
 *     side = new OtherSide(peer);
 *     return Promise.resolve();
 *   };
 *   await run({ storage, other: { run: (command) => side.run(command), kill }, stranger: storage.stranger });
 * }
 * ```
 */
export const storageContract: readonly ContractCase<StorageContext>[] = [
  ...storageNameCases,
  ...storageFileCases,
  ...storageLockCases,
  ...storageStrangerCases,
];
