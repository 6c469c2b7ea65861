/**
 * The first half of a compressed block: bytes that no earlier text repeats.
 *
 * @see RFC 8878 §3.1.1.3.1
 * @module
 */
import { CorruptFrameError } from "../../errors.ts";
import { decodeHuffmanStream, type HuffmanTable, readHuffmanTable } from "./huffman.ts";
import { BLOCK_SIZE_BYTES_MAX } from "../walk.ts";

/** Counts what a decoder does: blocks, table cells filled, literals decoded, sequences read and bytes copied. */
export interface Work {
  steps: number;
}

/** Where the literals of a block are. */
export interface Literals {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Just behind the section in the block. */
  readonly sectionEndOffset: number;
}

/** Decodes the literals of the blocks of one frame, in order: a block may use the code of an earlier one. */
export class LiteralsDecoder {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** The code of the last block that brought one. */
  #table: HuffmanTable | null = null;
  /** Holds the literals of the current block when they do not stand in the frame as they are. */
  #room: Uint8Array = new Uint8Array(0);
  readonly #work: Work;

  constructor(frame: Uint8Array, view: DataView, work: Work) {
    this.#bytes = frame;
    this.#view = view;
    this.#work = work;
  }

  /**
   * The literals of the block at `start`.
   *
   * @param sizeBytesMax a block with more is corrupt; at most this is decoded
   * @throws {CorruptFrameError} when the section is not whole or not valid
   */
  decode(start: number, end: number, sizeBytesMax: number): Literals {
    const bytes = this.#bytes;
    const type = bytes[start]! & 3;
    const format = (bytes[start]! >> 2) & 3;
    const isCompressed = type >= COMPRESSED;
    const headerSizeBytes = isCompressed ? (format < 2 ? 3 : format + 2) : [1, 2, 1, 3][format]!;
    if (start + headerSizeBytes > end) throw corruptLiterals("a header that ends too early");
    const at = start + headerSizeBytes;
    const low = bytes[start]! | (headerSizeBytes > 1 ? bytes[start + 1]! << 8 : 0) |
      (headerSizeBytes > 2 ? bytes[start + 2]! << 16 : 0);
    const high = headerSizeBytes > 3 ? bytes[start + 3]! | (headerSizeBytes > 4 ? bytes[start + 4]! << 8 : 0) : 0;
    const sizeBits = isCompressed ? [10, 10, 14, 18][format]! : [5, 12, 5, 20][format]!;
    const sizeBytes = isCompressed
      ? ((low >>> 4) | (high << 20)) & ((1 << sizeBits) - 1)
      : low >>> (format === 0 || format === 2 ? 3 : 4);
    if (sizeBytes > sizeBytesMax) throw corruptLiterals(`${sizeBytes} bytes, the block can hold ${sizeBytesMax}`);
    this.#work.steps += 1;

    if (type === RAW) {
      if (at + sizeBytes > end) throw corruptLiterals("fewer bytes than it says");
      return { bytes, start: at, end: at + sizeBytes, sectionEndOffset: at + sizeBytes };
    }
    this.#makeRoom(sizeBytes);
    this.#work.steps += sizeBytes;
    if (type === RLE) {
      if (at + 1 > end) throw corruptLiterals("fewer bytes than it says");
      this.#room.fill(bytes[at]!, 0, sizeBytes);
      return { bytes: this.#room, start: 0, end: sizeBytes, sectionEndOffset: at + 1 };
    }
    const packedSizeBytes = format < 2
      ? low >>> 14
      : format === 2
      ? (low >>> 18) | (high << 6)
      : (low >>> 22) | (high << 2);
    const sectionEndOffset = at + packedSizeBytes;
    if (sectionEndOffset > end) throw corruptLiterals("fewer bytes than it says");
    this.#decodeHuffman(at, sectionEndOffset, type === COMPRESSED, format === 0 ? 1 : 4, sizeBytes);
    return { bytes: this.#room, start: 0, end: sizeBytes, sectionEndOffset };
  }

  #decodeHuffman(start: number, end: number, bringsTable: boolean, streams: 1 | 4, sizeBytes: number): void {
    const [bytes, view] = [this.#bytes, this.#view];
    if (bringsTable) {
      const { table, endOffset } = readHuffmanTable(bytes, view, start, end);
      this.#table = table;
      this.#work.steps += table.cells.length;
      start = endOffset;
    }
    const table = this.#table;
    if (table === null) throw corruptLiterals("no code of their own, and no block before has one");
    if (sizeBytes === 0) throw corruptLiterals("a code and no bytes");
    if (streams === 1) return decodeHuffmanStream(bytes, view, start, end, table, this.#room, 0, sizeBytes);
    if (start + JUMP_TABLE_SIZE_BYTES > end || sizeBytes < LITERALS_FOR_FOUR_STREAMS_MIN) {
      throw corruptLiterals("four streams without room for them");
    }
    const segment = (sizeBytes + 3) >> 2;
    let at = start + JUMP_TABLE_SIZE_BYTES;
    for (let stream = 0; stream < 4; stream += 1) {
      const streamEnd = stream < 3 ? at + view.getUint16(start + 2 * stream, true) : end;
      if (streamEnd > end) throw corruptLiterals("a stream that ends behind its block");
      const target = stream * segment;
      decodeHuffmanStream(
        bytes,
        view,
        at,
        streamEnd,
        table,
        this.#room,
        target,
        stream < 3 ? target + segment : sizeBytes,
      );
      at = streamEnd;
    }
  }

  #makeRoom(sizeBytes: number): void {
    if (this.#room.length >= sizeBytes) return;
    this.#room = new Uint8Array(Math.min(BLOCK_SIZE_BYTES_MAX, Math.max(2 * this.#room.length, sizeBytes)));
  }
}

const RAW = 0;
const RLE = 1;
const COMPRESSED = 2;
const JUMP_TABLE_SIZE_BYTES = 6;
/** With fewer, three rounded-up quarters would be more than all (as in other decoders). */
const LITERALS_FOR_FOUR_STREAMS_MIN = 6;

function corruptLiterals(found: string): CorruptFrameError {
  return new CorruptFrameError(`Cannot decode a frame: the literals of a block have ${found}`);
}
