/**
 * Zstd frames and JSON lines: where frames lie, what may be decoded, and the port of the codec that decodes.
 *
 * The two codecs have doors of their own: `node_zstd.ts` needs `node:zlib`, `portable_zstd.ts` nothing.
 *
 * @module
 */
export * from "./zstd_codec.ts";
export {
  BLOCK_SIZE_BYTES_MAX,
  CONTENT_SIZE_BYTES_MAX,
  FRAME_MAGIC,
  FRAME_SIZE_BYTES_MAX,
  type FrameHeader,
  type FrameSpan,
  type FramesWalk,
  type FrameWalk,
  type NoFrame,
  type TornFrame,
  walkFrame,
  walkFrames,
} from "./walk.ts";
export * from "./frame_walker.ts";
export * from "./lines.ts";
export * from "./last_frames.ts";
export * from "./xxh64.ts";
