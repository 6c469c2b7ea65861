/**
 * How much of a write is taken when it is torn.
 *
 * @module
 */

/**
 * At least one byte, at most all.
 *
 * @param part up to 1 a part of the bytes; a negative number holds back that many
 */
export function firstPart(length: number, part: number): number {
  return Math.min(length, Math.max(1, part < 0 ? length + part : Math.floor(length * part)));
}
