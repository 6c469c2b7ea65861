/**
 * The crash lab: what others use of it.
 *
 * @module
 */
export * from "./bench.ts";
export * from "./crash_lab.ts";
export { countExhaustive, EXHAUSTIVE_LETTERS_MAX, type LabOptions, replayUnit, runLab } from "./lab.ts";
export { ALPHABET, COMPACTING, type Letter, lettersInWords, workloads } from "./letters.ts";
export { minimise, MINIMISE_UNITS_MAX } from "./minimise.ts";
export {
  addTally,
  emptyTally,
  type LabTally,
  type LabViolation,
  type MediumTally,
  VIOLATIONS_KEPT_MAX,
} from "./tally.ts";
export type { Tried } from "./trial.ts";
export {
  type Compression,
  COMPRESSIONS,
  FAULT_KINDS,
  type FaultKind,
  MEDIA,
  parseUnit,
  type Unit,
  UNIT_FORM,
  unitText,
} from "./unit.ts";
