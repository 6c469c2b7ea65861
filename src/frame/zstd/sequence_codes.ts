/**
 * The codes in which a block writes how much to copy and from where, with their predefined distributions.
 *
 * @see RFC 8878 §3.1.1.3.2.1 for the codes, §3.1.1.3.2.2 for the distributions
 * @module
 */
import { buildFseTable, type FseTable } from "./fse.ts";

/** One of the three things a sequence consists of, with the limits and the distribution the format gives it. */
export interface SequenceKind {
  readonly name: string;
  readonly accuracyLogMax: number;
  readonly codeMax: number;
  readonly predefinedCounts: readonly number[];
  readonly predefinedAccuracyLog: number;
  readonly predefined: FseTable;
}

/** The first value of each literals-length code, to which the bits behind it are added. */
export const LITERALS_LENGTH_BASES: Uint32Array = new Uint32Array(36);
/** How many bits follow each literals-length code. */
export const LITERALS_LENGTH_BITS: Uint8Array = Uint8Array.of(
  ...Array(16).fill(0),
  ...[1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
);

/** The first value of each match-length code. */
export const MATCH_LENGTH_BASES: Uint32Array = new Uint32Array(53);
/** How many bits follow each match-length code. */
export const MATCH_LENGTH_BITS: Uint8Array = Uint8Array.of(
  ...Array(32).fill(0),
  ...[1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
);

/** The shortest match. */
export const MATCH_LENGTH_MIN = 3;

fillBases(LITERALS_LENGTH_BASES, LITERALS_LENGTH_BITS, 0);
fillBases(MATCH_LENGTH_BASES, MATCH_LENGTH_BITS, MATCH_LENGTH_MIN);

function fillBases(bases: Uint32Array, bits: Uint8Array, first: number): void {
  let next = first;
  for (let code = 0; code < bases.length; code += 1) {
    bases[code] = next;
    next += 1 << bits[code]!;
  }
}

/** How many literals come before a match. */
export const LITERALS_LENGTH: SequenceKind = kind("literals length", 9, 35, 6, [
  ...[4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1],
  ...[-1, -1, -1, -1],
]);

/** From where a match copies: the code says how many bits follow. */
export const OFFSET: SequenceKind = kind("offset", 8, 31, 5, [
  ...[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  ...[-1, -1, -1, -1, -1],
]);

/** How long a match is. */
export const MATCH_LENGTH: SequenceKind = kind("match length", 9, 52, 6, [
  ...[1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  ...[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1],
]);

function kind(
  name: string,
  accuracyLogMax: number,
  codeMax: number,
  predefinedAccuracyLog: number,
  predefinedCounts: readonly number[],
): SequenceKind {
  const predefined = buildFseTable(predefinedCounts, predefinedAccuracyLog);
  return { name, accuracyLogMax, codeMax, predefinedCounts, predefinedAccuracyLog, predefined };
}
