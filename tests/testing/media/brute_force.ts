/**
 * The contract of a file on a simulated medium, said once more and as plainly as can be: what a power cut may leave is kept as
 * sets, block by block, with no sharing and no order. Shares no code with what it checks.
 *
 * @module
 */

/** A file of which every possible remainder is known. */
export class BruteFile {
  readonly #blockBytes: number;
  /** What processes read. */
  bytes: number[] = [];
  /** By block, every content (with zeros up to its end) that may be on the device. */
  #blocks = new Map<number, Set<string>>();
  #sizes = new Set<number>([0]);
  /** Blocks that the next sync writes, and whether it writes the length. */
  #dirty = new Set<number>();
  #isResized = false;
  /** Every state the file was in since the last sync that worked, a half-done write byte by byte. */
  #inOrder = new Set<string>();

  constructor(blockBytes: number) {
    this.#blockBytes = blockBytes;
  }

  append(bytes: readonly number[]): void {
    if (bytes.length === 0) return;
    const oldSize = this.bytes.length;
    for (const byte of bytes) {
      this.bytes = [...this.bytes, byte];
      this.#inOrder.add(keyOf(this.bytes));
      if (this.bytes.length % this.#blockBytes === 0 && this.bytes.length < oldSize + bytes.length) {
        this.#sizes.add(this.bytes.length);
      }
    }
    this.#sizes.add(this.bytes.length);
    this.#isResized = true;
    const last = Math.floor((this.bytes.length - 1) / this.#blockBytes);
    for (let block = Math.floor(oldSize / this.#blockBytes); block <= last; block++) this.#touch(block);
  }

  truncate(size: number): void {
    if (size === this.bytes.length) return;
    this.bytes = this.bytes.slice(0, size);
    this.#inOrder.add(keyOf(this.bytes));
    this.#sizes.add(size);
    this.#isResized = true;
    if (size % this.#blockBytes !== 0) this.#touch(Math.floor(size / this.#blockBytes));
  }

  sync(): void {
    if (this.#dirty.size === 0 && !this.#isResized) return;
    for (const block of this.#dirty) this.#blocks.set(block, new Set([this.#blockOf(block)]));
    if (this.#isResized) {
      this.#sizes = new Set([this.bytes.length]);
      for (const block of this.#blocks.keys()) {
        if (block * this.#blockBytes >= this.bytes.length) this.#blocks.delete(block);
      }
    }
    this.#isResized = false;
    this.#dirty.clear();
    this.#inOrder.clear();
  }

  /** A sync that fails, and after which nothing waits any more. */
  drop(): void {
    this.#isResized = false;
    this.#dirty.clear();
  }

  /** Everything a power cut may leave, as hexadecimal. */
  states(): Set<string> {
    const found = new Set(this.#inOrder);
    for (const size of this.#sizes) {
      let contents = [""];
      for (let start = 0; start < size; start += this.#blockBytes) {
        const zeros = keyOf(new Array(this.#blockBytes).fill(0));
        const block = start / this.#blockBytes;
        const versions = [...(this.#blocks.get(block) ?? [zeros])].map((it) => it.slice(0, 2 * (size - start)));
        contents = contents.flatMap((head) => [...new Set(versions)].map((tail) => head + tail));
      }
      for (const content of contents) found.add(content);
    }
    return found;
  }

  #touch(block: number): void {
    const zeros = keyOf(new Array(this.#blockBytes).fill(0));
    const versions = this.#blocks.get(block) ?? new Set([zeros]);
    versions.add(this.#blockOf(block));
    this.#blocks.set(block, versions);
    this.#dirty.add(block);
  }

  #blockOf(block: number): string {
    const start = block * this.#blockBytes;
    return keyOf(Array.from({ length: this.#blockBytes }, (_, index) => this.bytes[start + index] ?? 0));
  }
}

/** Bytes as hexadecimal. */
export function keyOf(bytes: Iterable<number>): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
