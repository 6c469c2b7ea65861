/**
 * The part of a long output that is kept: its beginning and its end.
 *
 * @module
 */

/** How much of each stream is kept in memory. */
export const KEPT_BYTES = 64 * 1024;

/** What is known about one stream when its command has ended. */
export interface KeptOutput {
  /** What was kept, as text; where something is left out, a line says how much. */
  readonly text: string;
  /** How much there was. */
  readonly sizeBytes: number;
  /** Whether something is left out. */
  readonly isCut: boolean;
}

/**
 * Keeps the first and the last half of KEPT_BYTES of what it is given.
 *
 * @example
 * ```ts
 * import { OutputKeeper } from "./kept_output.ts";
 *
 * const keeper = new OutputKeeper();
 * keeper.add(new TextEncoder().encode("hello"));
 * if (keeper.end().text !== "hello") throw new Error("unreachable");
 * ```
 */
export class OutputKeeper {
  readonly #head = new Uint8Array(KEPT_BYTES / 2);
  /** A ring: the byte at `#tailBytes % length` is the oldest once it is full. */
  readonly #tail = new Uint8Array(KEPT_BYTES / 2);
  #headBytes = 0;
  #tailBytes = 0;

  /** Takes the next bytes. */
  add(bytes: Uint8Array): void {
    const toHead = Math.min(bytes.length, this.#head.length - this.#headBytes);
    this.#head.set(bytes.subarray(0, toHead), this.#headBytes);
    this.#headBytes += toHead;
    const rest = bytes.subarray(toHead);
    const last = rest.subarray(Math.max(0, rest.length - this.#tail.length));
    this.#tailBytes += rest.length - last.length;
    for (const byte of last) this.#tail[this.#tailBytes++ % this.#tail.length] = byte;
  }

  /** What was kept. */
  end(): KeptOutput {
    const sizeBytes = this.#headBytes + this.#tailBytes;
    const leftOutBytes = Math.max(0, this.#tailBytes - this.#tail.length);
    const at = leftOutBytes === 0 ? 0 : this.#tailBytes % this.#tail.length;
    const tail = leftOutBytes === 0
      ? this.#tail.subarray(0, this.#tailBytes)
      : new Uint8Array([...this.#tail.subarray(at), ...this.#tail.subarray(0, at)]);
    const head = this.#head.subarray(0, this.#headBytes);
    if (leftOutBytes > 0) {
      const text = `${decode(head)}\n[${leftOutBytes} bytes left out]\n${decode(tail)}`;
      return { text, sizeBytes, isCut: true };
    }
    return { text: decode(new Uint8Array([...head, ...tail])), sizeBytes, isCut: false };
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
