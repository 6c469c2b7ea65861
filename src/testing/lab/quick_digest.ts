/**
 * SHA-256 in the place where it is asked for, instead of in the runtime's thread pool.
 *
 * How fast a pool is decides which of two calls goes on first, so that a seed would not always give the same run. The result
 * is the same, so that nothing else in the process can tell.
 *
 * @module
 */

/**
 * Runs `act` while `crypto.subtle.digest` computes SHA-256 at once. Other algorithms go their usual way. May be nested.
 *
 * @example
 * ```ts
 * import { withQuickDigests } from "./quick_digest.ts";
 *
 * const digest = await withQuickDigests(() => crypto.subtle.digest("SHA-256", new Uint8Array(0)));
 * if (new Uint8Array(digest)[0] !== 0xe3) throw new Error("unreachable");
 * ```
 */
export async function withQuickDigests<Result>(act: () => Promise<Result>): Promise<Result> {
  const { subtle } = crypto;
  if (depth++ === 0) {
    const slow = subtle.digest;
    const digest = (algorithm: AlgorithmIdentifier, data: BufferSource): Promise<ArrayBuffer> => {
      const name = typeof algorithm === "string" ? algorithm : algorithm.name;
      return name === "SHA-256" ? Promise.resolve(sha256(bytesOf(data))) : slow.call(subtle, algorithm, data);
    };
    Object.defineProperty(subtle, "digest", { value: digest, configurable: true, writable: true });
  }
  try {
    return await act();
  } finally {
    // What is left is the method of the prototype.
    if (--depth === 0) Reflect.deleteProperty(subtle, "digest");
  }
}

/** How many callers are inside. */
let depth = 0;

function bytesOf(data: BufferSource): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data as ArrayBuffer);
}

const BLOCK_BYTES = 64;
const ROUNDS: Int32Array = roundConstants();
const schedule = new Int32Array(64);

/**
 * SHA-256 of some bytes.
 *
 * @see FIPS 180-4 §6.2
 *
 * @example
 * ```ts
 * import { sha256 } from "./quick_digest.ts";
 *
 * if (new Uint8Array(sha256(new TextEncoder().encode("abc")))[0] !== 0xba) throw new Error("unreachable");
 * ```
 */
export function sha256(bytes: Uint8Array): ArrayBuffer {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 0x2000_0000));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const hash = Int32Array.from(INITIAL);
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) compress(hash, view, offset);
  const result = new DataView(new ArrayBuffer(32));
  hash.forEach((word, index) => result.setInt32(index * 4, word));
  return result.buffer;
}

const INITIAL: readonly number[] = [
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19,
];

function compress(hash: Int32Array, view: DataView, offset: number): void {
  for (let index = 0; index < 16; index++) schedule[index] = view.getInt32(offset + index * 4);
  for (let index = 16; index < 64; index++) {
    const early = schedule[index - 15]!;
    const late = schedule[index - 2]!;
    const s0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const s1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[index] = schedule[index - 16]! + s0 + schedule[index - 7]! + s1;
  }
  let [a, b, c, d, e, f, g, h] = hash as unknown as Octet;
  for (let index = 0; index < 64; index++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[index]! + schedule[index]!) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => hash[index]! += word);
}

type Octet = [number, number, number, number, number, number, number, number];

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
function roundConstants(): Int32Array {
  const constants = new Int32Array(64);
  let count = 0;
  for (let candidate = 2; count < 64; candidate++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) isPrime &&= candidate % divisor !== 0;
    if (isPrime) constants[count++] = Math.floor((Math.cbrt(candidate) % 1) * 0x1_0000_0000) | 0;
  }
  return constants;
}
