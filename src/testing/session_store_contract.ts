/**
 * What every session store promises, as plain data without a test runner.
 *
 * @module
 */
import type { ContractCase } from "./check.ts";
import type { SessionStoreContext } from "./session_store_context.ts";
import { sessionStorePlaceCases } from "./session_store_place_cases.ts";
import { sessionStoreReadCases } from "./session_store_read_cases.ts";
import { sessionStoreWriteCases } from "./session_store_write_cases.ts";

export {
  type OtherStoreProcess,
  OtherStoreSide,
  type SessionStoreContext,
  type StoreAnswer,
  type StoreCommand,
} from "./session_store_context.ts";

/**
 * The cases, each to be run with a fresh place.
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/mod.ts";
 * import { portableZstd } from "../frame/portable_zstd.ts";
 * import { openJournal } from "../journal/mod.ts";
 * import { OtherStoreSide, sessionStoreContract } from "./session_store_contract.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };
 * const storage = new MemoryStorage();
 * const open = () => openJournal({ storage: storage.peer(), codec: portableZstd(), clock, random });
 * const side = new OtherStoreSide(open());
 * await sessionStoreContract[0]!.run({
 *   openStore: () => Promise.resolve(open()),
 *   other: { run: (command) => side.run(command), kill: () => Promise.resolve() },
 *   advance: () => Promise.resolve(),
 * });
 * ```
 */
export const sessionStoreContract: readonly ContractCase<SessionStoreContext>[] = [
  ...sessionStoreWriteCases,
  ...sessionStoreReadCases,
  ...sessionStorePlaceCases,
];
