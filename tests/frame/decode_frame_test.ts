/**
 * Our own decoder against `node:zlib`: what it reads, what it refuses, and what hostile frames cost.
 */
import { assert, assertEquals, assertGreater, assertLess, assertThrows } from "@std/assert";
import { hasCode } from "../../src/errors.ts";
import { admitFrame } from "../../src/frame/admit.ts";
import { decodeFrame } from "../../src/frame/zstd/decode_frame.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import type { ZstdCodec } from "../../src/frame/zstd_codec.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { bytesOf, frameOfBlocks, node, portable, rows, utf8 } from "./frames.ts";
import { TEXTS } from "./texts.ts";

Deno.test("decodeFrame() reads what node:zlib writes, at every level, of every kind of text and size", () => {
  for (let level = 1; level <= 22; level += 1) {
    const writer = nodeZstd({ level });
    for (const [kind, make] of Object.entries(TEXTS)) {
      // High levels take a second for large texts.
      for (const sizeBytes of [0, 1, 7, 64, 300, 1000, 5000, level < 13 ? 200_000 : 20_000]) {
        const plain = make(sizeBytes, level);
        assertEquals(decode(writer.compress(plain), sizeBytes), plain, `level ${level}, ${sizeBytes} ${kind}`);
      }
    }
  }
});

Deno.test("decodeFrame() never gives other content than node:zlib, whatever is changed in a frame without checksum", () => {
  const { below, pick } = seededRandom(7);
  const kinds = Object.values(TEXTS);
  const verdicts = { same: 0, bothRefuse: 0, onlyWeRefuse: 0 };
  for (let round = 0; round < 400; round += 1) {
    const plain = pick(kinds)(pick([10, 80, 400, 1500, 6000]), round);
    const frame = withoutChecksum(pick([node, portable, nodeZstd({ level: 19 })]).compress(plain));
    for (let change = 0; change < 25; change += 1) {
      const changed = frame.slice();
      for (let left = 1 + below(3); left > 0; left -= 1) {
        const at = 5 + below(frame.length - 5);
        changed[at]! ^= pick([1, 2, 4, 8, 16, 32, 64, 128, 255, below(256)]);
      }
      const ours = tryDecode(portable, changed);
      const theirs = tryDecode(node, changed);
      if (ours !== null) assertEquals(ours, theirs, `round ${round}, change ${change}`);
      if (ours !== null) verdicts.same += 1;
      else if (theirs === null) verdicts.bothRefuse += 1;
      else verdicts.onlyWeRefuse += 1;
    }
  }
  // node:zlib reads some streams that do not end where they must; that is the only place where the two differ.
  assertGreater(verdicts.same, 1000);
  assertGreater(verdicts.bothRefuse, 1000);
  assertLess(verdicts.onlyWeRefuse, 1000);
});

Deno.test("decodeFrame() reads a block written by hand from the format's text", () => {
  // Two literals, one sequence: all of them, then three bytes from two back; tables of one code each.
  const block = bytesOf("10 6162 01 54 02 02 00 05");
  assertEquals(decode(frameOfBlocks([{ type: 2, bytes: block }]), 5), utf8("ababa"));
});

/** What each frame breaks, in a frame that is admitted. Sequences: count, modes, codes, stream. */
const REFUSED: Readonly<Record<string, string>> = {
  "literals that need a code of a block before": "23 00 00 00 00",
  "literals that are longer than their block": "d0 6162",
  "literals of more bytes than a block can hold": "fd ffff 00",
  "no sequence count": "10 6162",
  "no sequence and more bytes": "10 6162 00 00",
  "a count without modes": "10 6162 01",
  "a reserved bit in the modes": "10 6162 01 55 02 02 00 05",
  "a table of a block before, and there is none": "10 6162 01 fc 05",
  "a literals-length code that does not exist": "10 6162 01 54 24 02 00 05",
  "an offset code that does not exist": "10 6162 01 54 02 20 00 05",
  "a match-length code that does not exist": "10 6162 01 54 02 02 35 05",
  "more literals than there are": "10 6162 01 54 03 02 00 05",
  "an offset before the start": "10 6162 01 54 02 02 00 06",
  "a stream without an end mark": "10 6162 01 54 02 02 00 00",
  "a stream with bits left over": "10 6162 01 54 02 02 00 0d",
  "a stream that is too short": "10 6162 02 54 00 02 00 05",
  "no stream": "10 6162 01 54 02 02 00",
  "an offset of nothing": "10 6162 01 54 00 01 00 03",
};

