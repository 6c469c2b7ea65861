/**
 * How far crash states are enumerated.
 *
 * @module
 */

/** Draws an integer from 0 to `limit - 1`. */
export interface Draws {
  below(limit: number): number;
}

/** How far the enumeration goes. */
export interface CrashBounds {
  /** The unit a device writes whole or not at all: a sector. */
  readonly blockBytes: number;
  /**
   * Of a write with more bytes than this, not every prefix is enumerated: only those within {@linkcode PREFIX_EDGE_BYTES} of
   * either end, and those within a byte of a block's edge.
   */
  readonly prefixBytesMax: number;
  /**
   * When the blocks of a file can be combined in more ways than this (for one length), only these are enumerated: the newest
   * up to some block and the oldest behind it, the other way round, one block alone with each of its contents beside the oldest
   * of the others, and beside their newest. 0: no blocks at all, a medium that does everything in order.
   */
  readonly blockCombinationsMax: number;
  /**
   * When the waiting names of a folder can be combined in more ways than this, only these are enumerated: the first so many
   * changes, one change alone missing, one change alone there.
   */
  readonly nameCombinationsMax: number;
}

/** How close to the ends of a large write every prefix is enumerated. */
export const PREFIX_EDGE_BYTES = 16;

/** The bounds of the enumeration unless others are asked for. */
export const CRASH_BOUNDS: CrashBounds = {
  blockBytes: 512,
  prefixBytesMax: 4096,
  blockCombinationsMax: 64,
  nameCombinationsMax: 64,
};
