/**
 * What is wrong with a log: every damage, each with its kind and its place.
 *
 * @module
 */
export { DAMAGE_KINDS, type DamageKind, type Diagnosis, FINDINGS_MAX } from "./kinds.ts";
export { type BytePlace, type LogBytes, logBytes } from "./source.ts";
export { diagnoseLog, type LogBranch, type LogDiagnosis } from "./diagnose.ts";
export { diagnosePlace, type LogSurroundings } from "./place.ts";
