/**
 * Chooses the table in which the codes of one kind are written.
 *
 * @see RFC 8878 §3.1.1.3.2.1
 * @module
 */
import { BitWriter } from "./bit_writer.ts";
import { buildFseEncoder, costBits, type FseEncoder, normalizeCounts, writeFseCounts } from "./fse_encoder.ts";
import type { SequenceKind } from "./sequence_codes.ts";

/** A table for fewer codes than this is never worth its description. */
const DESCRIBED_CODES_MIN = 12;

/** How the codes of one kind are written in a block. */
export interface ChosenTable {
  /** What the block says about it: 0 predefined, 1 one repeated code, 2 described. */
  readonly mode: 0 | 1 | 2;
  readonly encoder: FseEncoder;
  /** Just behind what was written. */
  readonly endOffset: number;
}

/** Writes the cheapest table for the codes: one repeated code, the predefined one, or one that is described here. */
export function chooseTable(kind: SequenceKind, codes: Uint8Array, target: Uint8Array, at: number): ChosenTable {
  const occurrences = new Uint32Array(kind.codeMax + 1);
  for (const code of codes) occurrences[code]! += 1;
  if (occurrences[codes[0]!] === codes.length && codes.length > 2) {
    target[at] = codes[0]!;
    return { mode: 1, encoder: buildFseEncoder(constantCounts(codes[0]!), 0), endOffset: at + 1 };
  }
  const predefined = predefinedEncoder(kind);
  if (codes.length < DESCRIBED_CODES_MIN) return { mode: 0, encoder: predefined, endOffset: at };
  const predefinedBits = costBits(occurrences, kind.predefinedCounts, kind.predefinedAccuracyLog);
  const distinct = occurrences.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);
  if (distinct < 2) return { mode: 0, encoder: predefined, endOffset: at };
  const wanted = Math.max(30 - Math.clz32(codes.length), 33 - Math.clz32(distinct));
  const accuracyLog = Math.min(kind.accuracyLogMax, Math.max(5, wanted));
  const counts = normalizeCounts(occurrences, accuracyLog);
  const writer = new BitWriter(target, at);
  writeFseCounts(writer, counts, accuracyLog);
  const endOffset = writer.end();
  if (8 * (endOffset - at) + costBits(occurrences, counts, accuracyLog) >= predefinedBits) {
    return { mode: 0, encoder: predefined, endOffset: at };
  }
  return { mode: 2, encoder: buildFseEncoder(counts, accuracyLog), endOffset };
}

function constantCounts(code: number): number[] {
  return [...Array<number>(code).fill(0), 1];
}

const predefinedEncoders = new Map<SequenceKind, FseEncoder>();

function predefinedEncoder(kind: SequenceKind): FseEncoder {
  let encoder = predefinedEncoders.get(kind);
  if (encoder === undefined) {
    encoder = buildFseEncoder(kind.predefinedCounts, kind.predefinedAccuracyLog);
    predefinedEncoders.set(kind, encoder);
  }
  return encoder;
}