for (const [what, block] of Object.entries(REFUSED)) {
  Deno.test(`decodeFrame() refuses ${what}`, () => {
    const frame = frameOfBlocks([{ type: 2, bytes: bytesOf(block) }]);
    assert(hasCode(assertThrows(() => decode(frame, 1 << 20)), "CORRUPT_FRAME"));
    assertEquals(tryDecode(node, frame), null);
  });
}

/** The most steps for each byte of a frame and of what it may hold: a Huffman table of 2,048 cells takes 10 bytes to say. */
const STEPS_PER_BYTE_MAX = 256;

/** Matches of 34 bytes from four bytes before and one byte before in turn, in no bits at all: 98,047 of them in 8 bytes. */
const GREEDY_BLOCK = bytesOf("00 ff ffff 54 00 00 1f 01");

Deno.test("decodeFrame() does no more work than bytes allow, whatever a block claims", () => {
  const hostile: Record<string, Uint8Array> = {
    "sequences that claim more than a block holds": greedyFrame(2000),
    "empty blocks": repeated(new Uint8Array(0), 20_000, 0),
    "compressed blocks that hold nothing": repeated(bytesOf("00 00"), 20_000),
    "literals of 128 KiB in five bytes": repeated(bytesOf("0d 0020 41 00"), 2000),
    "large tables in small blocks": tablesFrame(),
  };
  const sizeBytesMax = 1 << 20;
  for (const [what, frame] of Object.entries(hostile)) {
    const work = { steps: 0 };
    let refusal: unknown = null;
    try {
      decodeFrame(frame, admitFrame(frame, sizeBytesMax), sizeBytesMax, work);
    } catch (error) {
      refusal = error;
    }
    assert(refusal === null || hasCode(refusal, "CORRUPT_FRAME") || hasCode(refusal, "TOO_LARGE"), what);
    if (what.startsWith("large tables")) assertEquals(refusal, null);
    assertLess(work.steps, STEPS_PER_BYTE_MAX * (frame.length + sizeBytesMax), what);
  }
});

Deno.test("decodeFrame() stops at the first sequence that goes beyond its block", () => {
  const frame = greedyFrame(2000);
  const work = { steps: 0 };
  assert(hasCode(assertThrows(() => decodeFrame(frame, admitFrame(frame, 1 << 28), 1 << 28, work)), "CORRUPT_FRAME"));
  assertGreater(work.steps, 131_000);
  assertLess(work.steps, 140_000);
});

/** Text to copy from, then blocks that claim 3.3 MB each. */
function greedyFrame(count: number): Uint8Array<ArrayBuffer> {
  const greedy = Array.from({ length: count }, () => ({ type: 2 as const, bytes: GREEDY_BLOCK }));
  return frameOfBlocks([{ type: 0, bytes: utf8("text") }, ...greedy]);
}

/** Blocks of one literal each, in the largest code: weights 1, 1, 2, 3 … 10, and 11 for the symbol that is used. */
function tablesFrame(): Uint8Array<ArrayBuffer> {
  return repeated(bytesOf("12 0002 8a 1123456789a0 03 00"), 2000);
}

function repeated(block: Uint8Array, count: number, type: 0 | 2 = 2): Uint8Array<ArrayBuffer> {
  return frameOfBlocks(Array.from({ length: count }, () => ({ type, bytes: block })));
}

function decode(frame: Uint8Array, sizeBytesMax: number): Uint8Array {
  return decodeFrame(frame, admitFrame(frame, sizeBytesMax), sizeBytesMax);
}

function tryDecode(codec: ZstdCodec, frame: Uint8Array): Uint8Array | null {
  try {
    return codec.decompress(frame, 1 << 20);
  } catch (error) {
    assert(hasCode(error, "CORRUPT_FRAME") || hasCode(error, "TOO_LARGE"), String(error));
    return null;
  }
}

function withoutChecksum(frame: Uint8Array): Uint8Array {
  const unchecked = frame.slice(0, -4);
  unchecked[4]! &= ~4;
  return unchecked;
}

Deno.test("decodeFrame() reads a frame whose blocks share tables", () => {
  const plain = utf8(rows(0, 4000));
  assertEquals(decode(nodeZstd({ level: 3 }).compress(plain), plain.length), plain);
});
