/**
 * The zstd port: one frame in, one frame out.
 *
 * Where a frame begins and ends is always found by our own walk (`walk.ts`), never by a decoder: decoders disagree about
 * torn and concatenated input.
 *
 * @module
 */

/** Compresses and decompresses single zstd frames. Two implementations pass one contract suite. */
export interface ZstdCodec {
  /** For people: "node:zlib", "portable". */
  readonly name: string;

  /** One standard frame with the content checksum on (RFC 8878 §3.1.1). */
  compress(plain: Uint8Array): Uint8Array<ArrayBuffer>;

  /**
   * The content of exactly one complete frame, its checksum verified when the frame carries one.
   *
   * @param frame exactly one frame, as delimited by the walk
   * @param sizeBytesMax the most that may be allocated
   * @throws {CorruptFrameError} when the frame does not decode or its checksum is wrong
   * @throws {TooLargeError} when the content is, or says it is, larger; nothing of that size was allocated
   */
  decompress(frame: Uint8Array, sizeBytesMax: number): Uint8Array<ArrayBuffer>;

  /**
   * Whatever whole blocks of a torn frame still yield; empty when there are none or the decoder refuses. Never throws.
   *
   * @param torn the bytes from the frame's start to the end of the file
   */
  salvage(torn: Uint8Array, sizeBytesMax: number): Uint8Array<ArrayBuffer>;
}
