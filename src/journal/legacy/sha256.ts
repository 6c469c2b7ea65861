/**
 * SHA-256 of a short text, at once: the ids a migration makes are needed before the next row, and the platform's digest is a
 * promise.
 *
 * @see FIPS 180-4 §6.2
 * @module
 */

/** SHA-256 of the UTF-8 of a text: 64 lower-case hex digits. */
export function sha256OfText(text: string): string {
  const words = paddedWords(new TextEncoder().encode(text));
  const hash = new Uint32Array(INITIAL);
  const schedule = new Uint32Array(64);
  for (let block = 0; block < words.length; block += 16) addBlock(hash, schedule, words.subarray(block, block + 16));
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

function addBlock(hash: Uint32Array, schedule: Uint32Array, block: Uint32Array): void {
  schedule.set(block);
  for (let at = 16; at < 64; at++) {
    const early = schedule[at - 15]!;
    const late = schedule[at - 2]!;
    const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    schedule[at] = schedule[at - 16]! + first + schedule[at - 7]! + second;
  }
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
  for (let at = 0; at < 64; at++) {
    const choice = (e & f) ^ (~e & g);
    const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + ROUND[at]! + schedule[at]!) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  const sums = [a, b, c, d, e, f, g, h];
  for (let at = 0; at < 8; at++) hash[at] = hash[at]! + sums[at]!;
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** The message, a 1 bit, zeros, and its length in bits, as big-endian words: whole blocks of 16. */
function paddedWords(bytes: Uint8Array): Uint32Array {
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const padded = new DataView(new ArrayBuffer(blocks * 64));
  bytes.forEach((byte, at) => padded.setUint8(at, byte));
  padded.setUint8(bytes.length, 0x80);
  padded.setBigUint64(blocks * 64 - 8, BigInt(bytes.length) * 8n);
  return Uint32Array.from({ length: blocks * 16 }, (_, at) => padded.getUint32(at * 4));
}

/** The first 32 bits of the fractional parts of a root of each of the first primes, computed exactly. */
function rootBits(count: number, power: 2n | 3n): Uint32Array {
  const primes: bigint[] = [];
  for (let next = 2n; primes.length < count; next++) {
    if (primes.every((prime) => next % prime !== 0n)) primes.push(next);
  }
  return Uint32Array.from(primes, (prime) => Number(rootFloor(prime << (32n * power), power) & 0xffffffffn));
}

/** The greatest integer whose power is at most the value. */
function rootFloor(value: bigint, power: 2n | 3n): bigint {
  let low = 0n;
  let high = 1n << 48n;
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (middle ** power <= value) low = middle;
    else high = middle - 1n;
  }
  return low;
}

const INITIAL: Uint32Array = rootBits(8, 2n);
const ROUND: Uint32Array = rootBits(64, 3n);
