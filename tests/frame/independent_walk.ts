/**
 * A second walk over a zstd log, written from the session format §5.1 and §5.2 alone, to judge what the library writes and
 * finds. It imports nothing, and it is meant to stay this plain.
 *
 * @module
 */

/** One complete frame: its bytes are `file.subarray(start, end)`. */
export interface JudgedFrame {
  readonly start: number;
  readonly end: number;
  readonly hasChecksum: boolean;
  readonly contentSize: bigint | null;
  readonly blockTypes: readonly ("raw" | "rle" | "compressed")[];
}

/** What the file is: complete frames, then perhaps a torn one, or a place where no frame can be. */
export interface Judgement {
  readonly frames: readonly JudgedFrame[];
  readonly tornStart: number | null;
  readonly corruptAt: number | null;
}

class Torn extends Error {}
class Corrupt extends Error {}

/** Walks the whole file. */
export function judge(file: Uint8Array): Judgement {
  const frames: JudgedFrame[] = [];
  let position = 0;
  while (position < file.byteLength) {
    try {
      const frame = judgeFrame(file, position);
      frames.push(frame);
      position = frame.end;
    } catch (error) {
      if (error instanceof Torn) return { frames, tornStart: position, corruptAt: null };
      if (error instanceof Corrupt) return { frames, tornStart: null, corruptAt: position };
      throw error;
    }
  }
  return { frames, tornStart: null, corruptAt: null };
}

function judgeFrame(file: Uint8Array, start: number): JudgedFrame {
  let position = start;
  /** The next `count` bytes as one little-endian number, or the end of the file: torn. */
  function take(count: number): bigint {
    if (position + count > file.byteLength) throw new Torn();
    let value = 0n;
    for (let index = 0; index < count; index++) value |= BigInt(file[position + index]!) << BigInt(8 * index);
    position += count;
    return value;
  }

  if (take(4) !== 0xFD2FB528n) throw new Corrupt();
  const descriptor = Number(take(1));
  if (descriptor & 0b0000_1000 || descriptor & 0b0001_0000) throw new Corrupt();
  const contentSizeFlag = descriptor >> 6;
  const isSingleSegment = (descriptor & 0b0010_0000) !== 0;
  const hasChecksum = (descriptor & 0b0000_0100) !== 0;
  const dictionaryFlag = descriptor & 0b0000_0011;

  if (!isSingleSegment) take(1); // window descriptor
  take(dictionaryFlag === 3 ? 4 : dictionaryFlag);
  let contentSize: bigint | null = null;
  if (contentSizeFlag === 0 && isSingleSegment) contentSize = take(1);
  if (contentSizeFlag === 1) contentSize = take(2) + 256n;
  if (contentSizeFlag === 2) contentSize = take(4);
  if (contentSizeFlag === 3) contentSize = take(8);

  const blockTypes: JudgedFrame["blockTypes"][number][] = [];
  for (;;) {
    const header = Number(take(3));
    const type = (["raw", "rle", "compressed", "reserved"] as const)[(header >> 1) & 3]!;
    if (type === "reserved") throw new Corrupt();
    const payload = type === "rle" ? 1 : header >> 3;
    if (position + payload > file.byteLength) throw new Torn();
    position += payload;
    blockTypes.push(type);
    if (header & 1) break;
  }
  if (hasChecksum) take(4);
  return { start, end: position, hasChecksum, contentSize, blockTypes };
}
