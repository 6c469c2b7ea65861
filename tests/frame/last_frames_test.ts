import { assertEquals, assertGreater } from "@std/assert";
import fc from "fast-check";
import { lastFrames, TAIL_CANDIDATES_MAX } from "../../src/frame/last_frames.ts";
import { bytesOf, codecs, joined, node, portable, rows, storedFrame, utf8 } from "./frames.ts";
import { judge } from "./independent_walk.ts";

const FRAMES = [0, 5, 10, 15, 20].map((seq, index) => (index % 2 === 0 ? node : portable).compress(utf8(rows(seq, 5))));
const FILE = joined(...FRAMES);

/** Offsets of the chain that is found in the bytes from `from` to `end`. */
function chainOffsets(file: Uint8Array, from: number, end = file.length): number[] {
  return lastFrames(file.subarray(from, end), from, portable).map((frame) => frame.offsetBytes);
}

Deno.test("lastFrames() finds every whole frame of the tail, wherever the tail begins, with either codec", () => {
  const starts = judge(FILE).frames.map((frame) => frame.start);
  for (const codec of codecs) {
    for (let from = 0; from <= FILE.length; from += 1) {
      const chain = lastFrames(FILE.subarray(from), from, codec);
      assertEquals(chain.map((frame) => frame.offsetBytes), starts.filter((start) => start >= from));
      for (const { offsetBytes, endOffset, content } of chain) {
        assertEquals(content, portable.decompress(FILE.subarray(offsetBytes, endOffset), 65536));
      }
    }
  }
});

Deno.test("lastFrames() finds nothing in a file that is torn anywhere but between frames", () => {
  const ends = judge(FILE).frames.map((frame) => frame.end);
  for (let end = 1; end <= FILE.length; end += 1) {
    assertEquals(chainOffsets(FILE, 0, end).length, ends.indexOf(end) + 1, `cut at ${end}`);
  }
});

Deno.test("lastFrames() stops at a frame that does not decode, whatever bit was flipped in it", () => {
  // A stored frame: in a compressed one there are bits that change nothing.
  const [first, second, third] = [FRAMES[0]!, storedFrame(utf8(rows(5, 5))), FRAMES[2]!];
  for (let bit = 0; bit < 8 * second.length; bit += 1) {
    const flipped = second.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    const chain = chainOffsets(joined(first, flipped, third), 0);
    assertEquals(chain.filter((offset) => offset < first.length + second.length), [], `bit ${bit}`);
  }
});

Deno.test("lastFrames() stops at a frame without a checksum", () => {
  const unchecked = bytesOf("28b52ffd 20 03 190000 7b7d0a");
  assertEquals(chainOffsets(joined(FRAMES[0]!, unchecked), 0), []);
  assertEquals(chainOffsets(joined(FRAMES[0]!, unchecked, FRAMES[1]!), 0), [FRAMES[0]!.length + unchecked.length]);
});

Deno.test("lastFrames() does not take stored content that reaches the end of the file for a frame", () => {
  // A frame without a checksum whose raw block covers the rest of the content and the real checksum behind it.
  const fake = bytesOf("28b52ffd 00 58");
  const restBytes = 20;
  const content = joined(
    utf8("x".repeat(50)),
    fake,
    bytesOf(number24((restBytes + 4) << 3 | 1)),
    utf8("y".repeat(restBytes)),
  );
  const file = joined(FRAMES[0]!, storedFrame(content));
  const fakeStart = file.length - 4 - restBytes - 3 - fake.length;
  assertEquals(judge(file.subarray(fakeStart)).frames.map((frame) => frame.end), [file.length - fakeStart]);
  assertEquals(chainOffsets(file, 0), [0, FRAMES[0]!.length]);
  assertEquals(chainOffsets(file, 1), [FRAMES[0]!.length]);
  assertEquals(chainOffsets(file, fakeStart - 10), []);
});

Deno.test("lastFrames() does not take a whole frame inside a torn one for the last frame", () => {
  const inner = node.compress(utf8(rows(0, 3)));
  const outer = storedFrame(joined(utf8("x"), inner, utf8("and more\n")));
  const end = FRAMES[0]!.length + outer.length - 4 - "and more\n".length;
  const file = joined(FRAMES[0]!, outer);
  assertEquals(judge(file.subarray(end - inner.length, end)).frames.length, 1);
  assertEquals(chainOffsets(file, 0, end), []);
});

Deno.test("lastFrames() never gives a frame that is not one, for files whose content is full of frames", () => {
  const seed = [
    ...FRAMES,
    bytesOf("28b52ffd"),
    bytesOf("28b52ffd 04 58"),
    bytesOf("28b52ffd 20 05"),
    bytesOf("010000"),
  ];
  const plain = fc.array(fc.oneof(fc.constantFrom(...seed), fc.uint8Array({ maxLength: 9 })), { maxLength: 5 });
  const depth = fc.integer({ min: 1, max: 3 });
  const hostile = fc.tuple(plain, depth, fc.boolean()).map(([parts, depth, isStored]) => {
    let bytes = joined(...parts);
    for (let level = 0; level < depth; level += 1) bytes = isStored ? storedFrame(bytes) : node.compress(bytes);
    return bytes;
  });
  let found = 0;
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 1, maxLength: 5 }), fc.nat(), fc.nat(), (frames, from, cut) => {
      const file = joined(...frames);
      const real = judge(file).frames;
      const end = cut % 3 === 0 ? file.length : cut % (file.length + 1);
      // A torn frame is seen from its start: what began before the tail can not be told apart, and the library says so.
      const torn = real.find((frame) => frame.start < end && end < frame.end);
      const tailOffset = from % ((torn?.start ?? end) + 1);
      const chain = lastFrames(file.subarray(tailOffset, end), tailOffset, portable);
      for (const [index, { offsetBytes, endOffset, content }] of chain.entries()) {
        assertGreater(real.filter((frame) => frame.start === offsetBytes && frame.end === endOffset).length, 0);
        assertEquals(endOffset, chain[index + 1]?.offsetBytes ?? end);
        assertEquals(content, node.decompress(file.slice(offsetBytes, endOffset), 1 << 20));
      }
      found += chain.length;
    }),
    { seed: 1, numRuns: 5000 },
  );
  assertGreater(found, 1000);
});

Deno.test("lastFrames() finds nothing in a tail with more that looks like frames than the limit", () => {
  const magic = bytesOf("28b52ffd");
  const noise = joined(...Array.from({ length: TAIL_CANDIDATES_MAX }, () => magic));
  assertEquals(chainOffsets(joined(noise.subarray(4), FRAMES[0]!), 0), [noise.length - 4]);
  assertEquals(chainOffsets(joined(noise, FRAMES[0]!), 0), []);
});

Deno.test("lastFrames() stops decoding at its budget and keeps what it has", () => {
  // Each frame is a few bytes and holds 3 MiB; the limit is 4 MiB.
  const large = node.compress(new Uint8Array(3 * 1024 * 1024));
  assertEquals(chainOffsets(joined(large, large), 0), [large.length]);
});

/** Three little-endian bytes as hex. */
function number24(value: number): string {
  return [0, 8, 16].map((shift) => ((value >> shift) & 0xff).toString(16).padStart(2, "0")).join("");
}
