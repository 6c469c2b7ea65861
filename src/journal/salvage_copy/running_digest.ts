/**
 * SHA-256 of bytes that come piece by piece: the platform's digest wants all of them at once.
 *
 * @see FIPS 180-4 §6.2
 * @module
 */

/**
 * A digest in progress.
 *
 * @example
 * ```ts
 * import { RunningDigest } from "./running_digest.ts";
 *
 * const digest = new RunningDigest();
 * digest.update(new TextEncoder().encode("ab"));
 * digest.update(new TextEncoder().encode("c"));
 * if (!digest.hex().startsWith("ba7816bf")) throw new Error("unreachable");
 * ```
 */
export class RunningDigest {
  readonly #state = Int32Array.from(INITIAL);
  readonly #schedule = new Int32Array(64);
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #blockBytes = 0;
  #sizeBytes = 0;

  /** Takes the next bytes. They may be reused afterwards. */
  update(bytes: Uint8Array): void {
    this.#sizeBytes += bytes.length;
    let at = 0;
    if (this.#blockBytes > 0) {
      at = Math.min(BLOCK_BYTES - this.#blockBytes, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#blockBytes);
      this.#blockBytes += at;
      if (this.#blockBytes < BLOCK_BYTES) return;
      this.#add(this.#block, 0);
      this.#blockBytes = 0;
    }
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) this.#add(bytes, at);
    this.#block.set(bytes.subarray(at));
    this.#blockBytes = bytes.length - at;
  }

  /** The digest as 64 lower-case hex digits. Once; the object is spent then. */
  hex(): string {
    const sizeBytes = this.#sizeBytes;
    const paddingBytes = (this.#blockBytes < 56 ? 56 : 120) - this.#blockBytes;
    const padding = new Uint8Array(paddingBytes + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(paddingBytes, Math.floor(sizeBytes / 2 ** 29));
    view.setUint32(paddingBytes + 4, (sizeBytes * 8) % 2 ** 32);
    this.update(padding);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #add(bytes: Uint8Array, offset: number): void {
    const words = this.#schedule;
    for (let at = 0, from = offset; at < 16; at++, from += 4) {
      words[at] = (bytes[from]! << 24) | (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
    }
    for (let at = 16; at < 64; at++) {
      const early = words[at - 15]!;
      const late = words[at - 2]!;
      const first = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const second = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      words[at] = (words[at - 16]! + first + words[at - 7]! + second) | 0;
    }
    const state = this.#state;
    let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
    let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
    for (let at = 0; at < 64; at++) {
      const one = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const left = (h + one + ((e & f) ^ (~e & g)) + ROUND[at]! + words[at]!) | 0;
      const two = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const right = (two + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + left) | 0;
      d = c;
      c = b;
      b = a;
      a = (left + right) | 0;
    }
    const sums = [a, b, c, d, e, f, g, h];
    for (let at = 0; at < 8; at++) state[at] = state[at]! + sums[at]!;
  }
}

const BLOCK_BYTES = 64;

const PRIMES: readonly number[] = (() => {
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
})();

/** The first 32 bits of the fractional parts of roots of the first primes. */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  return Int32Array.from(PRIMES.slice(0, count), (prime) => Math.floor((root(prime) % 1) * 2 ** 32) | 0);
}

const INITIAL = fractions(8, Math.sqrt);
const ROUND = fractions(64, Math.cbrt);
