/**
 * Session logs of other programs, read as sessions of ours.
 *
 * @module
 */
export {
  FOREIGN_BATCH_EVENTS_MAX,
  FOREIGN_BATCH_SIZE_MAX,
  type ForeignLog,
  type ForeignReport,
  type ForeignSource,
  openForeign,
} from "./open_foreign.ts";
export { FOREIGN_LINE_BYTES_MAX, FOREIGN_LINES_MAX } from "./lines.ts";
export type { ForeignLoss } from "./losses.ts";
export type { ForeignFacts, ForeignFormat } from "./reader.ts";
export { RECOGNISE_BYTES_MAX, RECOGNISE_LINES_MAX, recogniseForeign } from "./recognise.ts";
