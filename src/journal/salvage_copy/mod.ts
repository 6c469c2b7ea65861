/**
 * Salvage: what can be recovered of a damaged or forked log, as new sessions that open and go on.
 *
 * @module
 */
export { type DroppedPiece, type PlannedCopy, planSalvage, type SalvagePlan, type SalvageReadOptions } from "./plan.ts";
export { type Salvaged, type SalvagedSession, salvageLog, type SalvageOptions } from "./salvage_log.ts";
export type { SeqRange } from "./ranges.ts";
