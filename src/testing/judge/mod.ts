/**
 * The judge of the crash lab: {@linkcode createJudge} and the trace it reads.
 *
 * @module
 */
export { createJudge, type Judge, type JudgeOptions } from "./judge.ts";
export type { DecodeFrame } from "./frames.ts";
export * from "./trace.ts";
