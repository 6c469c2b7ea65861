/**
 * A file of zstd frames as what stands in it, from its first byte to its last: whole frames, and what lies between them.
 *
 * Unlike a scan it never stops. Behind damage it goes on at the next whole frame.
 *
 * @see session-format §5.2, §5.3
 * @module
 */
import { hasCode } from "../../errors.ts";
import { type DelimitedFrame, FRAME_MAGIC } from "../../frame/mod.ts";
import { type FramePiece, readFrames } from "../byte_source.ts";
import { foundIn } from "../finding.ts";
import type { DamageKind } from "./kinds.ts";
import { nextFrame, type SearchBudget, searchBudget } from "./next_frame.ts";
import { areZeros, type BytePlace, type LogBytes, type LookOptions } from "./source.ts";
import { type WholeBlocks, wholeBlocks } from "./whole_blocks.ts";

/** A stretch of the file. They follow each other without a gap. */
export interface Region extends BytePlace {
  /** Plain text: of a damaged stretch what could be read of it, which nobody has verified. */
  readonly content: Uint8Array;
  /** What is wrong; `null` for a whole frame. */
  readonly damage: { readonly kind: DamageKind; readonly message: string } | null;
}

/** The regions from `startBytes`, which is where one begins. */
export async function* zstdRegions(
  source: LogBytes,
  startBytes: number,
  options: LookOptions,
): AsyncGenerator<Region, void, undefined> {
  const budget = searchBudget(source);
  for (let at: number | null = startBytes; at !== null && at < source.sizeBytes;) {
    at = yield* regionsFrom(source, at, options, budget);
  }
}

/** Regions up to the first damaged one. Returns where to go on behind it. */
async function* regionsFrom(
  source: LogBytes,
  startBytes: number,
  options: LookOptions,
  budget: SearchBudget,
): AsyncGenerator<Region, number | null, undefined> {
  const { limits, signal } = options;
  for await (const piece of readFrames(source, startBytes, source.sizeBytes, limits.frameSizeBytesMax, signal)) {
    if (piece.kind === "frame") {
      const { frame } = piece;
      const place = { offsetBytes: frame.offsetBytes, sizeBytes: frame.bytes.length };
      const decoded = decode(frame, options);
      if (decoded instanceof Uint8Array) {
        yield { ...place, content: decoded, damage: null };
        continue;
      }
      if (decoded.kind === "size-bomb") {
        yield { ...place, content: EMPTY, damage: decoded };
        return piece.endOffset;
      }
    }
    if (piece.kind === "skippable") {
      const place = { offsetBytes: piece.offsetBytes, sizeBytes: piece.endOffset - piece.offsetBytes };
      yield { ...place, content: EMPTY, damage: { kind: "skippable-frame", message: "a skippable frame" } };
      continue;
    }
    const offsetBytes = piece.kind === "frame" ? piece.frame.offsetBytes : piece.offsetBytes;
    const next = await nextFrame(source, offsetBytes + 1, options, budget);
    const endBytes = next ?? source.sizeBytes;
    yield await damagedRegion(
      source,
      piece,
      { offsetBytes, sizeBytes: endBytes - offsetBytes },
      next === null,
      options,
    );
    return next;
  }
  return null;
}

const EMPTY = new Uint8Array(0);

function decode(
  { bytes }: DelimitedFrame,
  { codec, limits }: LookOptions,
): Uint8Array | NonNullable<Region["damage"]> {
  try {
    return codec.decompress(bytes, limits.contentSizeBytesMax);
  } catch (error) {
    if (hasCode(error, "TOO_LARGE")) return { kind: "size-bomb", message: foundIn(error) };
    if (hasCode(error, "CORRUPT_FRAME")) return { kind: "corrupt-frame", message: foundIn(error) };
    throw error;
  }
}

/** Looks at the stretch between the last whole frame and the next one, or the end of the file. */
async function damagedRegion(
  source: LogBytes,
  piece: FramePiece,
  place: BytePlace,
  isLast: boolean,
  { codec, limits }: LookOptions,
): Promise<Region> {
  const { offsetBytes, sizeBytes } = place;
  const bytes = await source.read(offsetBytes, offsetBytes + Math.min(sizeBytes, limits.frameSizeBytesMax));
  const isBegun = FRAME_MAGIC.every((byte, index) => index >= bytes.length || bytes[index] === byte);
  const zeros = trailingZeros(bytes);
  const named = (kind: DamageKind, message: string, content: Uint8Array = EMPTY): Region => {
    return { ...place, content, damage: { kind, message } };
  };
  if (!isBegun) {
    const message = `${sizeBytes} bytes that are no zstd frame`;
    if (zeros < bytes.length) return named(isLast ? "trailing-garbage" : "foreign-bytes", message);
    // Fewer than four zeros are taken for the beginning of a frame by every reader.
    if (isLast && sizeBytes < FRAME_MAGIC.length) return named("torn-tail", `${sizeBytes} bytes of a frame`);
    return named(isLast ? "zero-filled-tail" : "nul-run", `${sizeBytes} zeros`);
  }
  const blocks = wholeBlocks(bytes, codec, limits.contentSizeBytesMax);
  const content = blocks?.content ?? EMPTY;
  // A frame that broke off may end in a zero of its own; a run of them is the medium's.
  if (isLast && zeros >= ZERO_RUN_BYTES && sizeBytes === bytes.length) {
    const message = `a frame that breaks off, and ${zeros} zeros from offset ${offsetBytes + sizeBytes - zeros} on`;
    return named("zero-filled-tail", message, content);
  }
  if (isLast && piece.kind === "torn") return named("torn-tail", `${sizeBytes} bytes of a frame`, content);
  const { kind, message } = frameDamage(piece, blocks, isLast, place);
  return named(kind, message, content);
}

/** How many zeros in a row are none of a frame's own. */
const ZERO_RUN_BYTES = 8;

function frameDamage(
  piece: FramePiece,
  blocks: WholeBlocks | null,
  isLast: boolean,
  { offsetBytes, sizeBytes }: BytePlace,
): { kind: DamageKind; message: string } {
  if (blocks === null) return { kind: "corrupt-frame", message: "a frame with a header that cannot be read" };
  const { goodBlocks, walkedBlocks, hasEnd } = blocks;
  const isWhole = piece.kind === "frame" && piece.endOffset - offsetBytes === sizeBytes;
  if (goodBlocks < walkedBlocks) {
    const message = `block ${goodBlocks + 1} of a frame does not decode; ${goodBlocks} before it do`;
    return { kind: "corrupt-block", message };
  }
  if (hasEnd && (isWhole || isLast)) {
    return { kind: "checksum", message: "the content of a frame does not have its checksum" };
  }
  if (!isLast) {
    return {
      kind: "truncated-block",
      message: `a frame without its end, and a whole frame at ${offsetBytes + sizeBytes}`,
    };
  }
  const message = piece.kind === "corrupt" ? piece.message : "a frame that does not decode";
  return { kind: "corrupt-frame", message };
}

function trailingZeros(bytes: Uint8Array): number {
  if (areZeros(bytes)) return bytes.length;
  let end = bytes.length;
  while (bytes[end - 1] === 0) end -= 1;
  return bytes.length - end;
}
