import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import fc from "fast-check";
import { decompress as decompressWithFzstd } from "fzstd";
import { WINDOW_SIZE_BYTES } from "../../src/frame/zstd/encode_frame.ts";
import { walkFrame } from "../../src/frame/walk.ts";
import { codecs, joined, node, portable, rows, utf8 } from "./frames.ts";
import { judge } from "./independent_walk.ts";
import { TEXTS } from "./texts.ts";

/** Compresses, and has two other decoders read it. */
function roundTrip(plain: Uint8Array, what: string): Uint8Array<ArrayBuffer> {
  const frame = portable.compress(plain);
  assertEquals(node.decompress(frame, plain.length), plain, `node:zlib: ${what}`);
  assertEquals(decompressWithFzstd(frame), plain, `fzstd: ${what}`);
  assertEquals(portable.decompress(frame, plain.length), plain, `ourselves: ${what}`);
  return frame;
}

Deno.test("portable compress() makes frames that other decoders read, of every kind of text and size", () => {
  for (const [kind, make] of Object.entries(TEXTS)) {
    for (let sizeBytes = 0; sizeBytes <= 300; sizeBytes += 1) {
      roundTrip(make(sizeBytes, sizeBytes), `${sizeBytes} ${kind}`);
    }
    // Around the borders of literals formats, streams and blocks.
    for (const sizeBytes of [1023, 1024, 4095, 4096, 16_383, 16_384, 131_071, 131_072, 131_073, 300_000]) {
      roundTrip(make(sizeBytes, sizeBytes), `${sizeBytes} ${kind}`);
    }
  }
});

Deno.test("portable compress() makes frames that other decoders read, whatever the kinds are mixed to", () => {
  const kind = fc.constantFrom(...Object.values(TEXTS));
  const part = fc.tuple(kind, fc.nat({ max: 40_000 }), fc.nat({ max: 200 })).map(([make, size, seed]) =>
    make(size, seed)
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      roundTrip(joined(...parts), "a mix");
    }),
    { seed: 1, numRuns: 150 },
  );
});

Deno.test("portable compress() is as good as zstd's first level with JSON lines, within a tenth", () => {
  for (const count of [1, 6, 30, 100, 1000, 10_000]) {
    const plain = utf8(rows(0, count));
    assertLess(portable.compress(plain).length, 1.1 * node.compress(plain).length, `${count} rows`);
  }
});

Deno.test("portable compress() stores what does not get smaller, and adds a few bytes at most", () => {
  for (const sizeBytes of [0, 1, 40, 255, 256, 131_072, 131_073, 400_000]) {
    const frame = portable.compress(TEXTS["noise"]!(sizeBytes, 1));
    const { blockTypes } = judge(frame).frames[0]!;
    assertEquals(blockTypes, Array(Math.max(1, Math.ceil(sizeBytes / 131_072))).fill("raw"));
    assert(frame.length <= sizeBytes + 14 + 3 * blockTypes.length);
  }
});

Deno.test("portable compress() makes the same frame whatever was compressed before", () => {
  const plain = utf8(rows(0, 200));
  const frame = portable.compress(plain);
  for (const make of Object.values(TEXTS)) {
    portable.compress(make(50_000, 3));
    assertEquals(portable.compress(plain), frame);
  }
});

Deno.test("portable compress() asks a reader for no window over 8 MiB, and copies from no farther", () => {
  // Twice the same noise: the second half is a copy of the first, from farther than the window or not.
  for (const [halfSizeBytes, isCopied] of [[WINDOW_SIZE_BYTES, true], [WINDOW_SIZE_BYTES + 4096, false]] as const) {
    const half = TEXTS["noise"]!(halfSizeBytes, 5);
    const frame = portable.compress(joined(half, half));
    const walk = walkFrame(frame, 0);
    assert(walk.kind === "frame");
    assertEquals([walk.windowSizeBytes, walk.contentSizeBytes], [WINDOW_SIZE_BYTES, 2 * halfSizeBytes]);
    assertEquals(node.decompress(frame, 2 * halfSizeBytes), joined(half, half));
    if (isCopied) assertLess(frame.length, 1.1 * halfSizeBytes);
    else assertGreater(frame.length, 1.9 * halfSizeBytes);
  }
});

Deno.test("salvage() of both codecs gives the whole blocks of a frame of ours, cut at and around every border", () => {
  const plain = utf8(rows(0, 4500));
  const frame = portable.compress(plain);
  const borders = blockBorders(frame);
  assertEquals(borders.length, Math.ceil(plain.length / 131_072));
  assertGreater(borders.length, 3);
  for (const [index, border] of borders.entries()) {
    for (const end of [border - 1, border, border + 1, border + 3]) {
      if (end >= frame.length) continue;
      const wholeBlocks = end < border ? index : index + 1;
      const expected = plain.slice(0, 131_072 * wholeBlocks);
      for (const codec of codecs) {
        assertEquals(codec.salvage(frame.subarray(0, end), plain.length), expected, codec.name);
      }
    }
  }
});

/** Where each block of a frame with content size and without window descriptor ends. */
function blockBorders(frame: Uint8Array): number[] {
  const borders: number[] = [];
  for (let at = 9, isLast = false; !isLast;) {
    const word = frame[at]! | (frame[at + 1]! << 8) | (frame[at + 2]! << 16);
    isLast = (word & 1) === 1;
    at += 3 + (word >>> 3);
    borders.push(at);
  }
  return borders;
}
