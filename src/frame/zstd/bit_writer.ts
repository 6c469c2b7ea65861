/**
 * Writes bits, the lowest first. Streams that a reader takes from their end are written back to front.
 *
 * @module
 */

/** A place in an array of bytes, and the bits that do not make a byte yet. */
export class BitWriter {
  readonly #bytes: Uint8Array;
  #at: number;
  /** The bits below `#bits`, always fewer than eight between calls. */
  #word = 0;
  #bits = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Adds the low `count` bits, at most 24. */
  add(value: number, count: number): void {
    let word = this.#word | ((value & ((1 << count) - 1)) << this.#bits);
    let bits = this.#bits + count;
    while (bits >= 8) {
      this.#bytes[this.#at++] = word;
      word >>>= 8;
      bits -= 8;
    }
    this.#word = word;
    this.#bits = bits;
  }

  /** Fills the last byte with zeros. Returns where the written bytes end. */
  end(): number {
    if (this.#bits > 0) this.#bytes[this.#at++] = this.#word;
    this.#word = 0;
    this.#bits = 0;
    return this.#at;
  }

  /** Ends a stream that is read from its end: a 1 bit shows where it begins. */
  endWithMark(): number {
    this.add(1, 1);
    return this.end();
  }
}
