/**
 * Unpacking deflated bytes whose length is known, by the platform.
 *
 * @see RFC 1951
 * @module
 */

/** How much is handed to the platform at once, in bytes: it may unpack all of it before anybody can stop it. */
const PIECE_BYTES = 16 * 1024;

/** Deflate packs at most so many bytes into one: what claims more lies, and no memory is set aside for it. */
const RATIO_MAX = 1032;

/**
 * Unpacks a raw deflate stream. What is longer than it should be is given up at once, so that a few bytes that stand for very
 * many cost no memory.
 *
 * @param sizeBytes how many bytes it must become
 * @returns `null` when it is no deflate stream, or becomes fewer or more bytes
 *
 * @example
 * ```ts
 * import { inflate } from "./inflate.ts";
 *
 * const empty = new Uint8Array([0x03, 0x00]);
 * if ((await inflate(empty, 0))?.length !== 0 || await inflate(empty, 1) !== null) throw new Error("unreachable");
 * ```
 */
export async function inflate(
  deflated: Uint8Array<ArrayBuffer>,
  sizeBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (sizeBytes > deflated.length * RATIO_MAX) return null;
  const reader = pieces(deflated).pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const content = new Uint8Array(sizeBytes);
  let at = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      if (at + value.length > sizeBytes) {
        await reader.cancel();
        return null;
      }
      content.set(value, at);
      at += value.length;
    }
  } catch {
    // What the platform says is a TypeError of its own words, and means only that these bytes are damaged.
    return null;
  }
  return at === sizeBytes ? content : null;
}

function pieces(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at += PIECE_BYTES));
    },
  });
}
