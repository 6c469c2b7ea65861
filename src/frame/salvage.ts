/**
 * What the whole blocks of a torn frame still yield. The same for every decoder.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import { rebuildFrame } from "./rebuild.ts";
import { walkFrame } from "./walk.ts";

/**
 * Decodes as many whole blocks of a torn frame as fit into `sizeBytesMax`, or nothing when the decoder refuses them.
 *
 * A checksum, when there is one, covers bytes that are missing: what comes back is unverified.
 *
 * @param decode decodes one whole frame; throws `TOO_LARGE` when the content is over the limit
 */
export function salvageBlocks(
  torn: Uint8Array,
  sizeBytesMax: number,
  decode: (frame: Uint8Array<ArrayBuffer>, sizeBytesMax: number) => Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const walk = walkFrame(torn, 0);
  if (walk.kind !== "torn" || walk.header === null) return new Uint8Array(0);
  const { header, contentSizeBytesMost } = walk;
  const attempt = (blocks: number) => decode(rebuildFrame(torn, header, blocks, contentSizeBytesMost), sizeBytesMax);

  let fits = new Uint8Array(0);
  // The search looks at all blocks first, which nearly always fit; else it halves: few attempts, whatever the number of blocks.
  let fewest = 0;
  let most = walk.wholeBlocks;
  for (let blocks = most; fewest < most; blocks = Math.ceil((fewest + most) / 2)) {
    try {
      fits = attempt(blocks);
      fewest = blocks;
    } catch (error) {
      if (!hasCode(error, "TOO_LARGE")) return new Uint8Array(0);
      most = blocks - 1;
    }
  }
  return fits;
}
