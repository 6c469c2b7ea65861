/**
 * JSON lines: bytes to lines with their offsets, and rows to bytes. What is in a line is not looked at.
 *
 * @module
 */
import { TooLargeError } from "../errors.ts";
import { CONTENT_SIZE_BYTES_MAX } from "./walk.ts";

/** One line, without its `\n`. */
export interface Line {
  /** Invalid UTF-8 is replaced by U+FFFD, not refused. A byte order mark stays, so that JSON refuses it. */
  readonly text: string;
  /** Where the line begins, in the plain text. */
  readonly offsetBytes: number;
  /** Just behind its `\n`. */
  readonly endOffset: number;
}

/** Text is decoded in pieces of about this size, whatever the size of what was fed. */
const PIECE_SIZE_BYTES = 256 * 1024;

/**
 * Splits a text that arrives in pieces into lines. A line may span pieces; the bytes behind the last `\n` are kept until
 * the rest arrives.
 *
 * @example
 * ```ts
 * import { LineScanner } from "./lines.ts";
 *
 * const scanner = new LineScanner();
 * const lines = [...scanner.feed(new TextEncoder().encode('{"a":1}\n{"b"'))];
 * if (lines.length !== 1 || scanner.restOffset !== 8 || scanner.restBytes !== 4) throw new Error("unreachable");
 * ```
 */
export class LineScanner {
  readonly #sizeBytesMax: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  /** Pieces of the line that has not ended yet. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #restOffset: number;

  /**
   * @param offsetBytes where the first byte that will be fed stands in the plain text
   * @param sizeBytesMax the longest line, without its `\n`
   */
  constructor(offsetBytes = 0, sizeBytesMax: number = CONTENT_SIZE_BYTES_MAX) {
    this.#restOffset = offsetBytes;
    this.#sizeBytesMax = sizeBytesMax;
  }

  /** Where the unfinished line begins: just behind the last `\n` that was given out. */
  get restOffset(): number {
    return this.#restOffset;
  }

  /** How many bytes of the unfinished line are there. 0 means that everything fed ended with `\n`. */
  get restBytes(): number {
    return this.#restBytes;
  }

  /**
   * Takes the next bytes and gives the lines they end, one by one. Take them all before feeding more. The bytes may be
   * reused afterwards.
   *
   * @throws {TooLargeError} when a line is longer than the limit
   */
  *feed(bytes: Uint8Array): Generator<Line, void, undefined> {
    let at = 0;
    if (this.#restBytes > 0) {
      const newline = bytes.indexOf(NEWLINE);
      this.#keep(newline === -1 ? bytes : bytes.subarray(0, newline));
      if (newline === -1) return;
      at = newline + 1;
      yield this.#finish();
    }
    while (at < bytes.length) {
      const end = pieceEnd(bytes, at);
      if (end === -1) break;
      yield* this.#split(bytes.subarray(at, end));
      at = end;
    }
    if (at < bytes.length) this.#keep(bytes.subarray(at));
  }

  /** Lines of a piece that begins and ends at a line's border. One decode for all: no UTF-8 sequence contains a `\n`. */
  *#split(piece: Uint8Array): Generator<Line, void, undefined> {
    const base = this.#restOffset;
    const texts = this.#decoder.decode(piece).split("\n");
    let start = 0;
    for (let index = 0; index < texts.length - 1; index += 1) {
      const end = piece.indexOf(NEWLINE, start) + 1;
      this.#checkSize(end - 1 - start);
      this.#restOffset = base + end;
      yield { text: texts[index]!, offsetBytes: base + start, endOffset: base + end };
      start = end;
    }
  }

  #keep(bytes: Uint8Array): void {
    this.#checkSize(this.#restBytes + bytes.length);
    this.#rest.push(bytes.slice());
    this.#restBytes += bytes.length;
  }

  #finish(): Line {
    const text = this.#decoder.decode(concat(this.#rest, this.#restBytes));
    const offsetBytes = this.#restOffset;
    this.#restOffset += this.#restBytes + 1;
    this.#rest = [];
    this.#restBytes = 0;
    return { text, offsetBytes, endOffset: this.#restOffset };
  }

  #checkSize(sizeBytes: number): void {
    if (sizeBytes <= this.#sizeBytesMax) return;
    throw new TooLargeError(
      `Cannot read the line at offset ${this.#restOffset}: it is longer than ${this.#sizeBytesMax} bytes`,
    );
  }
}

/**
 * Rows as the content of one frame, or as raw lines: each followed by `\n`.
 *
 * @example
 * ```ts
 * import { encodeLines } from "./lines.ts";
 *
 * if (encodeLines(["{}", "{}"]).length !== 6) throw new Error("unreachable");
 * ```
 */
export function encodeLines(rows: readonly string[]): Uint8Array<ArrayBuffer> {
  return rows.length === 0 ? new Uint8Array(0) : ENCODER.encode(rows.join("\n") + "\n");
}

const NEWLINE = 0x0a;
/** It has no state. Making one takes as long as encoding a small batch. */
const ENCODER = new TextEncoder();

/** Just behind the last `\n` of about one piece from `start` on; −1 when no line ends any more. */
function pieceEnd(bytes: Uint8Array, start: number): number {
  const target = start + PIECE_SIZE_BYTES;
  if (target < bytes.length) {
    const last = bytes.subarray(start, target).lastIndexOf(NEWLINE);
    return (last === -1 ? bytes.indexOf(NEWLINE, target) : start + last) + 1 || -1;
  }
  return bytes.lastIndexOf(NEWLINE) + 1 > start ? bytes.lastIndexOf(NEWLINE) + 1 : -1;
}

function concat(parts: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
