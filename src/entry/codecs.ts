/**
 * The zstd codecs by themselves, for whoever compares them. A store brings its own.
 *
 * @module
 */
export { nodeZstd } from "../frame/node_zstd.ts";
export { portableZstd } from "../frame/portable_zstd.ts";
export type { ZstdCodec } from "../frame/zstd_codec.ts";
