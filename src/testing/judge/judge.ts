/**
 * The independent judge of a crash: it reads the bytes by itself and knows the ledger of the world, and so what may be said.
 *
 * It is written from the specification of the format and of the crash classes alone. It shares no code with what it judges: no
 * frame walk, no fold, no repair. The one thing it is handed is a decoder for the payload of whole frames; where that is the
 * decoder of the code under test, a fault in it is shared, and in nothing else.
 *
 * @module
 */
import { type Case, readCase } from "./case.ts";
import { checkClasses } from "./classes.ts";
import { checkCompaction } from "./compaction.ts";
import type { DecodeFrame } from "./frames.ts";
import { checkIdempotent } from "./idempotent.ts";
import { checkIntent, checkWindow } from "./intent.ts";
import { checkAcknowledged, checkBytes, checkInvented } from "./kept.ts";
import { logReader } from "./log.ts";
import { checkRepair } from "./repair.ts";
import { CHECKERS, type LabTrace, type Violation } from "./trace.ts";
import { checkTranscript } from "./transcript.ts";
import { checkUnresolved } from "./unresolved.ts";
import { checkVerdicts } from "./verdicts.ts";
import { checkDuplicates, checkLiveness, checkWriters } from "./world.ts";

/** Judges one trace: every promise it breaks, ordered by checker. Empty: nothing was found. */
export type Judge = (trace: LabTrace) => readonly Violation[];

/** What a judge needs. */
export interface JudgeOptions {
  /** Decodes one whole zstd frame with its checksum verified, and throws when it is bad: `zstdDecompressSync` of `node:zlib`. */
  readonly decodeFrame: DecodeFrame;
}

const CHECKS: readonly ((found: Case) => void)[] = [
  ...[checkIntent, checkClasses, checkUnresolved, checkVerdicts, checkWindow, checkAcknowledged, checkInvented],
  ...[checkBytes, checkRepair],
  ...[checkIdempotent, checkTranscript, checkCompaction, checkWriters, checkDuplicates, checkLiveness],
];

/**
 * Makes a judge. Use one for many traces: it keeps what it has decoded, up to a bound, and traces of one run have much in common.
 *
 * The judge throws a `RangeError` for a trace that contradicts itself, such as batches with a gap between them.
 *
 * @example
 * ```ts
 * import { zstdDecompressSync } from "node:zlib";
 * import { createJudge } from "./judge.ts";
 *
 * const judge = createJudge({ decodeFrame: (frame) => zstdDecompressSync(frame) });
 * const violations = judge({
 *   ...{ log: "--root--/s/session.v3.jsonl", medium: "posix", compression: "none", incarnation: 0, crashedAtStep: 1 },
 *   ...{ image: new Map(), appended: [], acknowledgedThroughSeq: -1, calls: [], ledgerTools: ["pay"], reports: [], requests: [] },
 *   effects: [{ effectKey: "k", tool: "pay", callId: "c1", incarnation: 0, acceptedAtStep: 1, argsDigest: "" }],
 *   ...{ writers: [], liveness: "went-on" },
 * });
 * console.assert(violations[0]?.checker === "durable-intent");
 * ```
 */
export function createJudge({ decodeFrame }: JudgeOptions): Judge {
  const reader = logReader(decodeFrame);
  return (trace) => {
    const findings: Violation[] = [];
    const found = readCase(trace, reader, findings);
    for (const check of CHECKS) check(found);
    if (findings.length < 2) return findings;
    return findings.sort((left, right) => CHECKERS.indexOf(left.checker) - CHECKERS.indexOf(right.checker));
  };
}
