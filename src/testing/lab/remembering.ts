/**
 * A codec that remembers: a million crash states hold the same few frames.
 *
 * @module
 */
import type { ZstdCodec } from "../../frame/zstd_codec.ts";

/** How many answers are kept; then everything is forgotten at once. */
const REMEMBERED_MAX = 4096;

/** The same codec, which computes each answer once. What it gave back must not be changed. */
export function remembering(codec: ZstdCodec): ZstdCodec {
  const compressed = new Answers();
  const decompressed = new Answers();
  const salvaged = new Answers();
  return {
    name: codec.name,
    compress: (plain) => compressed.of(plain, () => codec.compress(plain)),
    decompress: (frame, sizeBytesMax) => {
      const content = decompressed.of(frame, () => codec.decompress(frame, sizeBytesMax));
      return content.length <= sizeBytesMax ? content : codec.decompress(frame, sizeBytesMax);
    },
    salvage: (torn, sizeBytesMax) => {
      const content = salvaged.of(torn, () => codec.salvage(torn, sizeBytesMax));
      return content.length <= sizeBytesMax ? content : codec.salvage(torn, sizeBytesMax);
    },
  };
}

interface Answer {
  readonly asked: Uint8Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Answers by what was asked, whole: equal hashes are compared. A refusal is not remembered. */
class Answers {
  #answers = new Map<number, Answer[]>();
  #count = 0;

  of(asked: Uint8Array, compute: () => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const hash = hashOf(asked);
    const known = this.#answers.get(hash)?.find((answer) => isEqual(answer.asked, asked));
    if (known !== undefined) return known.bytes;
    const bytes = compute();
    if (this.#count++ >= REMEMBERED_MAX) {
      this.#answers.clear();
      this.#count = 1;
    }
    const alike = this.#answers.get(hash) ?? [];
    alike.push({ asked: asked.slice(), bytes });
    this.#answers.set(hash, alike);
    return bytes;
  }
}

function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5 ^ bytes.length;
  for (let index = 0; index < bytes.length; index++) hash = Math.imul(hash ^ bytes[index]!, 0x01000193);
  return hash >>> 0;
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}
