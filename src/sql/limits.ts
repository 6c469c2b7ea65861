/**
 * Every bound of a store over a database, with its name. Where the journal has the same bound, it has the same value.
 *
 * @module
 */

/** How many events one page holds unless the caller says otherwise. */
export const PAGE_EVENTS_DEFAULT = 1000;

/** A page ends early at this much stored text, in bytes; it holds at least one event. */
export const PAGE_BYTES_MAX: number = 8 * 1024 * 1024;

/** How many rows one statement reads. */
export const READ_ROWS_MAX = 64;

/** How many rows one statement writes. */
export const WRITE_ROWS_MAX = 64;

/** The most text of one event, and the most bytes of one blob, in bytes: what every database here can hold in one column. */
export const CONTENT_SIZE_BYTES_MAX: number = 256 * 1024 * 1024;

/** The most bytes a listing reads of one session. Logs up to this size are wholly checked. */
export const LIST_BYTES_MAX: number = 64 * 1024;

/** How often a watcher looks for what other processes appended, in milliseconds. */
export const WATCH_POLL_MS = 200;

/** The first and the longest pause between two tries for a claim, in milliseconds. */
export const CLAIM_POLL_MS_MIN = 10;
/** See CLAIM_POLL_MS_MIN. */
export const CLAIM_POLL_MS_MAX = 250;

/** How long the escaped form of an id may be, in UTF-16 units: as long as a folder's name, so that every session fits into files. */
export const ID_UNITS_MAX = 255;
