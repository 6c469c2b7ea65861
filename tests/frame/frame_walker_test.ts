import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { FrameWalker } from "../../src/frame/frame_walker.ts";
import { walkFrames } from "../../src/frame/walk.ts";
import { bytesOf, joined, mixedFile } from "./frames.ts";

/** Everything a walker gives for a file that arrives in these pieces, as plain data. */
function walkInPieces(pieces: readonly Uint8Array<ArrayBuffer>[], offsetBytes = 0) {
  const walker = new FrameWalker(offsetBytes);
  const frames = pieces.flatMap((piece) =>
    walker.feed(piece).map(({ offsetBytes, bytes, span }) => ({ offsetBytes, bytes: bytes.slice(), span }))
  );
  const end = walker.end();
  return { frames, torn: end && { ...end, bytes: end.bytes.slice() }, fault: walker.fault };
}

function cutAt(file: Uint8Array<ArrayBuffer>, cuts: readonly number[]): Uint8Array<ArrayBuffer>[] {
  const borders = [0, ...cuts.map((cut) => cut % (file.length + 1)).sort((a, b) => a - b), file.length];
  return borders.slice(1).map((border, index) => file.subarray(borders[index]!, border));
}

/** Fails unless the walker found exactly what a walk over the whole file finds. */
function assertSameAsWhole(file: Uint8Array<ArrayBuffer>, pieces: readonly Uint8Array<ArrayBuffer>[]): void {
  const whole = walkFrames(file);
  const { frames, torn, fault } = walkInPieces(pieces, 1000);
  assertEquals(frames.map((frame) => frame.offsetBytes), whole.frames.map((frame) => 1000 + frame.startOffset));
  for (const [index, { startOffset, endOffset, ...rest }] of whole.frames.entries()) {
    assertEquals(frames[index]!.bytes, file.slice(startOffset, endOffset));
    assertEquals(frames[index]!.span, { ...rest, startOffset: 0, endOffset: endOffset - startOffset });
  }
  assertEquals(fault, whole.fault && { ...whole.fault, offsetBytes: 1000 + whole.fault.offsetBytes });
  assertEquals(
    torn,
    whole.torn && { offsetBytes: 1000 + whole.torn.startOffset, bytes: file.slice(whole.torn.startOffset) },
  );
}

Deno.test("FrameWalker gives the same frames byte by byte as at once", () => {
  const file = mixedFile();
  assertSameAsWhole(file, [file]);
  assertSameAsWhole(file, Array.from(file, (_, index) => file.subarray(index, index + 1)));
});

Deno.test("FrameWalker gives the same frames, torn tail and fault for any pieces of any file", () => {
  const file = mixedFile();
  const end = fc.nat(file.length);
  const damage = fc.option(fc.record({ at: fc.nat(file.length - 1), byte: fc.nat(255) }), { nil: null });
  fc.assert(
    fc.property(end, damage, fc.array(fc.nat(), { maxLength: 12 }), (end, damage, cuts) => {
      const bytes = file.slice(0, end);
      if (damage !== null && damage.at < end) bytes[damage.at] = damage.byte;
      assertSameAsWhole(bytes, cutAt(bytes, cuts));
    }),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("FrameWalker takes nothing more after a fault", () => {
  const walker = new FrameWalker();
  assertEquals(walker.feed(bytesOf("28b52ffd 08")), []);
  assertEquals(walker.fault?.offsetBytes, 0);
  assertEquals(walker.feed(mixedFile()), []);
  assertEquals(walker.end(), null);
});

Deno.test("FrameWalker holds no more than the size limit of a frame that goes on for ever", () => {
  const walker = new FrameWalker(0, 1000);
  const block = joined(bytesOf("200300"), new Uint8Array(100)); // raw, 100 bytes, not the last
  walker.feed(bytesOf("28b52ffd 00 58"));
  for (let fed = 6; walker.fault === null; fed += block.length) {
    assert(fed <= 1000, "fed more than the limit without a fault");
    assertEquals(walker.feed(block), []);
  }
  assertEquals(walker.fault.message, "a frame of more than 1000 bytes");
});

Deno.test("FrameWalker gives views that stay intact while more is fed", () => {
  const file = mixedFile();
  const walker = new FrameWalker();
  const frames = cutAt(file, [5, 300, 310, 700]).flatMap((piece) => walker.feed(piece));
  assertEquals(joined(...frames.map((frame) => frame.bytes)), file);
});
