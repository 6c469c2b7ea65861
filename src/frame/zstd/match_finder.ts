/**
 * Finds earlier text to copy from: greedy, with a table of long matches and one of short matches.
 *
 * @module
 */

/** What to do, in order: copy `literals` new bytes, then `length` bytes from `offset` back. Parallel arrays. */
export interface Matches {
  readonly literals: Uint32Array;
  readonly lengths: Uint32Array;
  readonly offsets: Uint32Array;
  count: number;
}

/** A shorter match is not looked for. */
const SHORT_MATCH = 4;
const LONG_MATCH = 8;

const HASH_LOG_MIN = 8;
const HASH_LOG_MAX = 16;

/** Positions of all texts together stay below it; then the tables are emptied. */
const POSITION_END = 2 ** 30;

/** After this many bytes without a match every second one is looked up, after twice as many every third, and so on. */
const PATIENCE_LOG = 7;

/** Keeps its tables from text to text, so that a small text costs no more than its bytes. */
export class MatchFinder {
  readonly #long: Int32Array = new Int32Array(1 << HASH_LOG_MAX);
  readonly #short: Int32Array = new Int32Array(1 << HASH_LOG_MAX);
  /** Entries below it belong to earlier texts. */
  #base = 1;
  #text: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  #shift = 0;

  /** Takes the text whose matches are asked for next. */
  begin(text: Uint8Array): void {
    this.end(); // Were the last text still there, its positions would be taken for this one's.
    if (this.#base + text.length > POSITION_END) {
      this.#long.fill(0);
      this.#short.fill(0);
      this.#base = 1;
    }
    this.#text = text;
    this.#view = new DataView(text.buffer, text.byteOffset, text.byteLength);
    const log = 32 - Math.clz32(text.length);
    this.#shift = 32 - Math.min(HASH_LOG_MAX, Math.max(HASH_LOG_MIN, log));
  }

  /** Forgets the text: no match of the next one begins in it. */
  end(): void {
    this.#base += this.#text.length;
    this.#text = new Uint8Array(0);
  }

  /**
   * The matches of `[start, end)`. Blocks come in order; a match copies from any of them.
   *
   * @param recentOffset the offset that is cheapest at the start
   * @param matches is filled; needs room for one match in every four bytes
   */
  find(start: number, end: number, windowSizeBytes: number, recentOffset: number, matches: Matches): void {
    const [text, view, shift, base] = [this.#text, this.#view, this.#shift, this.#base];
    const [longTable, shortTable] = [this.#long, this.#short];
    const lookupEnd = end - LONG_MATCH;
    let recent = recentOffset;
    let anchor = start;
    matches.count = 0;
    for (let at = start; at <= lookupEnd;) {
      const low = view.getInt32(at, true);
      const longHash = (Math.imul(low, HASH_LOW) ^ Math.imul(view.getInt32(at + 4, true), HASH_HIGH)) >>> shift;
      const shortHash = Math.imul(low, HASH_SHORT) >>> shift;
      const longAt = longTable[longHash]! - base;
      const shortAt = shortTable[shortHash]! - base;
      longTable[longHash] = at + base;
      shortTable[shortHash] = at + base;

      let source = -1;
      let target = at;
      if (recent <= at && view.getInt32(at + 1 - recent, true) === view.getInt32(at + 1, true)) {
        // The same offset again is nearly free.
        target = at + 1;
        source = target - recent;
      } else if (
        longAt >= 0 && at - longAt <= windowSizeBytes && view.getInt32(longAt, true) === low &&
        view.getInt32(longAt + 4, true) === view.getInt32(at + 4, true)
      ) {
        source = longAt;
      } else if (shortAt >= 0 && at - shortAt <= windowSizeBytes && view.getInt32(shortAt, true) === low) {
        source = shortAt;
        // A long match at the next byte is worth waiting for.
        if (at < lookupEnd) {
          const nextLow = view.getInt32(at + 1, true);
          const nextHigh = view.getInt32(at + 5, true);
          const hash = (Math.imul(nextLow, HASH_LOW) ^ Math.imul(nextHigh, HASH_HIGH)) >>> shift;
          const nextAt = longTable[hash]! - base;
          if (
            nextAt >= 0 && at + 1 - nextAt <= windowSizeBytes && view.getInt32(nextAt, true) === nextLow &&
            view.getInt32(nextAt + 4, true) === nextHigh
          ) {
            source = nextAt;
            target = at + 1;
          }
        }
      }
      if (source < 0) {
        at += 1 + ((at - anchor) >> PATIENCE_LOG);
        continue;
      }

      let matchEnd = target + SHORT_MATCH;
      const offset = target - source;
      while (matchEnd < end && text[matchEnd] === text[matchEnd - offset]) matchEnd += 1;
      while (target > anchor && target - offset > 0 && text[target - 1] === text[target - 1 - offset]) target -= 1;
      if (offset !== recent && matchEnd - target < worthwhileLength(offset)) {
        at += 1 + ((at - anchor) >> PATIENCE_LOG);
        continue;
      }
      matches.literals[matches.count] = target - anchor;
      matches.lengths[matches.count] = matchEnd - target;
      matches.offsets[matches.count] = offset;
      matches.count += 1;
      recent = offset;
      anchor = matchEnd;
      // The match's own start and end are worth finding again.
      this.#remember(at + 1, lookupEnd);
      this.#remember(matchEnd - 2, lookupEnd);
      at = matchEnd;
    }
  }

  #remember(at: number, lookupEnd: number): void {
    if (at > lookupEnd) return;
    const low = this.#view.getInt32(at, true);
    const high = this.#view.getInt32(at + 4, true);
    this.#long[(Math.imul(low, HASH_LOW) ^ Math.imul(high, HASH_HIGH)) >>> this.#shift] = at + this.#base;
    this.#short[Math.imul(low, HASH_SHORT) >>> this.#shift] = at + this.#base;
  }
}

// Odd numbers whose bits look random; any would do.
const HASH_SHORT = 0x9e3779b1 | 0;
const HASH_LOW = 0x85ebca77 | 0;
const HASH_HIGH = 0xc2b2ae3d | 0;

/** A far offset takes more bits than a few literals: measured with logs of events and with source text. */
function worthwhileLength(offset: number): number {
  return offset < 1 << 8 ? SHORT_MATCH : offset < 1 << 12 ? 5 : offset < 1 << 16 ? 6 : 7;
}
