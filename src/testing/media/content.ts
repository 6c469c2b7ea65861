/**
 * Bytes that never change. Growing gives a new value over the same buffer, so a thousand versions of one file cost little.
 *
 * @module
 */

/** A buffer that several contents share. Bytes below `usedBytes` belong to somebody and are never written again. */
interface SharedBuffer {
  readonly bytes: Uint8Array<ArrayBuffer>;
  usedBytes: number;
  /** Two numbers for each {@linkcode MARK_BYTES} whose digest is known. */
  readonly marks: number[];
}

/** How far apart the offsets are at which a buffer remembers its digest. */
const MARK_BYTES = 128;

/** How much room a buffer that must grow gets at least. */
const BUFFER_BYTES_MIN = 256;

/** What a file holds at one moment. */
export class Content {
  /** No bytes. */
  static readonly EMPTY: Content = new Content({ bytes: new Uint8Array(0), usedBytes: 0, marks: [] }, 0);
  readonly sizeBytes: number;
  readonly #buffer: SharedBuffer;
  #view: Uint8Array<ArrayBuffer> | null = null;
  #digest: string | null = null;

  private constructor(buffer: SharedBuffer, sizeBytes: number) {
    this.#buffer = buffer;
    this.sizeBytes = sizeBytes;
  }

  /** A content that is a copy of `bytes`. */
  static of(bytes: Uint8Array): Content {
    if (bytes.length === 0) return Content.EMPTY;
    return new Content({ bytes: new Uint8Array(bytes), usedBytes: bytes.length, marks: [] }, bytes.length);
  }

  /** The bytes themselves, shared: whoever reads them must not change them. */
  get view(): Uint8Array<ArrayBuffer> {
    return this.#view ??= this.#buffer.bytes.subarray(0, this.sizeBytes);
  }

  /** A copy of a range, clipped. */
  slice(startBytes = 0, endBytes: number = this.sizeBytes): Uint8Array<ArrayBuffer> {
    return this.#buffer.bytes.slice(startBytes, Math.max(startBytes, Math.min(endBytes, this.sizeBytes)));
  }

  /** With `bytes` at an offset. A gap before them is zeros. */
  write(offsetBytes: number, bytes: Uint8Array): Content {
    if (bytes.length === 0) return this;
    const endBytes = offsetBytes + bytes.length;
    if (offsetBytes === this.sizeBytes && this.#buffer.usedBytes === offsetBytes) {
      if (endBytes <= this.#buffer.bytes.length) {
        this.#buffer.bytes.set(bytes, offsetBytes);
        this.#buffer.usedBytes = endBytes;
        return new Content(this.#buffer, endBytes);
      }
    }
    const sizeBytes = Math.max(this.sizeBytes, endBytes);
    const roomBytes = endBytes > this.sizeBytes ? Math.max(BUFFER_BYTES_MIN, 2 * sizeBytes) : sizeBytes;
    // What is alike in both has the same digests.
    const marks = this.#buffer.marks.slice(0, 2 * Math.floor(Math.min(offsetBytes, this.sizeBytes) / MARK_BYTES));
    const buffer = { bytes: new Uint8Array(roomBytes), usedBytes: sizeBytes, marks };
    buffer.bytes.set(this.view);
    buffer.bytes.set(bytes, offsetBytes);
    return new Content(buffer, sizeBytes);
  }

  /** With another length: cut, or filled up with zeros. */
  resize(sizeBytes: number): Content {
    if (sizeBytes === this.sizeBytes) return this;
    if (sizeBytes === 0) return Content.EMPTY;
    if (sizeBytes < this.sizeBytes) return new Content(this.#buffer, sizeBytes);
    return this.write(this.sizeBytes, new Uint8Array(sizeBytes - this.sizeBytes));
  }

  /** The bytes of one block, zeros included up to `endBytes` where the content is shorter. A view where that is possible. */
  block(startBytes: number, endBytes: number): Uint8Array<ArrayBuffer> {
    if (endBytes <= this.sizeBytes) return this.#buffer.bytes.subarray(startBytes, endBytes);
    const block = new Uint8Array(endBytes - startBytes);
    if (startBytes < this.sizeBytes) block.set(this.#buffer.bytes.subarray(startBytes, this.sizeBytes));
    return block;
  }

  /**
   * A short text that two contents share when they hold the same bytes, and else with a chance of about 2⁻⁶⁴ (two digests in
   * the manner of FNV-1a, of 32 bits each). A longer content of the same buffer takes up where a shorter one ended.
   */
  get digest(): string {
    return this.#digest ??= this.#digestNow();
  }

  #digestNow(): string {
    const { bytes, marks } = this.#buffer;
    const known = Math.min(marks.length / 2, Math.floor(this.sizeBytes / MARK_BYTES));
    let left = known === 0 ? 0x811c9dc5 : marks[2 * known - 2]!;
    let right = known === 0 ? 0x2b7e1516 : marks[2 * known - 1]!;
    for (let at = known * MARK_BYTES; at < this.sizeBytes;) {
      const endBytes = Math.min(at + MARK_BYTES, this.sizeBytes);
      for (; at < endBytes; at++) {
        left = Math.imul(left ^ bytes[at]!, 0x01000193);
        right = Math.imul(right ^ bytes[at]!, 0x5bd1e995) ^ (right >>> 15);
      }
      if (at % MARK_BYTES === 0 && marks.length === 2 * (at / MARK_BYTES - 1)) marks.push(left, right);
    }
    return `${this.sizeBytes}.${(left >>> 0).toString(36)}.${(right >>> 0).toString(36)}`;
  }
}

/** Whether two arrays hold the same bytes. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}
