import { assertEquals } from "@std/assert";
import { frameChecksum, xxh64 } from "../../src/frame/xxh64.ts";
import { node, utf8 } from "./frames.ts";

function hex(text: string): string {
  const { high, low } = xxh64(utf8(text));
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}

Deno.test("xxh64() gives the published values", () => {
  // Seed 0.
  assertEquals(hex(""), "ef46db3751d8e999");
  assertEquals(hex("a"), "d24ec4f1a98c6e5b");
  assertEquals(hex("abc"), "44bc2cf5ad770999");
  assertEquals(hex("Nobody inspects the spammish repetition"), "fbcea83c8a378bf1");
});

Deno.test("xxh64() agrees with the specification in plain big integers, for every length up to some stripes", () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => Math.imul(index + 1, 2_654_435_761) >>> 24);
  for (let length = 0; length <= bytes.length; length += 1) {
    const { high, low } = xxh64(bytes.subarray(length % 9, length));
    assertEquals((BigInt(high) << 32n) | BigInt(low), slowXxh64(bytes.subarray(length % 9, length)));
  }
});

Deno.test("frameChecksum() is what node:zlib writes behind a frame", () => {
  for (const sizeBytes of [0, 1, 31, 32, 33, 1000, 200_000]) {
    const content = new Uint8Array(sizeBytes).map((_, index) => (index * index) >>> 3);
    const frame = node.compress(content);
    assertEquals(
      frameChecksum(content),
      new DataView(frame.buffer, frame.byteOffset).getUint32(frame.length - 4, true),
    );
  }
});

/** The specification, word for word, with 64-bit arithmetic on big integers. */
function slowXxh64(bytes: Uint8Array): bigint {
  const [p1, p2, p3] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n];
  const [p4, p5] = [0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n];
  const wrap = (value: bigint) => BigInt.asUintN(64, value);
  const rotate = (value: bigint, bits: bigint) => wrap(value << bits) | (value >> (64n - bits));
  const round = (accumulator: bigint, lane: bigint) => wrap(rotate(wrap(accumulator + lane * p2), 31n) * p1);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash = p5;
  if (bytes.length >= 32) {
    const lanes = [wrap(p1 + p2), p2, 0n, wrap(-p1)];
    for (; at + 32 <= bytes.length; at += 32) {
      for (let lane = 0; lane < 4; lane += 1) lanes[lane] = round(lanes[lane]!, view.getBigUint64(at + 8 * lane, true));
    }
    hash = wrap([1n, 7n, 12n, 18n].reduce((sum, bits, lane) => sum + rotate(lanes[lane]!, bits), 0n));
    for (const lane of lanes) hash = wrap((hash ^ round(0n, lane)) * p1 + p4);
  }
  hash = wrap(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) {
    hash = wrap(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * p1 + p4);
  }
  if (at + 4 <= bytes.length) {
    hash = wrap(rotate(hash ^ wrap(BigInt(view.getUint32(at, true)) * p1), 23n) * p2 + p3);
    at += 4;
  }
  for (; at < bytes.length; at += 1) hash = wrap(rotate(hash ^ wrap(BigInt(bytes[at]!) * p5), 11n) * p1);
  hash = wrap((hash ^ (hash >> 33n)) * p2);
  hash = wrap((hash ^ (hash >> 29n)) * p3);
  return hash ^ (hash >> 32n);
}
