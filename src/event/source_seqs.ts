/**
 * `sourceEventSeqs` as it is written: runs of three or more become `[first, last]` pairs.
 *
 * @see session-format §3.2
 * @module
 */
import { CorruptLogError } from "../errors.ts";
import { isCount, show } from "./checks.ts";

/** How many seqs one event may name: what a row from the disk may make us allocate. */
export const SOURCE_SEQS_MAX = 1 << 22;

/** One element on disk: a seq, or an inclusive pair. */
export type PhysicalSeq = number | readonly [first: number, last: number];

/**
 * Compresses a list of seqs for the disk. A list that does not rise strictly is written as it is.
 *
 * @example
 * ```ts
 * import { encodeSourceEventSeqs } from "./source_seqs.ts";
 *
 * const text = JSON.stringify(encodeSourceEventSeqs([1, 2, 4, 5, 6, 9]));
 * if (text !== "[1,2,[4,6],9]") throw new Error(text);
 * ```
 */
export function encodeSourceEventSeqs(seqs: readonly number[]): readonly PhysicalSeq[] {
  if (!risesStrictly(seqs)) return seqs;
  const physical: PhysicalSeq[] = [];
  let start = 0;
  for (let index = 1; index <= seqs.length; index++) {
    const last = seqs[index - 1] as number;
    if (index < seqs.length && seqs[index] === last + 1) continue;
    const first = seqs[start] as number;
    if (index - start >= 3) {
      physical.push([first, last]);
    } else {
      for (let seq = first; seq <= last; seq++) physical.push(seq);
    }
    start = index;
  }
  return physical;
}

/**
 * Expands what the disk holds, checking it as a stranger's: counts, distinct, each below the event's own seq; strictly rising
 * when a pair occurs. The result is never longer than `ownSeq` or {@linkcode SOURCE_SEQS_MAX}, so a small row cannot ask for
 * an array without end.
 *
 * @param ownSeq the seq of the event that holds the list
 * @throws {CorruptLogError} when the list breaks one of these rules
 *
 * @example
 * ```ts
 * import { decodeSourceEventSeqs } from "./source_seqs.ts";
 *
 * const seqs = decodeSourceEventSeqs([1, [4, 6]], 7);
 * if (seqs.join() !== "1,4,5,6") throw new Error(seqs.join());
 * ```
 */
export function decodeSourceEventSeqs(value: unknown, ownSeq: number): readonly number[] {
  const seqs = expand(value, ownSeq);
  if (typeof seqs === "string") {
    throw new CorruptLogError(`Cannot read sourceEventSeqs of event ${ownSeq}: found ${seqs}`, { seq: ownSeq });
  }
  return seqs;
}

/** {@linkcode decodeSourceEventSeqs} without the exception: the list, or what is wrong with it. */
export function expand(value: unknown, ownSeq: number): readonly number[] | string {
  if (!Array.isArray(value)) return `${show(value)}, expected a list`;
  if (value.length === 0) return "an empty list";
  const seqs: number[] = [];
  let hasPair = false;
  let isRising = true;
  let previous = -1;
  const countMax = Math.min(ownSeq, SOURCE_SEQS_MAX);
  for (const element of value) {
    let first = element;
    let last = element;
    if (Array.isArray(element)) {
      hasPair = true;
      if (element.length !== 2) return `a range of ${element.length} numbers`;
      [first, last] = element;
    }
    if (!isCount(first) || !isCount(last)) return `${show(isCount(first) ? last : first)}, expected a seq`;
    if (first > last) return `a range that runs from ${first} down to ${last}`;
    if (last >= ownSeq) return `seq ${last}, which is not before the event itself`;
    if (seqs.length + (last - first + 1) > countMax) return `more than ${countMax} seqs`;
    if (first <= previous) isRising = false;
    previous = last;
    for (let seq = first; seq <= last; seq++) seqs.push(seq);
  }
  if (isRising) return seqs;
  if (hasPair) return "ranges in a list that does not rise strictly";
  return new Set(seqs).size === seqs.length ? seqs : "the same seq twice";
}

function risesStrictly(seqs: readonly number[]): boolean {
  for (let index = 1; index < seqs.length; index++) {
    if ((seqs[index] as number) <= (seqs[index - 1] as number)) return false;
  }
  return true;
}
