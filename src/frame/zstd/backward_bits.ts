/**
 * Bit streams that are read from their end to their start.
 *
 * A position is a bit count from the start of the stream: how many bits are still to be read. It falls, and below 0 the
 * stream has been overread; such reads give zeros, and the reader checks the position.
 *
 * @see RFC 8878 §4.1 "FSE" and §4.2.2
 * @module
 */
import { CorruptFrameError } from "../../errors.ts";

/** How many bits a stream holds: all but its last 1 bit and the zeros above it. */
export function streamBits(bytes: Uint8Array, start: number, end: number): number {
  const last = end > start ? bytes[end - 1]! : 0;
  if (last === 0) throw new CorruptFrameError("Cannot decode a frame: a bit stream has no end mark");
  return 8 * (end - start - 1) + 31 - Math.clz32(last);
}

/**
 * The `count` bits just below position `bit`.
 *
 * @param start where the stream begins
 * @param count at most 24
 */
export function bitsBelow(view: DataView, start: number, bit: number, count: number): number {
  // Four bytes hold at least 24 bits below the position. Two shifts, because one by 32 would be one by 0.
  if (bit >= 24) return ((view.getInt32(start + (bit >> 3) - 3, true) << (8 - (bit & 7))) >>> 1) >>> (31 - count);
  let word = 0;
  for (let at = 0; at < bit; at += 8) word |= view.getUint8(start + (at >> 3)) << at;
  const low = bit - count;
  return (low >= 0 ? word >> low : word << -low) & ((1 << count) - 1) & (bit > 0 ? -1 : 0);
}
