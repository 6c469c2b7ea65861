/**
 * Texts of many kinds for the tests of codecs, the same for the same seed.
 *
 * @module
 */
import { seededRandom } from "../support/seeded_random.ts";
import { rows, utf8 } from "./frames.ts";

/** Kind of text → a maker of it. */
export const TEXTS: Readonly<Record<string, (sizeBytes: number, seed: number) => Uint8Array<ArrayBuffer>>> = {
  "JSON lines": (sizeBytes, seed) => cut(utf8(rows(seed, 1 + sizeBytes / 90)), sizeBytes),
  "JSON lines of other scripts": (sizeBytes, seed) => {
    const { pick } = seededRandom(seed);
    const words = ["Prüfung", "проверка", "確認する", "δοκιμή", "🙂", "plain"];
    const line = () => JSON.stringify({ text: Array.from({ length: 8 }, () => pick(words)).join(" ") }) + "\n";
    return cut(utf8(Array.from({ length: 1 + sizeBytes / 60 }, line).join("")), sizeBytes);
  },
  "noise": (sizeBytes, seed) => filled(sizeBytes, seed, ({ below }) => below(256)),
  "skewed noise": (sizeBytes, seed) => filled(sizeBytes, seed, ({ below }) => below(1 + below(1 + below(200)))),
  // Each symbol is half as frequent as the one above it: a code without a limit would be 20 bits long.
  "halving counts": (sizeBytes, seed) => filled(sizeBytes, seed, ({ below }) => 31 - Math.clz32(1 + below(1 << 20))),
  "few symbols": (sizeBytes, seed) => filled(sizeBytes, seed, ({ below }) => below(1 + below(3))),
  "one byte": (sizeBytes, seed) => new Uint8Array(sizeBytes).fill(seed),
  "runs": (sizeBytes, seed) => {
    const { below } = seededRandom(seed);
    const bytes = new Uint8Array(sizeBytes);
    for (let at = 0; at < sizeBytes;) {
      const end = at + 1 + below(600);
      bytes.fill(below(256), at, end);
      at = end;
    }
    return bytes;
  },
  "copies at a few distances": (sizeBytes, seed) => {
    const { below, pick } = seededRandom(seed);
    const bytes = new Uint8Array(sizeBytes);
    for (let at = 0; at < sizeBytes;) {
      const distance = pick([1, 2, 3, 4, 8, 317, 634, 70_000]);
      const end = at + below(40);
      if (distance <= at) { for (; at < end && at < sizeBytes; at += 1) bytes[at] = bytes[at - distance]!; }
      for (let left = below(4); left > 0 && at < sizeBytes; left -= 1) bytes[at++] = below(256);
    }
    return bytes;
  },
};

function filled(sizeBytes: number, seed: number, next: (random: ReturnType<typeof seededRandom>) => number) {
  const random = seededRandom(seed);
  return new Uint8Array(sizeBytes).map(() => next(random));
}

function cut(bytes: Uint8Array<ArrayBuffer>, sizeBytes: number): Uint8Array<ArrayBuffer> {
  return bytes.slice(0, sizeBytes);
}
