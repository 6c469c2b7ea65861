/**
 * Finds where a damaged file of frames goes on: the next place where a whole frame begins.
 *
 * @module
 */
import { hasCode } from "../../errors.ts";
import { FRAME_MAGIC } from "../../frame/mod.ts";
import { readChunks, readFrames } from "../byte_source.ts";
import type { LogBytes, LookOptions } from "./source.ts";

/** How often, on average, each byte of a file may be walked over or decoded while frames are searched in it. */
export const RESYNC_WALKS_MAX = 8;

/** What trying one place costs at least, in bytes: many places are tried in no time only when there are few of them. */
const CANDIDATE_BYTES = 4096;

/** What a search may still cost, in bytes. One for all searches of a file, so that no file takes more than linear time. */
export interface SearchBudget {
  leftBytes: number;
}

/** The budget for one reading of a file. */
export function searchBudget({ sizeBytes }: LogBytes): SearchBudget {
  return { leftBytes: RESYNC_WALKS_MAX * sizeBytes + 64 * 1024 * 1024 };
}

/**
 * The first offset from `startBytes` on where a whole frame begins: it is walked to its end and decodes, with a right checksum or,
 * without one, to something that begins like a record.
 *
 * @param endBytes candidates begin before it
 * @returns `null` when there is none, or the budget is spent
 */
export async function nextFrame(
  source: LogBytes,
  startBytes: number,
  options: LookOptions,
  budget: SearchBudget,
  endBytes: number = source.sizeBytes,
): Promise<number | null> {
  for await (const offset of magics(source, startBytes, endBytes, options.signal)) {
    if (budget.leftBytes <= 0) return null;
    if (await isFrame(source, offset, options, budget)) return offset;
  }
  return null;
}

/** Every place where the magic number stands. */
async function* magics(
  source: LogBytes,
  startBytes: number,
  endBytes: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<number, void, undefined> {
  const last = FRAME_MAGIC.length - 1;
  let before = new Uint8Array(0);
  let at = startBytes;
  for await (const chunk of readChunks(source, startBytes, Math.min(source.sizeBytes, endBytes + last), signal)) {
    const bytes = new Uint8Array(before.length + chunk.length);
    bytes.set(before);
    bytes.set(chunk, before.length);
    const base = at - before.length;
    // The last byte of the magic number never occurs in text, so it is what is looked for.
    for (
      let end = bytes.indexOf(FRAME_MAGIC[last]!, last);
      end !== -1;
      end = bytes.indexOf(FRAME_MAGIC[last]!, end + 1)
    ) {
      if (FRAME_MAGIC.every((byte, index) => bytes[end - last + index] === byte)) yield base + end - last;
    }
    at += chunk.length;
    before = bytes.slice(-last);
  }
}

async function isFrame(
  source: LogBytes,
  offset: number,
  { codec, limits, signal }: LookOptions,
  budget: SearchBudget,
): Promise<boolean> {
  budget.leftBytes -= CANDIDATE_BYTES;
  const walkable = Math.min(
    source.sizeBytes,
    offset + Math.min(limits.frameSizeBytesMax, Math.max(0, budget.leftBytes)),
  );
  for await (const piece of readFrames(source, offset, walkable, limits.frameSizeBytesMax, signal)) {
    if (piece.kind !== "frame") {
      budget.leftBytes -= piece.kind === "torn" ? piece.bytes.length : FRAME_MAGIC.length;
      return false;
    }
    budget.leftBytes -= piece.frame.bytes.length;
    try {
      const content = codec.decompress(piece.frame.bytes, limits.contentSizeBytesMax);
      budget.leftBytes -= content.length;
      return piece.frame.span.hasChecksum || content[0] === OPENING_BRACE;
    } catch (error) {
      if (hasCode(error, "CORRUPT_FRAME") || hasCode(error, "TOO_LARGE")) return false;
      throw error;
    }
  }
  return false;
}

const OPENING_BRACE = 0x7b;
