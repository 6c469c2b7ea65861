/**
 * The second half of a compressed block: how its literals and earlier text make its content.
 *
 * Each sequence is measured against the room of its block before a byte of it is copied, so that a block costs no more than
 * it can hold, whatever it claims.
 *
 * @see RFC 8878 §3.1.1.3.2 for the section, §3.1.1.4 for the execution
 * @module
 */
import { CorruptFrameError } from "../../errors.ts";
import { bitsBelow, streamBits } from "./backward_bits.ts";
import { buildFseTable, constantFseTable, type FseTable, readFseCounts } from "./fse.ts";
import type { Literals, Work } from "./literals.ts";
import {
  LITERALS_LENGTH,
  LITERALS_LENGTH_BASES,
  LITERALS_LENGTH_BITS,
  MATCH_LENGTH,
  MATCH_LENGTH_BASES,
  MATCH_LENGTH_BITS,
  OFFSET,
  type SequenceKind,
} from "./sequence_codes.ts";

/** Where a block's content goes. Everything before `at` is what its matches can copy from. */
export interface Target {
  readonly bytes: Uint8Array;
  readonly at: number;
  /** A block that would go beyond is corrupt. */
  readonly end: number;
  /** How far back a match may reach. */
  readonly windowSizeBytes: number;
}

/** Executes the sequences of the blocks of one frame, in order: tables and offsets carry over from block to block. */
export class SequencesDecoder {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #literalsLengths: FseTable | null = null;
  #offsets: FseTable | null = null;
  #matchLengths: FseTable | null = null;
  /** The last three offsets, newest first. */
  readonly #recent = Int32Array.of(1, 4, 8);
  readonly #work: Work;

  constructor(frame: Uint8Array, view: DataView, work: Work) {
    this.#bytes = frame;
    this.#view = view;
    this.#work = work;
  }

