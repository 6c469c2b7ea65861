import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { FRAME_SIZE_BYTES_MAX, walkFrame, walkFrames } from "../../src/frame/walk.ts";
import { bytesOf, codecs, handMadeFrame, joined, mixedFile, node, portable, rows, utf8 } from "./frames.ts";
import { judge } from "./independent_walk.ts";

/** Fails unless our walk and the independent one agree about these bytes. */
function assertJudgedAlike(bytes: Uint8Array): void {
  const walk = walkFrames(bytes);
  const judgement = judge(bytes);
  assertEquals(
    walk.frames.map(({ startOffset, endOffset, hasChecksum, contentSizeBytes, blocks }) => ({
      startOffset,
      endOffset,
      hasChecksum,
      // The walk says that it rounds what is beyond 2^53; nobody allocates that.
      contentSizeBytes: contentSizeBytes && Math.min(contentSizeBytes, 2 ** 53),
      blocks,
    })),
    judgement.frames.map(({ start, end, hasChecksum, contentSize, blockTypes }) => ({
      startOffset: start,
      endOffset: end,
      hasChecksum,
      contentSizeBytes: contentSize === null ? null : Math.min(Number(contentSize), 2 ** 53),
      blocks: blockTypes.length,
    })),
  );
  assertEquals(walk.torn?.startOffset ?? null, judgement.tornStart);
  assertEquals(walk.fault?.offsetBytes ?? null, judgement.corruptAt);
}

Deno.test("walkFrames() finds every frame of a file of many kinds", () => {
  const { frames, torn, fault } = walkFrames(mixedFile());
  assertEquals([frames.length, torn, fault], [7, null, null]);
  assertEquals(frames.map((frame) => frame.contentSizeBytes === null), [
    false,
    false,
    true,
    false,
    false,
    false,
    false,
  ]);
  assertEquals(frames.map((frame) => frame.hasChecksum), [true, true, true, false, true, true, true]);
  assertJudgedAlike(mixedFile());
});

Deno.test("walkFrames() calls a file cut at any byte torn, at the start of the frame that was cut", () => {
  const file = mixedFile();
  const ends = new Set([0, ...walkFrames(file).frames.map((frame) => frame.endOffset)]);
  for (let end = 0; end <= file.length; end += 1) {
    const { frames, torn, fault } = walkFrames(file.subarray(0, end));
    const whole = [...ends].filter((frameEnd) => frameEnd <= end);
    assertEquals(frames.length, whole.length - 1);
    assertEquals(torn?.startOffset ?? null, ends.has(end) ? null : Math.max(...whole));
    assertEquals(fault, null);
    assertJudgedAlike(file.subarray(0, end));
  }
});

Deno.test("walkFrames() counts the whole blocks of a frame of many, cut at any of its borders", () => {
  for (const codec of codecs) {
    const frame = codec.compress(utf8(rows(0, 4000)));
    const blocks = judge(frame).frames[0]!.blockTypes.length;
    assert(blocks >= 3, "too few blocks to say anything");
    const torn = walkFrames(frame.subarray(0, frame.length - 4)).torn!;
    assertEquals([torn.wholeBlocks, torn.wholeBlocksEndOffset], [blocks, frame.length - 4]);
    const before = walkFrames(frame.subarray(0, frame.length - 5)).torn!;
    assertEquals(before.wholeBlocks, blocks - 1);
    assert(before.wholeBlocksEndOffset < frame.length - 5);
    assertEquals(walkFrames(frame.subarray(0, before.wholeBlocksEndOffset)).torn!.wholeBlocks, blocks - 1);
    assertEquals(walkFrames(frame.subarray(0, before.wholeBlocksEndOffset - 1)).torn!.wholeBlocks, blocks - 2);
  }
});

Deno.test("walkFrame() calls fewer than four bytes torn, whatever they are", () => {
  for (const bytes of ["", "00", "0000", "000000", "ffffff", "28", "28b52f"]) {
    assertEquals(walkFrame(bytesOf(bytes), 0), {
      kind: "torn",
      startOffset: 0,
      header: null,
      wholeBlocks: 0,
      wholeBlocksEndOffset: 0,
      contentSizeBytesMost: 0,
    });
  }
});

