/**
 * Writes compressed blocks: Huffman-coded literals, then sequences.
 *
 * @see RFC 8878 §3.1.1.3
 * @module
 */
import { BitWriter } from "./bit_writer.ts";
import { writeLiterals } from "./encode_literals.ts";
import { type FseEncoder, lastState, previousState } from "./fse_encoder.ts";
import { type Matches, MatchFinder } from "./match_finder.ts";
import {
  LITERALS_LENGTH,
  LITERALS_LENGTH_BASES,
  LITERALS_LENGTH_BITS,
  MATCH_LENGTH,
  MATCH_LENGTH_BASES,
  MATCH_LENGTH_BITS,
  MATCH_LENGTH_MIN,
  OFFSET,
} from "./sequence_codes.ts";
import { chooseTable } from "./sequence_tables.ts";
import { BLOCK_SIZE_BYTES_MAX } from "../walk.ts";

const MATCHES_MAX = BLOCK_SIZE_BYTES_MAX / 4;

/** Room for the worst block: a match takes at most 11 bytes and stands for at least four; then literals and tables. */
const SCRATCH_SIZE_BYTES = 4 * BLOCK_SIZE_BYTES_MAX + 4096;

/** Compresses the blocks of one text after the other. Its room is kept, so one encoder serves one caller at a time. */
export class BlockEncoder {
  readonly #finder = new MatchFinder();
  readonly #literals = new Uint8Array(BLOCK_SIZE_BYTES_MAX);
  readonly #scratch = new Uint8Array(SCRATCH_SIZE_BYTES);
  readonly #literalsCodes = new Uint8Array(MATCHES_MAX);
  readonly #matchCodes = new Uint8Array(MATCHES_MAX);
  readonly #offsetCodes = new Uint8Array(MATCHES_MAX);
  readonly #offsetValues = new Uint32Array(MATCHES_MAX);
  readonly #matches: Matches = {
    literals: new Uint32Array(MATCHES_MAX),
    lengths: new Uint32Array(MATCHES_MAX),
    offsets: new Uint32Array(MATCHES_MAX),
    count: 0,
  };
  #text: Uint8Array = new Uint8Array(0);
  #windowSizeBytes = 0;
  /** The offsets a reader remembers behind the last block, newest first. */
  #recent: readonly [number, number, number] = FIRST_RECENT;

  /** Takes the text whose blocks come next. */
  begin(text: Uint8Array, windowSizeBytes: number): void {
    this.#finder.begin(text);
    this.#text = text;
    this.#windowSizeBytes = windowSizeBytes;
    this.#recent = FIRST_RECENT;
  }

  /** Lets go of the text. */
  end(): void {
    this.#finder.end();
    this.#text = new Uint8Array(0);
  }

  /**
   * The compressed block of `[start, end)`, without its header. A view that the next call overwrites.
   *
   * @returns `null` when the bytes themselves are no longer
   */
  encode(start: number, end: number): Uint8Array | null {
    this.#finder.find(start, end, this.#windowSizeBytes, this.#recent[0], this.#matches);
    const literals = this.#gatherLiterals(start, end);
    const at = writeLiterals(literals, this.#scratch);
    if (at >= end - start) return null;
    const recent = this.#nameOffsets();
    const size = this.#writeSequences(at);
    if (size >= end - start) return null;
    this.#recent = recent;
    return this.#scratch.subarray(0, size);
  }

  #gatherLiterals(start: number, end: number): Uint8Array {
    const { literals, lengths, count } = this.#matches;
    const target = this.#literals;
    let from = start;
    let to = 0;
    for (let index = 0; index < count; index += 1) {
      const length = literals[index]!;
      if (length > LONG_COPY_BYTES) target.set(this.#text.subarray(from, from + length), to);
      else for (let byte = 0; byte < length; byte += 1) target[to + byte] = this.#text[from + byte]!;
      to += length;
      from += length + lengths[index]!;
    }
    target.set(this.#text.subarray(from, end), to);
    return target.subarray(0, to + end - from);
  }

  /** Writes each offset as its distance or as one of the last three (RFC 8878 §3.1.1.5). Returns the last three behind it. */
  #nameOffsets(): readonly [number, number, number] {
    const { literals, offsets, count } = this.#matches;
    let [first, second, third] = this.#recent;
    for (let index = 0; index < count; index += 1) {
      const offset = offsets[index]!;
      // Without literals the newest is not among the choices, but the byte before it is.
      const shift = literals[index] === 0 ? 1 : 0;
      let value = offset + 3;
      if (offset === first && shift === 0) value = 1;
      else if (offset === second) value = 2 - shift;
      else if (offset === third) value = 3 - shift;
      else if (offset === first - 1 && shift === 1) value = 3;
      this.#offsetValues[index] = value;
      if (value + shift === 1) continue;
      if (value + shift !== 2) third = second;
      second = first;
      first = offset;
    }
    return [first, second, third];
  }

  #writeSequences(at: number): number {
    const { literals, lengths, count } = this.#matches;
    const scratch = this.#scratch;
    if (count < 128) {
      scratch[at++] = count;
    } else if (count < 0x7f00) {
      scratch[at++] = (count >> 8) + 128;
      scratch[at++] = count & 0xff;
    } else {
      scratch[at++] = 255;
      scratch[at++] = (count - 0x7f00) & 0xff;
      scratch[at++] = (count - 0x7f00) >> 8;
    }
    if (count === 0) return at;
    for (let index = 0; index < count; index += 1) {
      this.#literalsCodes[index] = codeOf(LITERALS_LENGTH_CODES, literals[index]!, 19);
      this.#matchCodes[index] = codeOf(MATCH_LENGTH_CODES, lengths[index]! - MATCH_LENGTH_MIN, 36);
      this.#offsetCodes[index] = 31 - Math.clz32(this.#offsetValues[index]!);
    }
    const modesAt = at++;
    const literalsTable = chooseTable(LITERALS_LENGTH, this.#literalsCodes.subarray(0, count), scratch, at);
    const offsetTable = chooseTable(OFFSET, this.#offsetCodes.subarray(0, count), scratch, literalsTable.endOffset);
    const matchTable = chooseTable(MATCH_LENGTH, this.#matchCodes.subarray(0, count), scratch, offsetTable.endOffset);
    scratch[modesAt] = (literalsTable.mode << 6) | (offsetTable.mode << 4) | (matchTable.mode << 2);
    return this.#writeStream(literalsTable.encoder, offsetTable.encoder, matchTable.encoder, matchTable.endOffset);
  }

  /** The reader begins with the last bit, so the last sequence is written first. */
  #writeStream(literalsTable: FseEncoder, offsetTable: FseEncoder, matchTable: FseEncoder, at: number): number {
    const { literals, lengths, count } = this.#matches;
    const writer = new BitWriter(this.#scratch, at);
    let [literalsState, offsetState, matchState] = [0, 0, 0];
    for (let index = count - 1; index >= 0; index -= 1) {
      const [literalsCode, offsetCode, matchCode] = [
        this.#literalsCodes[index]!,
        this.#offsetCodes[index]!,
        this.#matchCodes[index]!,
      ];
      if (index === count - 1) {
        literalsState = lastState(literalsTable, literalsCode);
        offsetState = lastState(offsetTable, offsetCode);
        matchState = lastState(matchTable, matchCode);
      } else {
        offsetState = previousState(offsetTable, writer, offsetState, offsetCode);
        matchState = previousState(matchTable, writer, matchState, matchCode);
        literalsState = previousState(literalsTable, writer, literalsState, literalsCode);
      }
      writer.add(literals[index]! - LITERALS_LENGTH_BASES[literalsCode]!, LITERALS_LENGTH_BITS[literalsCode]!);
      writer.add(lengths[index]! - MATCH_LENGTH_BASES[matchCode]!, MATCH_LENGTH_BITS[matchCode]!);
      writer.add(this.#offsetValues[index]!, offsetCode); // Without its highest bit.
    }
    writer.add(matchState, matchTable.accuracyLog);
    writer.add(offsetState, offsetTable.accuracyLog);
    writer.add(literalsState, literalsTable.accuracyLog);
    return writer.endWithMark();
  }
}

const FIRST_RECENT = [1, 4, 8] as const;
const LONG_COPY_BYTES = 32;

/** Codes of small lengths; a larger one is the power of two below it, plus a constant. */
const LITERALS_LENGTH_CODES = codeTable(LITERALS_LENGTH_BASES, 64, 0);
const MATCH_LENGTH_CODES = codeTable(MATCH_LENGTH_BASES, 128, MATCH_LENGTH_MIN);

function codeTable(bases: Uint32Array, size: number, first: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, length) => bases.findLastIndex((base) => base <= length + first));
}

function codeOf(codes: Uint8Array, length: number, above: number): number {
  return length < codes.length ? codes[length]! : 31 - Math.clz32(length) + above;
}
