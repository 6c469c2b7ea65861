/**
 * What happened: events, messages, headers, and the parse at the trust boundary.
 *
 * @module
 */
export * from "./json.ts";
export * from "./message.ts";
export * from "./event.ts";
export * from "./header.ts";
export {
  isKnownType,
  isOwnType,
  isRequiredUnknown,
  isSurfaceType,
  KNOWN_TYPES,
  OWN_TYPES,
  SURFACE_TYPES,
} from "./vocabulary.ts";
export * from "./closer_texts.ts";
export { deepEqualJson, freezeJson, JSON_DEPTH_MAX, snapshotJson, snapshotOf } from "./lossless.ts";
export { decodeSourceEventSeqs, encodeSourceEventSeqs, type PhysicalSeq, SOURCE_SEQS_MAX } from "./source_seqs.ts";
export { checkNewHeader, encodeHeader, parseHeader } from "./header_codec.ts";
export { jsonText } from "./json_text.ts";
export { encodeRow, parseRow, readRow, RowFault, rowLooksLikeTurnEnd } from "./row.ts";
export { type ShapedEvent, shapeProblem } from "./shape.ts";
export { checkAppendable } from "./appendable.ts";
export { argumentsDigest, canonicalJson } from "./canonical.ts";
export { replayStream, StreamRecorder, type TimedChunk } from "./stream.ts";
export { wellFormedJson, wellFormedMessage } from "./well_formed.ts";
