/**
 * Seqs as ranges, and remarks about seqs that say the same once.
 *
 * @module
 */

/** How many different remarks are kept. */
export const REMARKS_MAX = 1000;

/** A range of seqs, both ends included. */
export type SeqRange = readonly [first: number, last: number];

/** Seqs, nearly in rising order. */
export class SeqRanges {
  readonly #ranges: [number, number][] = [];

  /** Adds a range; one that continues the last becomes a part of it. */
  add(first: number, last: number): void {
    const previous = this.#ranges.at(-1);
    if (previous !== undefined && previous[1] + 1 === first) previous[1] = last;
    else this.#ranges.push([first, last]);
  }

  /** The ranges, neighbours joined. */
  get all(): readonly SeqRange[] {
    const joined: [number, number][] = [];
    for (const [first, last] of [...this.#ranges].sort((left, right) => left[0] - right[0])) {
      const previous = joined.at(-1);
      if (previous !== undefined && previous[1] + 1 === first) previous[1] = last;
      else joined.push([first, last]);
    }
    return joined;
  }
}

/** Remarks, each once, with the seqs it is about. */
export class Remarks {
  readonly #about = new Map<string, SeqRanges>();
  readonly #plain: string[] = [];
  #omitted = 0;

  /** A remark about one event. */
  about(seq: number, remark: string): void {
    const ranges = this.#about.get(remark) ?? new SeqRanges();
    if (!this.#about.has(remark)) {
      if (this.#about.size >= REMARKS_MAX) {
        this.#omitted += 1;
        return;
      }
      this.#about.set(remark, ranges);
    }
    ranges.add(seq, seq);
  }

  /** A remark that says itself what it is about. */
  say(remark: string): void {
    if (this.#plain.length < REMARKS_MAX) this.#plain.push(remark);
    else this.#omitted += 1;
  }

  /** All of them, as sentences. */
  get all(): readonly string[] {
    const about = [...this.#about].map(([remark, { all }]) => `seq ${all.map(rangeText).join(", ")}: ${remark}`);
    const more = this.#omitted === 0 ? [] : [`${this.#omitted} more remarks were left out`];
    return [...about, ...this.#plain, ...more];
  }
}

/** A range for a person. */
export function rangeText([first, last]: SeqRange): string {
  return first === last ? String(first) : `${first} to ${last}`;
}
