/**
 * The lines of a foreign log, by number.
 *
 * Nothing is kept but where each line begins: a line is parsed when it is asked for, so memory does not grow with what lines hold.
 *
 * @module
 */
import { TooLargeError } from "../errors.ts";
import type { ForeignRecord } from "./record.ts";

/** The most lines one foreign log may have. */
export const FOREIGN_LINES_MAX = 2_000_000;

/** The most bytes one line may have to be read; a longer one is reported as lost. */
export const FOREIGN_LINE_BYTES_MAX: number = 64 * 1024 * 1024;

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Where a line lies, without its newline. */
export interface LinePlace {
  /** From the start of the file. */
  readonly offsetBytes: number;
  /** Without the newline. */
  readonly sizeBytes: number;
}

/** A file as lines. */
export class ForeignLines {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  /** Where each line begins, and behind them where one more would. */
  readonly #starts: number[] = [];
  readonly #decoder = new TextDecoder();

  /** Finds the lines. @throws {TooLargeError} over FOREIGN_LINES_MAX */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
    let start = BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte) ? BYTE_ORDER_MARK.length : 0;
    while (start < bytes.length) {
      if (this.#starts.length === FOREIGN_LINES_MAX) {
        throw new TooLargeError(`Cannot read a foreign log: it has more than ${FOREIGN_LINES_MAX} lines`);
      }
      this.#starts.push(start);
      const end = bytes.indexOf(NEWLINE, start);
      start = end === -1 ? bytes.length + 1 : end + 1;
    }
    this.#starts.push(start);
  }

  /** How many there are, blank ones included. */
  get count(): number {
    return this.#starts.length - 1;
  }

  /** Where line `index`, counted from 0, lies. */
  place(index: number): LinePlace {
    const offsetBytes = this.#starts[index]!;
    return { offsetBytes, sizeBytes: Math.max(0, this.#starts[index + 1]! - 1 - offsetBytes) };
  }

  /** The bytes of a line. */
  bytes(index: number): Uint8Array<ArrayBuffer> {
    const { offsetBytes, sizeBytes } = this.place(index);
    return this.#bytes.subarray(offsetBytes, offsetBytes + sizeBytes);
  }

  /** The object on a line; `"blank"` when nothing stands there, `null` when it is no JSON object or too long. */
  read(index: number): ForeignRecord | "blank" | null {
    const bytes = this.bytes(index);
    if (bytes.length > FOREIGN_LINE_BYTES_MAX) return null;
    const text = this.#decoder.decode(bytes);
    if (text.trim() === "") return "blank";
    try {
      const value: unknown = JSON.parse(text);
      return typeof value === "object" && value !== null && !Array.isArray(value) ? value as ForeignRecord : null;
    } catch {
      return null;
    }
  }

  /** The object on a line that was readable before. */
  record(index: number): ForeignRecord {
    const value = this.read(index);
    return value === null || value === "blank" ? {} : value;
  }
}
