/**
 * The preview of a text that is kept elsewhere: its beginning, its end, and where the whole of it is.
 *
 * @see compaction §6
 * @module
 */

/** Between the beginning and the end. */
const GAP = "\n[…]\n";

/** How a preview is made. */
export interface PreviewOptions {
  /** The preview has at most so many bytes in UTF-8, notice included. */
  readonly sizeBytesMax: number;
  /** What is said behind it, given how many bytes are left out. */
  readonly notice: (omittedBytes: number) => string;
}

/**
 * Makes a preview. No character is split.
 *
 * @param sizeBytes of `text` in UTF-8
 * @returns `null` when not even the notice fits
 *
 * @example
 * ```ts
 * import { previewOf } from "./spill_preview.ts";
 *
 * const text = "äöü".repeat(100);
 * const preview = previewOf(text, 600, { sizeBytesMax: 60, notice: (bytes) => `(${bytes} bytes left out)` });
 * if (preview === null || preview.includes("\ufffd")) throw new Error("unreachable");
 * if (new TextEncoder().encode(preview).length > 60) throw new Error("unreachable");
 * ```
 */
export function previewOf(text: string, sizeBytes: number, { sizeBytesMax, notice }: PreviewOptions): string | null {
  // The widest count that can be said: what is left out is less.
  const reserved = utf8Length(`${GAP}\n\n${notice(sizeBytes)}`);
  const budget = sizeBytesMax - reserved;
  if (budget < 0) return null;
  const head = headWithin(text, Math.ceil(budget / 2));
  const tail = tailWithin(text.slice(head.end), Math.floor(budget / 2));
  const omitted = sizeBytes - head.sizeBytes - tail.sizeBytes;
  return `${text.slice(0, head.end)}${GAP}${text.slice(head.end + tail.start)}\n\n${notice(omitted)}`;
}

/**
 * How many bytes a text has in UTF-8; half of a character counts as the U+FFFD that it becomes there.
 *
 * @example
 * ```ts
 * import { utf8Length } from "./spill_preview.ts";
 *
 * if (utf8Length("aä漢😀") !== 10) throw new Error("unreachable");
 * ```
 */
export function utf8Length(text: string): number {
  let sizeBytes = 0;
  for (let index = 0; index < text.length;) {
    const width = widthAt(text, index);
    sizeBytes += BYTES[width.kind];
    index += width.units;
  }
  return sizeBytes;
}

function headWithin(text: string, budget: number): { readonly end: number; readonly sizeBytes: number } {
  let [end, sizeBytes] = [0, 0];
  while (end < text.length) {
    const { kind, units } = widthAt(text, end);
    if (sizeBytes + BYTES[kind] > budget) break;
    sizeBytes += BYTES[kind];
    end += units;
  }
  return { end, sizeBytes };
}

function tailWithin(text: string, budget: number): { readonly start: number; readonly sizeBytes: number } {
  let [start, sizeBytes] = [text.length, 0];
  while (start > 0) {
    const isPair = start > 1 && widthAt(text, start - 2).units === 2;
    const at = start - (isPair ? 2 : 1);
    const { kind } = widthAt(text, at);
    if (sizeBytes + BYTES[kind] > budget) break;
    sizeBytes += BYTES[kind];
    start = at;
  }
  return { start, sizeBytes };
}

/** Bytes in UTF-8 by kind of character. */
const BYTES = { ascii: 1, two: 2, three: 3, pair: 4 } as const;

function widthAt(text: string, index: number): { readonly kind: keyof typeof BYTES; readonly units: 1 | 2 } {
  const unit = text.charCodeAt(index);
  if (unit < 0x80) return ASCII;
  if (unit < 0x800) return TWO;
  const low = unit >= 0xd800 && unit <= 0xdbff ? text.charCodeAt(index + 1) : 0;
  return low >= 0xdc00 && low <= 0xdfff ? PAIR : THREE;
}

const ASCII = { kind: "ascii", units: 1 } as const;
const TWO = { kind: "two", units: 1 } as const;
const THREE = { kind: "three", units: 1 } as const;
const PAIR = { kind: "pair", units: 2 } as const;
