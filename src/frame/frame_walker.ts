/**
 * Walks a file that arrives in pieces, holding no more of it than one frame.
 *
 * @module
 */
import { advance, FRAME_SIZE_BYTES_MAX, type FrameCursor, type FrameSpan, spanOf, startCursor } from "./walk.ts";
import type { NoFrame } from "./walk.ts";

/** One complete frame, cut out of the file. */
export interface DelimitedFrame {
  /** Where the frame begins in the file. */
  readonly offsetBytes: number;
  /** Exactly the frame. A view of what was fed or of the walker's buffer: copy it to keep it beyond the next `feed()`. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its shape; offsets count from the start of `bytes`. */
  readonly span: FrameSpan;
}

/** What stands behind the last complete frame. */
export interface FrameRemainder {
  readonly offsetBytes: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Feed it the file in order; it gives back complete frames.
 *
 * @example
 * ```ts
 * import { FrameWalker } from "./frame_walker.ts";
 *
 * const walker = new FrameWalker();
 * walker.feed(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20));
 * const frames = walker.feed(Uint8Array.of(1, 0x09, 0, 0, 0x41, 0x28));
 * if (frames.length !== 1 || walker.end()?.offsetBytes !== 10) throw new Error("unreachable");
 * ```
 */
export class FrameWalker {
  readonly #sizeBytesMax: number;
  /** Where the current frame begins in the file. Everything before it was given out. */
  #frameOffset: number;
  /** Holds the current, incomplete frame in its first `#heldBytes` bytes. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #heldBytes = 0;
  #cursor: FrameCursor = startCursor(0);
  #fault: NoFrame | null = null;

  /**
   * @param offsetBytes where the first byte that will be fed stands in the file
   * @param sizeBytesMax the most bytes of one frame, and so the most that is held
   */
  constructor(offsetBytes = 0, sizeBytesMax: number = FRAME_SIZE_BYTES_MAX) {
    this.#frameOffset = offsetBytes;
    this.#sizeBytesMax = sizeBytesMax;
  }

  /** Why the walk stopped, or `null`. Offsets count from the start of the file. Once set, `feed()` takes nothing more. */
  get fault(): NoFrame | null {
    return this.#fault;
  }

  /** Takes the next bytes of the file and returns the frames they complete. */
  feed(chunk: Uint8Array<ArrayBuffer>): DelimitedFrame[] {
    const frames: DelimitedFrame[] = [];
    let rest = chunk;
    while (rest.length > 0 && this.#fault === null) {
      const window = this.#heldBytes === 0 ? rest : this.#hold(rest);
      const limit = this.#heldBytes === 0 ? rest.length : this.#heldBytes;
      const before = limit - rest.length;
      const problem = advance(this.#cursor, window, limit, this.#sizeBytesMax);
      if (problem !== null) {
        this.#fault = { kind: "corrupt", offsetBytes: this.#frameOffset, message: problem };
        this.#drop();
        break;
      }
      const end = this.#cursor.endOffset;
      if (end === null) {
        if (this.#heldBytes === 0) this.#hold(rest);
        break;
      }
      frames.push({
        offsetBytes: this.#frameOffset,
        bytes: window.subarray(0, end),
        span: spanOf(this.#cursor, end),
      });
      this.#frameOffset += end;
      this.#drop();
      rest = rest.subarray(end - before);
    }
    return frames;
  }

  /** The torn tail once everything was fed; `null` when the file ended with a frame, or with a fault. */
  end(): FrameRemainder | null {
    if (this.#fault !== null || this.#heldBytes === 0) return null;
    return { offsetBytes: this.#frameOffset, bytes: this.#held.subarray(0, this.#heldBytes) };
  }

  /** Adds bytes to the held frame, in room that doubles. */
  #hold(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const neededBytes = this.#heldBytes + bytes.length;
    if (neededBytes > this.#held.length) {
      const grown = new Uint8Array(Math.max(neededBytes, 2 * this.#held.length));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes = neededBytes;
    return this.#held;
  }

  /** Forgets the current frame. Its bytes may have been given out, so the buffer is not reused. */
  #drop(): void {
    this.#held = new Uint8Array(0);
    this.#heldBytes = 0;
    this.#cursor = startCursor(0);
  }
}
