/**
 * Every bound of the journal, with its name.
 *
 * @module
 */
import { CONTENT_SIZE_BYTES_MAX, FRAME_SIZE_BYTES_MAX } from "../frame/mod.ts";

/** The most plain text one frame of ours holds, in bytes; only a single row may be larger. A larger batch becomes several frames. */
export const BATCH_BYTES_MAX: number = 1024 * 1024;

/** How many events one page holds unless the caller says otherwise. */
export const PAGE_EVENTS_DEFAULT = 1000;

/** A page ends early at this much plain text, in bytes; it holds at least one event. */
export const PAGE_BYTES_MAX: number = 8 * 1024 * 1024;

/** How much of a log is read at once, in bytes. */
export const READ_CHUNK_BYTES: number = 256 * 1024;

/** The most bytes a listing reads of one session. Logs up to this size are wholly checked. */
export const LIST_BYTES_MAX: number = 64 * 1024;

/** The most plain text a listing decodes of one frame, in bytes. A log with a larger one is listed as `unchecked`. */
export const LIST_CONTENT_BYTES_MAX: number = 8 * 1024 * 1024;

/** How often a watcher looks for what other processes appended, in milliseconds. */
export const WATCH_POLL_MS = 200;

/** The first and the longest pause between two tries for a lock, in milliseconds. */
export const LOCK_POLL_MS_MIN = 10;
/** See LOCK_POLL_MS_MIN. */
export const LOCK_POLL_MS_MAX = 250;

/** How many copies of torn tails that are not current are kept. */
export const TORN_COPIES_MAX = 8;

/** How many bytes those copies may have together; the newest is kept whatever its size. */
export const TORN_COPIES_BYTES_MAX: number = 16 * 1024 * 1024;

/** How many entries the seek index of one log has at most; then it gets coarser. */
export const SEEK_ENTRIES_MAX = 65_536;

/** A snapshot is worth writing when the log has grown by so many events since the last one, or by SNAPSHOT_GROWTH_BYTES. */
export const SNAPSHOT_GROWTH_EVENTS = 4096;
/** See SNAPSHOT_GROWTH_EVENTS. */
export const SNAPSHOT_GROWTH_BYTES: number = 1024 * 1024;

/** The most bytes a snapshot may have. A log whose state is larger is read whole. */
export const SNAPSHOT_BYTES_MAX: number = 64 * 1024 * 1024;

/** The most bytes the last frame of a log may have for a snapshot to be written, because every opening reads it twice. */
export const SNAPSHOT_LAST_FRAME_BYTES_MAX: number = 8 * 1024 * 1024;

/**
 * How much of the end of what a snapshot stands for is compared when a log is opened by it, in bytes; more when the last frame is
 * larger. A last frame alone may be a short line that another history of the same session ends with, too.
 */
export const SNAPSHOT_COMPARED_BYTES: number = 64 * 1024;

/** How fast what a snapshot stands for is read again in the background, in bytes of the log per second. */
export const PREFIX_CHECK_BYTES_PER_SECOND: number = 1024 * 1024;

/** How much of it at a time, in bytes: what is done between two pauses. */
export const PREFIX_CHECK_PIECE_BYTES: number = 32 * 1024;

/** The bounds a caller may move. */
export interface JournalLimits {
  /** The most content of one frame, one row, or one blob, in bytes. Default CONTENT_SIZE_BYTES_MAX (256 MiB). */
  readonly contentSizeBytesMax: number;
  /** The most bytes one frame may take in the file. Default FRAME_SIZE_BYTES_MAX (257 MiB). */
  readonly frameSizeBytesMax: number;
  /** Default BATCH_BYTES_MAX (1 MiB). */
  readonly batchBytesMax: number;
  /** Default SNAPSHOT_GROWTH_EVENTS (4096). `Infinity`, here and in `snapshotGrowthBytes`, writes no snapshots. */
  readonly snapshotGrowthEvents: number;
  /** Default SNAPSHOT_GROWTH_BYTES (1 MiB). */
  readonly snapshotGrowthBytes: number;
}

/** The bounds when nobody says otherwise. */
export const JOURNAL_LIMITS: JournalLimits = {
  contentSizeBytesMax: CONTENT_SIZE_BYTES_MAX,
  frameSizeBytesMax: FRAME_SIZE_BYTES_MAX,
  batchBytesMax: BATCH_BYTES_MAX,
  snapshotGrowthEvents: SNAPSHOT_GROWTH_EVENTS,
  snapshotGrowthBytes: SNAPSHOT_GROWTH_BYTES,
};
