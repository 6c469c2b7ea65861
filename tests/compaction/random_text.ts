/**
 * Random UTF-16: halves of characters, pairs, marks that combine, families of emoji, and plain text between them.
 *
 * @module
 */
import type { SeededRandom } from "../support/seeded_random.ts";

const PIECES: readonly ((random: SeededRandom) => string)[] = [
  (random) => String.fromCharCode(0xd800 + random.below(0x400)),
  (random) => String.fromCharCode(0xdc00 + random.below(0x400)),
  (random) => String.fromCodePoint(0x10000 + random.below(0x100000)),
  (random) => "e" + "\u0301\u0328\u0345".slice(0, 1 + random.below(3)),
  () => "👩\u200d👩\u200d👧\u200d👦",
  () => "👍🏽",
  () => "🏳️\u200d🌈",
  (random) => "漢字仮名交じり文"[random.below(8)]!,
  (random) => "\\u{}\"'\n\r\t\0\u2028\u2029\ufeff\ufffd\uffff"[random.below(15)]!,
  (random) => "plain text ".repeat(1 + random.below(4)),
];

/** A text of about so many pieces. */
export function randomText(random: SeededRandom, pieces: number): string {
  let text = "";
  for (let n = 0; n < pieces; n++) text += random.pick(PIECES)(random);
  return text;
}