  /**
   * Executes the section at `start`, which ends its block at `end`.
   *
   * @returns where the content of the block ends in the target
   * @throws {CorruptFrameError} when the section is not valid, or its content does not fit
   */
  execute(start: number, end: number, literals: Literals, target: Target): number {
    const bytes = this.#bytes;
    if (start >= end) throw corruptSequences("no count");
    const first = bytes[start]!;
    const countSizeBytes = first < 128 ? 1 : first < 255 ? 2 : 3;
    if (start + countSizeBytes > end) throw corruptSequences("a count that ends too early");
    const count = first < 128
      ? first
      : first < 255
      ? ((first - 128) << 8) + bytes[start + 1]!
      : bytes[start + 1]! + (bytes[start + 2]! << 8) + 0x7f00;
    let at = start + countSizeBytes;
    if (count === 0) {
      if (at !== end) throw corruptSequences("no sequence and more bytes");
      return copyLiterals(literals, literals.start, literals.end, target, target.at);
    }
    if (at >= end) throw corruptSequences("no modes");
    const modes = bytes[at]!;
    at += 1;
    if ((modes & 3) !== 0) throw corruptSequences("a reserved bit");
    [this.#literalsLengths, at] = this.#readTable(modes >> 6, LITERALS_LENGTH, this.#literalsLengths, at, end);
    [this.#offsets, at] = this.#readTable((modes >> 4) & 3, OFFSET, this.#offsets, at, end);
    [this.#matchLengths, at] = this.#readTable((modes >> 2) & 3, MATCH_LENGTH, this.#matchLengths, at, end);
    return this.#run(count, at, end, this.#literalsLengths, this.#offsets, this.#matchLengths, literals, target);
  }

  /** The table a mode says, and where the bytes behind its description begin. */
  #readTable(mode: number, kind: SequenceKind, last: FseTable | null, at: number, end: number): [FseTable, number] {
    switch (mode) {
      case PREDEFINED:
        return [kind.predefined, at];
      case CONSTANT: {
        const code = at < end ? this.#bytes[at]! : Infinity;
        if (code > kind.codeMax) throw corruptSequences(`no ${kind.name} code where one must be`);
        return [constantFseTable(code), at + 1];
      }
      case DESCRIBED: {
        const { counts, accuracyLog, endOffset } = readFseCounts(
          this.#bytes,
          at,
          end,
          kind.accuracyLogMax,
          kind.codeMax,
        );
        this.#work.steps += 1 << accuracyLog;
        return [buildFseTable(counts, accuracyLog), endOffset];
      }
      default:
        if (last === null) throw corruptSequences(`no ${kind.name} table, and no block before has one`);
        return [last, at];
    }
  }

  #run(
    count: number,
    start: number,
    end: number,
    literalsLengths: FseTable,
    offsets: FseTable,
    matchLengths: FseTable,
    literals: Literals,
    target: Target,
  ): number {
    const view = this.#view;
    const work = this.#work;
    const recent = this.#recent;
    const out = target.bytes;
    const { end: outEnd, windowSizeBytes } = target;
    const { bytes: literalBytes, end: literalsEnd } = literals;
    const [literalsCells, offsetCells, matchCells] = [literalsLengths.cells, offsets.cells, matchLengths.cells];
    let bit = streamBits(this.#bytes, start, end);
    let literalsCell = bitsBelow(view, start, bit, literalsLengths.accuracyLog);
    bit -= literalsLengths.accuracyLog;
    let offsetCell = bitsBelow(view, start, bit, offsets.accuracyLog);
    bit -= offsets.accuracyLog;
    let matchCell = bitsBelow(view, start, bit, matchLengths.accuracyLog);
    bit -= matchLengths.accuracyLog;
    let literal = literals.start;
    let at = target.at;
    for (let left = count; left > 0; left -= 1) {
      literalsCell = literalsCells[literalsCell]!;
      offsetCell = offsetCells[offsetCell]!;
      matchCell = matchCells[matchCell]!;

      work.steps += 1;
      const offsetBits = offsetCell & 0xff;
      let offsetValue: number;
      if (offsetBits <= 24) {
        offsetValue = (1 << offsetBits) + bitsBelow(view, start, bit, offsetBits);
      } else {
        offsetValue = 2 ** offsetBits + 65536 * bitsBelow(view, start, bit, offsetBits - 16) +
          bitsBelow(view, start, bit - offsetBits + 16, 16);
      }
      bit -= offsetBits;
      const matchBits = MATCH_LENGTH_BITS[matchCell & 0xff]!;
      const literalsBits = LITERALS_LENGTH_BITS[literalsCell & 0xff]!;
      let matchLength = MATCH_LENGTH_BASES[matchCell & 0xff]!;
      let literalsLength = LITERALS_LENGTH_BASES[literalsCell & 0xff]!;
      if (matchBits + literalsBits > 0) {
        matchLength += bitsBelow(view, start, bit, matchBits);
        literalsLength += bitsBelow(view, start, bit - matchBits, literalsBits);
        bit -= matchBits + literalsBits;
      }
      if (left > 1) {
        // Two states in one read of at most 9 + 9 bits: a read costs more than to split it.
        const literalsMore = (literalsCell >> 8) & 0xff;
        const matchMore = (matchCell >> 8) & 0xff;
        const offsetMore = (offsetCell >> 8) & 0xff;
        const more = bitsBelow(view, start, bit, literalsMore + matchMore);
        literalsCell = (literalsCell >>> 16) + (more >>> matchMore);
        matchCell = (matchCell >>> 16) + (more & ((1 << matchMore) - 1));
        bit -= literalsMore + matchMore;
        offsetCell = (offsetCell >>> 16) + bitsBelow(view, start, bit, offsetMore);
        bit -= offsetMore;
      }
      if (bit < 0) throw corruptSequences("fewer bits than it needs");

      const literalEnd = literal + literalsLength;
      if (literalEnd > literalsEnd) throw corruptSequences("more literals than there are");
      const matchAt = at + literalsLength;
      if (matchAt + matchLength > outEnd) throw corruptSequences("more content than a block can hold");
      const offset = resolveOffset(offsetValue, literalsLength, recent);
      if (offset > matchAt || offset > windowSizeBytes) {
        throw corruptSequences("an offset before the start or beyond the window");
      }
      work.steps += literalsLength + matchLength;
      if (literalsLength > LONG_COPY_BYTES) out.set(literalBytes.subarray(literal, literalEnd), at);
      else for (let index = 0; index < literalsLength; index += 1) out[at + index] = literalBytes[literal + index]!;
      literal = literalEnd;
      at = matchAt + matchLength;
      if (matchLength > LONG_COPY_BYTES && offset >= matchLength) {
        out.copyWithin(matchAt, matchAt - offset, matchAt - offset + matchLength);
      } else {
        // A match may overlap itself, so it is copied byte by byte.
        for (let index = matchAt; index < at; index += 1) out[index] = out[index - offset]!;
      }
    }
    if (bit !== 0) throw corruptSequences("more bits than it needs");
    return copyLiterals(literals, literal, literals.end, target, at);
  }
}

const PREDEFINED = 0;
const CONSTANT = 1;
const DESCRIBED = 2;

/** Longer copies are left to the engine. */
const LONG_COPY_BYTES = 48;

/** Values up to 3 name a recent offset; without literals they name the next one (RFC 8878 §3.1.1.5). */
function resolveOffset(value: number, literalsLength: number, recent: Int32Array): number {
  if (value > 3) {
    recent[2] = recent[1]!;
    recent[1] = recent[0]!;
    return recent[0] = value - 3;
  }
  const index = literalsLength === 0 ? value : value - 1;
  if (index === 0) return recent[0]!;
  const offset = index === 3 ? recent[0]! - 1 : recent[index]!;
  if (offset === 0) throw corruptSequences("an offset of 0");
  if (index !== 1) recent[2] = recent[1]!;
  recent[1] = recent[0]!;
  return recent[0] = offset;
}

function copyLiterals(literals: Literals, start: number, end: number, target: Target, at: number): number {
  if (at + end - start > target.end) throw corruptSequences("more content than a block can hold");
  target.bytes.set(literals.bytes.subarray(start, end), at);
  return at + end - start;
}

function corruptSequences(found: string): CorruptFrameError {
  return new CorruptFrameError(`Cannot decode a frame: the sequences of a block have ${found}`);
}
