/**
 * Rows to the bytes that are appended: frames, or lines.
 *
 * @module
 */
import { TooLargeError } from "../errors.ts";
import { encodeLines, type ZstdCodec } from "../frame/mod.ts";
import type { LogEncoding } from "./layout.ts";
import type { JournalLimits } from "./limits.ts";

/** A batch as bytes. */
export interface EncodedBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many frames (raw: lines) they are. */
  readonly frames: number;
  /** Where in `bytes` a reader can start, and which row of the batch stands there. */
  readonly places: readonly { readonly offsetBytes: number; readonly row: number }[];
}

/** How rows become bytes. */
export interface Encoder {
  readonly encoding: LogEncoding;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
}

/**
 * Encodes rows: as one frame, or as several when they are more than `limits.batchBytesMax`. Each frame ends with a whole row.
 *
 * @throws {TooLargeError} when a row is larger than a reader would accept
 * @see session-format §5.1
 */
export function encodeBatch(rows: readonly string[], { encoding, codec, limits }: Encoder): EncodedBatch {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const places: { offsetBytes: number; row: number }[] = [];
  let offsetBytes = 0;
  let row = 0;
  for (const group of groupsOf(rows, limits)) {
    const plain = encodeLines(group);
    const part = encoding === "zstd" ? codec.compress(plain) : plain;
    parts.push(part);
    places.push({ offsetBytes, row });
    offsetBytes += part.length;
    row += group.length;
  }
  // Nearly every batch is one frame, which needs no copy.
  const bytes = parts.length === 1 ? parts[0]! : concat(parts, offsetBytes);
  return { bytes, frames: encoding === "zstd" ? parts.length : rows.length, places };
}

/** The rows of one frame each, in order. */
function* groupsOf(rows: readonly string[], limits: JournalLimits): Generator<string[], void, undefined> {
  let group: string[] = [];
  let groupBytes = 0;
  for (const row of rows) {
    const rowBytes = utf8Bytes(row) + 1;
    if (rowBytes > limits.contentSizeBytesMax) {
      throw new TooLargeError(
        `Cannot append a row: it has ${rowBytes} bytes, the limit is ${limits.contentSizeBytesMax}`,
      );
    }
    if (group.length > 0 && groupBytes + rowBytes > limits.batchBytesMax) {
      yield group;
      group = [];
      groupBytes = 0;
    }
    group.push(row);
    groupBytes += rowBytes;
  }
  if (group.length > 0) yield group;
}

/** The length of a text in UTF-8. JSON text holds no lone surrogates: they are escaped. */
function utf8Bytes(text: string): number {
  let sizeBytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // A surrogate pair is two units and four bytes.
    sizeBytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return sizeBytes;
}

/** Byte arrays one after the other. */
export function concat(parts: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
