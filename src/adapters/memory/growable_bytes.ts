/**
 * Bytes that grow at the end without copying all of them each time.
 *
 * @module
 */

/** A byte array with a length of its own. A gap between its end and a write reads as zeros, as on a disk. */
export class GrowableBytes {
  /** Everything from `#sizeBytes` on is zero. */
  #buffer: Uint8Array<ArrayBuffer>;
  #sizeBytes = 0;

  /** Starts with a copy of `bytes`. */
  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#buffer = new Uint8Array(bytes);
    this.#sizeBytes = bytes.length;
  }

  /** The length, in bytes. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Puts `bytes` at an offset, growing as needed. */
  write(offsetBytes: number, bytes: Uint8Array): void {
    const endBytes = offsetBytes + bytes.length;
    if (endBytes > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(endBytes, this.#buffer.length * 2));
      grown.set(this.#buffer);
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, offsetBytes);
    this.#sizeBytes = Math.max(this.#sizeBytes, endBytes);
  }

  /** Cuts to `sizeBytes`; a larger size changes nothing. */
  truncate(sizeBytes: number): void {
    if (sizeBytes >= this.#sizeBytes) return;
    this.#buffer.fill(0, sizeBytes, this.#sizeBytes);
    this.#sizeBytes = sizeBytes;
  }

  /** A copy of a range, clipped to the length. */
  slice(startBytes = 0, endBytes: number = this.#sizeBytes): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(startBytes, Math.max(startBytes, Math.min(endBytes, this.#sizeBytes)));
  }
}