Deno.test("walkFrame() calls wrong magic, reserved bits and reserved blocks corrupt as soon as they are there", () => {
  const cases: [string, string][] = [
    ["00000000", "no zstd frame"],
    ["502a4d18 04000000 ffffffff", "no zstd frame"],
    ["28b52ffc", "no zstd frame"],
    ["28b52ffd 08", "a reserved bit in the frame header"],
    ["28b52ffd 10", "a reserved bit in the frame header"],
    ["28b52ffd 00 58 060000", "a block of the reserved type"],
    ["28b52ffd 00 58 080000 41 ffffff", "a block of the reserved type"],
  ];
  for (const [bytes, message] of cases) {
    const file = joined(handMadeFrame(), bytesOf(bytes));
    assertEquals(walkFrames(file).fault, { kind: "corrupt", offsetBytes: handMadeFrame().length, message });
    assertJudgedAlike(file);
  }
});

Deno.test("walkFrame() reads every width of content size and dictionary id", () => {
  const block = "190000 7b7d0a";
  const cases: [string, number | null, number, number][] = [
    ["20 03", 3, 0, 3],
    ["60 0300", 259, 0, 259],
    ["a0 03000000", 3, 0, 3],
    ["e0 0000000000010000", 2 ** 40, 0, 2 ** 40],
    ["00 58", null, 0, 2 * 1024 * 1024],
    ["40 59 ffff", 65791, 0, 2.25 * 1024 * 1024],
    ["21 07 03", 3, 7, 3],
    ["22 0701 03", 3, 0x107, 3],
    ["23 07010203 03", 3, 0x3020107, 3],
    ["03 ff 07010203", null, 0x3020107, 2 ** 41 * 1.875],
  ];
  for (const [header, contentSizeBytes, dictionaryId, windowSizeBytes] of cases) {
    const frame = bytesOf(`28b52ffd ${header} ${block}`);
    const walk = walkFrame(frame, 0);
    assert(walk.kind === "frame", header);
    assertEquals([walk.contentSizeBytes, walk.dictionaryId, walk.windowSizeBytes], [
      contentSizeBytes,
      dictionaryId,
      windowSizeBytes,
    ]);
    assertEquals(walk.endOffset, frame.length);
    assertJudgedAlike(frame);
  }
});

Deno.test("walkFrame() bounds the content by the blocks, not by what the header claims", () => {
  const walk = walkFrame(bytesOf("28b52ffd a0 00000040 180000 414243 020800 20 050000"), 0);
  assert(walk.kind === "frame");
  assertEquals([walk.contentSizeBytesLeast, walk.contentSizeBytesMost], [259, 259 + 128 * 1024]);
  assertEquals([walk.largestBlockSizeBytes, walk.smallestCompressedSizeBytes], [256, 0]);
});

Deno.test("walkFrame() refuses a frame beyond the size limit as soon as a block header says so", () => {
  const frame = bytesOf("28b52ffd 00 58 080000 41 180000 414243");
  assertEquals(walkFrame(frame, 0, 15), { kind: "corrupt", offsetBytes: 0, message: "a frame of more than 15 bytes" });
  assertEquals(walkFrame(frame.subarray(0, 13), 0, 15).kind, "corrupt");
  assertEquals(walkFrame(frame, 0, 16).kind, "torn");
  assert(FRAME_SIZE_BYTES_MAX > 256 * 1024 * 1024);
});

Deno.test("walkFrames() agrees with the independent walk about any bytes behind a magic number", () => {
  const piece = fc.oneof(
    fc.constant(bytesOf("28b52ffd")),
    fc.constantFrom(...[handMadeFrame(), portable.compress(utf8("{}\n")), node.compress(utf8(rows(0, 2)))]),
    fc.uint8Array({ maxLength: 12 }),
    fc.constantFrom("000000", "010000", "020000", "030000", "180000", "fbff39").map(bytesOf),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => assertJudgedAlike(joined(...pieces))),
    { seed: 1, numRuns: 5000 },
  );
});

Deno.test("walkFrames() agrees with the independent walk about every single-bit flip of a file", () => {
  const file = mixedFile().subarray(0, 400);
  for (let bit = 0; bit < 8 * file.length; bit += 1) {
    const flipped = file.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    assertJudgedAlike(flipped);
  }
});
