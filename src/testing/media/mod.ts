/**
 * Simulated media: storage that keeps apart what was written and what a power cut leaves, that fails on purpose, and that gives
 * every state a crash may leave.
 *
 * @module
 */

export { MediumCrashError } from "./disk.ts";
export {
  canBefall,
  type MediumFault,
  type MediumFaultKind,
  type MediumOperation,
  type MediumOperationKind,
  OPERATIONS_LISTED_MAX,
} from "./faults.ts";
export { CRASH_BOUNDS, type CrashBounds, type Draws, PREFIX_EDGE_BYTES } from "./crash_bounds.ts";
export { HANDLE_TRIES } from "./opfs_handle.ts";
export {
  type CrashState,
  type MediumKind,
  type RestartOptions,
  SimulatedMedium,
  simulatedMedium,
  type SimulatedMediumOptions,
  simulatedMediumWith,
} from "./simulated_medium.ts";
export type { MediumStranger } from "./stranger.ts";
