/**
 * Where to begin reading for a given event: two numbers for a place in the file every so often.
 *
 * @module
 */
import { SEEK_ENTRIES_MAX } from "./limits.ts";

/** A place where a reader can start: a frame (raw: a line) that begins with a whole row. */
export interface SeekEntry {
  readonly offsetBytes: number;
  /** seq of the first event at or behind the place. */
  readonly seq: number;
}

/** A whole index, as it can be written down. Both lists are ascending and have the same length. */
export interface SeekPlaces {
  /** Places nearer to each other than this are left out. */
  readonly strideBytes: number;
  readonly offsets: readonly number[];
  readonly seqs: readonly number[];
}

/** Places nearer than this to the last one are left out at first, in bytes. */
const STRIDE_BYTES_MIN = 4096;

/**
 * The index of one log. Bounded: at SEEK_ENTRIES_MAX every other place is forgotten, and the stride doubles.
 *
 * @example
 * ```ts
 * import { SeekIndex } from "./seek_index.ts";
 *
 * const index = new SeekIndex();
 * index.add(100, 0);
 * index.add(9000, 40);
 * if (index.find(41)?.offsetBytes !== 9000 || index.find(39)?.offsetBytes !== 100) throw new Error("unreachable");
 * ```
 */
export class SeekIndex {
  readonly #entriesMax: number;
  /** Ascending, like `#seqs`, which has the same length. */
  #offsets: number[] = [];
  #seqs: number[] = [];
  #strideBytes = STRIDE_BYTES_MIN;

  constructor(entriesMax: number = SEEK_ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  /** Remembers a place, unless it is too near to the last one. Call it in file order. */
  add(offsetBytes: number, seq: number): void {
    const last = this.#offsets.at(-1);
    if (last !== undefined && offsetBytes - last < this.#strideBytes) return;
    this.#offsets.push(offsetBytes);
    this.#seqs.push(seq);
    if (this.#offsets.length <= this.#entriesMax) return;
    this.#offsets = this.#offsets.filter((_, index) => index % 2 === 0);
    this.#seqs = this.#seqs.filter((_, index) => index % 2 === 0);
    this.#strideBytes *= 2;
  }

  /** The last known place that is not behind the event; `null` when the log has no events. */
  find(seq: number): SeekEntry | null {
    let low = 0;
    let high = this.#seqs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#seqs[middle]! <= seq) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? null : { offsetBytes: this.#offsets[low - 1]!, seq: this.#seqs[low - 1]! };
  }

  /** What {@linkcode SeekIndex.restore} makes an index from. */
  places(): SeekPlaces {
    return { strideBytes: this.#strideBytes, offsets: [...this.#offsets], seqs: [...this.#seqs] };
  }

  /** Takes over the places of another index of the same log, instead of its own. */
  restore({ strideBytes, offsets, seqs }: SeekPlaces): void {
    this.#strideBytes = strideBytes;
    this.#offsets = [...offsets];
    this.#seqs = [...seqs];
  }

  /** How many places are remembered. */
  get length(): number {
    return this.#offsets.length;
  }
}
