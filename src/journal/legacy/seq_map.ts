/**
 * Where the events of a log stand after a renumbering.
 *
 * @module
 */

/**
 * Old seqs to new ones. Both rise; an old seq that was never added has gone.
 *
 * Holds three numbers for each run of neighbours that stayed neighbours: for a log of answers, a few dozen bytes per answer.
 */
export class SeqMap {
  readonly #oldStarts: number[] = [];
  readonly #newStarts: number[] = [];
  readonly #lengths: number[] = [];

  /** Takes note of one event. Both seqs must be above the last ones. */
  add(oldSeq: number, newSeq: number): void {
    const last = this.#lengths.length - 1;
    if (last >= 0) {
      const length = this.#lengths[last]!;
      if (oldSeq === this.#oldStarts[last]! + length && newSeq === this.#newStarts[last]! + length) {
        this.#lengths[last] = length + 1;
        return;
      }
    }
    this.#oldStarts.push(oldSeq);
    this.#newStarts.push(newSeq);
    this.#lengths.push(1);
  }

  /** The new seq, or `null` when no event of that seq was added. */
  get(oldSeq: number): number | null {
    let low = 0;
    let high = this.#oldStarts.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const start = this.#oldStarts[middle]!;
      if (oldSeq < start) high = middle - 1;
      else if (oldSeq >= start + this.#lengths[middle]!) low = middle + 1;
      else return this.#newStarts[middle]! + (oldSeq - start);
    }
    return null;
  }
}
