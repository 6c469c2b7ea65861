/**
 * Stands in for `node:zlib`'s codec where tests run in a browser: the codec that a browser has.
 *
 * @module
 */

export { portableZstd as nodeZstd } from "../../../src/frame/portable_zstd.ts";
