/**
 * That sizes are capped before anything is allocated, measured.
 *
 * `Deno.memoryUsage().external` counts what array buffers claim, touched or not; the resident peak counts what native code touched.
 */
import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { decompress as decompressWithFzstd } from "fzstd";
import { hasCode } from "../../src/errors.ts";
import { admitFrame } from "../../src/frame/admit.ts";
import { CONTENT_SIZE_BYTES_MAX } from "../../src/frame/walk.ts";
import { bytesOf, codecs, joined } from "./frames.ts";

const MEBIBYTE = 1024 * 1024;

const BOMBS: Readonly<Record<string, Uint8Array>> = {
  "12 bytes that declare 1 GiB": bytesOf("28b52ffd a0 00000040 010000"),
  "16 bytes that declare 2^40": bytesOf("28b52ffd e0 0000000000010000 010000"),
  "a header that declares 1 GiB and then RLE blocks": joined(bytesOf("28b52ffd a0 00000040"), rleBlocks(8192)),
  "RLE blocks of 1 GiB that declare nothing": joined(bytesOf("28b52ffd 00 58"), rleBlocks(8192)),
};

Deno.test("decompress() allocates next to nothing for a frame that claims too much (field/A15)", () => {
  for (const codec of codecs) {
    for (const [name, bomb] of Object.entries(BOMBS)) {
      const grownBytes = growthOf(() => {
        const code = codeOf(() => codec.decompress(bomb, CONTENT_SIZE_BYTES_MAX));
        assertEquals(code, "TOO_LARGE", `${codec.name}: ${name}`);
      });
      assertLess(grownBytes, 8 * MEBIBYTE, `${codec.name}: ${name}`);
    }
  }
});

Deno.test("decompress() allocates no more than the limit for a bomb whose size no header shows", () => {
  // The compressed block of zeros that the zstd command writes: 128 KiB from ten bytes.
  const compressed = bytesOf("540000 10 00 00 01 00 fbff39c002");
  const bomb = joined(bytesOf("28b52ffd 00 58"), ...Array.from({ length: 400 }, () => compressed), bytesOf("010000"));
  for (const codec of codecs) {
    const grownBytes = growthOf(() => {
      assertEquals(codeOf(() => codec.decompress(bomb, MEBIBYTE)), "TOO_LARGE", codec.name);
    });
    assertLess(grownBytes, 8 * MEBIBYTE, codec.name);
    // Nine attempts, each within the limit, whose garbage may not have been collected yet.
    const grownBySalvageBytes = growthOf(() => {
      assertEquals(codec.salvage(bomb.subarray(0, bomb.length - 1), MEBIBYTE).length, MEBIBYTE, codec.name);
    });
    assertLess(grownBySalvageBytes, 64 * MEBIBYTE, codec.name);
  }
});

Deno.test("decompress() takes a window of 128 MiB without allocating it, and refuses a larger one", () => {
  const frame = bytesOf("28b52ffd 00 88 090000 41");
  for (const codec of codecs) {
    const grownBytes = growthOf(() => assertEquals(codec.decompress(frame, 10), bytesOf("41")));
    assertLess(grownBytes, 8 * MEBIBYTE, codec.name);
    assertEquals(codeOf(() => codec.decompress(bytesOf("28b52ffd 00 89 090000 41"), 10)), "CORRUPT_FRAME");
  }
});

Deno.test("the measure sees what a decoder allocates that believes the header", () => {
  const grownBytes = growthOf(() => decompressWithFzstd(BOMBS["12 bytes that declare 1 GiB"]!));
  assertGreater(grownBytes, 900 * MEBIBYTE);
});

Deno.test("admitFrame() says which limit was passed and by how much", () => {
  const messages = [
    [bytesOf("28b52ffd a0 00000040 010000"), 1000, "it declares 1073741824 bytes, the limit is 1000"],
    [joined(bytesOf("28b52ffd 00 58"), rleBlocks(2)), 1000, "it holds at least 262144 bytes, the limit is 1000"],
    [bytesOf("28b52ffd 20 05 010000"), 1000, "it declares 5 bytes, and its blocks can not hold that"],
    [bytesOf("28b52ffd 21 07 00 010000"), 1000, "it needs the dictionary 7"],
    [bytesOf("28b52ffd 00 58 010000 ff"), 1000, "1 more bytes follow it"],
    [bytesOf("28b52ffd 00 58 0100"), 1000, "it ends too early"],
    [bytesOf("28b52ffd 00 58 0b0010 41"), 1 << 20, "it has a block of 131073 bytes, the limit is 131072"],
  ] as const;
  for (const [frame, sizeBytesMax, expected] of messages) {
    let message = "nothing was thrown";
    try {
      admitFrame(frame, sizeBytesMax);
    } catch (error) {
      message = (error as Error).message;
    }
    assertEquals(message, `Cannot decode a frame: ${expected}`);
  }
});

/** `count` RLE blocks of 128 KiB each, the last one flagged: four bytes a block. */
function rleBlocks(count: number): Uint8Array {
  const blocks = joined(...Array.from({ length: count }, () => bytesOf("020010 41")));
  blocks[blocks.length - 4]! |= 1;
  return blocks;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    for (const code of ["CORRUPT_FRAME", "TOO_LARGE"] as const) if (hasCode(error, code)) return code;
    throw error;
  }
  return "nothing was thrown";
}

/** By how many bytes array buffers and the resident peak grew while `run` ran. */
function growthOf(run: () => void): number {
  const before = { externalBytes: Deno.memoryUsage().external, peakBytes: residentPeakBytes() };
  run();
  return Math.max(Deno.memoryUsage().external - before.externalBytes, residentPeakBytes() - before.peakBytes);
}

/** The resident peak of this process; 0 where the kernel does not say, and then only array buffers are measured. */
function residentPeakBytes(): number {
  if (Deno.build.os !== "linux") return 0;
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))?.[1] ?? 0);
}
