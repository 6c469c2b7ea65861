/**
 * Tells a torn tail from damage: whether whole frames that continue the log lie behind the beginning of the torn one.
 *
 * A torn tail is the last thing in a file. Whole frames behind it were acknowledged: then a bit of the frame before them has
 * changed its length, and cutting there would lose them. What comes behind those frames, another torn one included, does not
 * matter, so each place that looks like a frame is tried, not only a chain that reaches the end.
 *
 * A tool may have read a log, so a torn frame's content could look like whole frames too. JSON text can not (the magic number
 * is not UTF-8, whatever block it is stored in). For other content the rows decide: only rows beyond the ones the torn frame
 * itself must hold count. What remains is a compressed stream, or binary text of another program, that was made to hold a
 * frame of later rows, in the one frame that a crash tears: that log is refused although nothing of it is damaged. Nothing is
 * lost by that, and `salvage` reads it.
 *
 * @see session-format §5.2; architecture "Torn tail of a log"
 * @module
 */
import { hasCode } from "../errors.ts";
import { FRAME_MAGIC, LineScanner, type ZstdCodec } from "../frame/mod.ts";
import { advance, startCursor } from "../frame/walk.ts";
import { CURRENT_DIALECT, type Dialect, isRow } from "./dialect.ts";

/** How many places that look like a frame are tried. Chance puts one into 4 GiB of a torn frame. */
export const BEHIND_CANDIDATES_MAX = 1024;

/** How often, on average, each byte of the tail may be walked over while it is searched. */
export const BEHIND_WALKS_MAX = 4;

/** The answer: where the first such frame begins in the tail; that there is none; or the bound that the search came to. */
export type FrameBehind = { readonly offset: number } | "none" | "too many places" | "too much content";

/** What the search needs to know. */
export interface BehindOptions {
  readonly codec: ZstdCodec;
  /** The seq the torn frame begins with: a frame behind it begins with a later one. */
  readonly nextSeq: number;
  /** The most content one frame may have. */
  readonly contentSizeBytesMax: number;
  /** The most content that is decoded in all; at least one whole frame of up to that size is. */
  readonly contentBudgetBytes: number;
  /** How rows are read. Default: as version 3. */
  readonly dialect?: Dialect;
}

/**
 * Searches a torn tail for a whole frame behind its beginning that holds later rows of the log. The time is linear in the tail.
 *
 * @example
 * ```ts
 * import { nodeZstd } from "../frame/node_zstd.ts";
 * import { frameBehind } from "./frame_behind.ts";
 *
 * const row = '{"type":"feedback/record","seq":7,"time":1,"data":{"text":"a"}}\n';
 * const frame = nodeZstd().compress(new TextEncoder().encode(row));
 * const tail = new Uint8Array([...frame.subarray(0, 5), ...frame, 0]);
 * const bounds = { contentSizeBytesMax: 1000, contentBudgetBytes: 1000 };
 * const found = frameBehind(tail, { codec: nodeZstd(), nextSeq: 6, ...bounds });
 * if (typeof found === "string" || found.offset !== 5) throw new Error("unreachable");
 * if (frameBehind(tail, { codec: nodeZstd(), nextSeq: 7, ...bounds }) !== "none") throw new Error("unreachable");
 * ```
 */
export function frameBehind(tail: Uint8Array, options: BehindOptions): FrameBehind {
  const { codec, nextSeq, contentSizeBytesMax, dialect = CURRENT_DIALECT } = options;
  let candidates = 0;
  let walkBytes = BEHIND_WALKS_MAX * tail.length;
  let budgetBytes = options.contentBudgetBytes;
  for (const start of framesStarts(tail)) {
    candidates += 1;
    if (candidates > BEHIND_CANDIDATES_MAX || walkBytes <= 0) return "too many places";
    const cursor = startCursor(start);
    const problem = advance(cursor, tail, tail.length, tail.length);
    walkBytes -= cursor.nextOffset - start;
    if (problem !== null || cursor.endOffset === null) continue;
    // Nobody would read a frame of more than that.
    if (Math.max(cursor.header?.contentSizeBytes ?? 0, cursor.contentSizeBytesLeast) > contentSizeBytesMax) continue;
    const content = decoded(codec, tail.subarray(start, cursor.endOffset), Math.min(contentSizeBytesMax, budgetBytes));
    if (content === "too large") {
      if (budgetBytes < contentSizeBytesMax) return "too much content";
      continue;
    }
    if (content === null) continue;
    budgetBytes -= content.length;
    if (holdsLaterRows(content, nextSeq, dialect)) return { offset: start };
  }
  return "none";
}

/** Every place behind the first byte where the magic number stands. Its last byte is looked for: text never holds it. */
function* framesStarts(tail: Uint8Array): Generator<number, void, undefined> {
  const last = FRAME_MAGIC.length - 1;
  for (
    let end = tail.indexOf(FRAME_MAGIC[last]!, last + 1);
    end !== -1;
    end = tail.indexOf(FRAME_MAGIC[last]!, end + 1)
  ) {
    if (FRAME_MAGIC.every((byte, index) => tail[end - last + index] === byte)) yield end - last;
  }
}

/** The content; `null` when it does not decode or its checksum is wrong. */
function decoded(codec: ZstdCodec, frame: Uint8Array, sizeBytesMax: number): Uint8Array | "too large" | null {
  try {
    return codec.decompress(frame, sizeBytesMax);
  } catch (error) {
    if (hasCode(error, "TOO_LARGE")) return "too large";
    if (hasCode(error, "CORRUPT_FRAME")) return null;
    throw error;
  }
}

/** Whether these are whole rows, one seq after the other, the first of them behind `nextSeq`. */
function holdsLaterRows(content: Uint8Array, nextSeq: number, dialect: Dialect): boolean {
  const lines = new LineScanner();
  let seq: number | undefined;
  for (const { text } of lines.feed(content)) {
    const row = dialect.readRow(text, seq);
    if (!isRow(row)) return false;
    const { firstSeq, count } = dialect.spanOf(row);
    if (firstSeq <= nextSeq) return false;
    seq = firstSeq + count;
  }
  return seq !== undefined && lines.restBytes === 0;
}
