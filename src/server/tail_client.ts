/**
 * One client of a tail: where it is, what it is handed next, and what happens when it takes nothing.
 *
 * Durable frames are not kept for it: it has a position in the log. Live frames are, up to a bound, and each says behind which
 * seq it belongs, so that a client which catches up sees both in the order in which they happened.
 *
 * @module
 */
import { LIVE_FRAMES_MAX, LIVE_SIZE_BYTES_MAX, STALLED_HEARTBEATS_MAX, TAIL_CHUNK_BYTES_MAX } from "./limits.ts";
import { closedFrame, type Closing, HEARTBEAT, LIVE_DROPPED, OPENING } from "./sse.ts";
import type { TailLog } from "./tail_log.ts";

interface LiveEntry {
  /** The durable frames before this seq come first. */
  readonly afterSeq: number;
  /** Of the event it shows; `null` when it shows none. The durable frame of this seq makes it useless. */
  readonly seq: number | null;
  readonly frame: Uint8Array;
}

/** What a client is made from. */
export interface TailClientParts {
  readonly log: TailLog;
  /** The first seq it gets. */
  readonly from: number;
  /** Whether it wants live frames. */
  readonly wantsLive: boolean;
  /** Called once, when nothing is sent to it any more. */
  readonly onEnd: () => void;
}

/**
 * A client.
 *
 * @example
 * ```ts
 * import type { TailLog } from "./tail_log.ts";
 * import { TailClient } from "./tail_client.ts";
 *
 * function responseFor(log: TailLog): Response {
 *   return new Response(new TailClient({ log, from: 0, wantsLive: true, onEnd() {} }).stream);
 * }
 * ```
 */
export class TailClient {
  /** What is sent. */
  readonly stream: ReadableStream<Uint8Array>;
  readonly #log: TailLog;
  readonly #wantsLive: boolean;
  readonly #onEnd: () => void;
  /** The next durable seq it gets. */
  #next: number;
  #live: LiveEntry[] = [];
  #liveBytes = 0;
  /** Wakes the one who waits for something to send; `null` while nobody waits. */
  #wake: (() => void) | null = null;
  #owesHeartbeat = false;
  /** Heartbeats since anything was taken. */
  #stalledHeartbeats = 0;
  #closing: Closing | null = null;
  #isOver = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor({ log, from, wantsLive, onEnd }: TailClientParts) {
    this.#log = log;
    this.#next = from;
    this.#wantsLive = wantsLive;
    this.#onEnd = onEnd;
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
        controller.enqueue(OPENING);
      },
      pull: () => this.#pull(),
      cancel: () => this.end(),
    });
  }

  /** Something may be there to send. */
  wake(): void {
    this.#wake?.();
    this.#wake = null;
  }

  /** Hands it what is for the eyes only. Over the bound everything that waits is dropped. */
  tell(frame: Uint8Array, seq: number | null): void {
    if (!this.#wantsLive || this.#isOver) return;
    if (this.#live.length >= LIVE_FRAMES_MAX || this.#liveBytes + frame.length > LIVE_SIZE_BYTES_MAX) {
      this.#live = [{ afterSeq: this.#log.head, seq: null, frame: LIVE_DROPPED }];
      this.#liveBytes = LIVE_DROPPED.length;
    }
    this.#live.push({ afterSeq: this.#log.head, seq, frame });
    this.#liveBytes += frame.length;
    this.wake();
  }

  /** Time has passed: says that the server is there, and ends a client that takes nothing. */
  beat(): void {
    if (this.#isOver) return;
    if (this.#wake !== null) {
      this.#owesHeartbeat = true;
      this.wake();
      return;
    }
    this.#stalledHeartbeats += 1;
    if (this.#stalledHeartbeats === STALLED_HEARTBEATS_MAX) {
      this.close({ code: "slow", detail: `nothing was taken for ${STALLED_HEARTBEATS_MAX} heartbeats` });
    } else if (this.#stalledHeartbeats > STALLED_HEARTBEATS_MAX) {
      // It does not even take the last frame.
      this.#controller.error(new Error("the client took nothing"));
      this.end();
    }
  }

  /** Sends a last frame and ends. What is durable and was not sent yet is for the next connection. */
  close(closing: Closing): void {
    this.#closing ??= closing;
    this.wake();
  }

  /** Nobody reads any more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#live = [];
    this.wake();
    this.#onEnd();
  }

  async #pull(): Promise<void> {
    this.#stalledHeartbeats = 0;
    for (;;) {
      if (this.#isOver) return;
      if (this.#closing !== null) {
        this.#controller.enqueue(closedFrame(this.#closing));
        this.#controller.close();
        return this.end();
      }
      let frames: readonly Uint8Array[];
      try {
        frames = this.#dueLive() ?? await this.#dueDurable();
      } catch (error) {
        this.close({ code: codeOf(error), detail: "the log cannot be read any further" });
        continue;
      }
      if (this.#isOver) return;
      if (frames.length === 0 && this.#owesHeartbeat) frames = [HEARTBEAT];
      if (frames.length > 0) {
        this.#owesHeartbeat = false;
        return this.#controller.enqueue(frames.length === 1 ? frames[0]! : joined(frames));
      }
      await new Promise<void>((wake) => this.#wake = wake);
    }
  }

  /** The live frames that come next, `null` when durable ones come first or there are none. */
  #dueLive(): readonly Uint8Array[] | null {
    let count = 0;
    let sizeBytes = 0;
    for (const { afterSeq, frame } of this.#live) {
      if (afterSeq > this.#next || (count > 0 && sizeBytes + frame.length > TAIL_CHUNK_BYTES_MAX)) break;
      count += 1;
      sizeBytes += frame.length;
    }
    if (count === 0) return null;
    this.#liveBytes -= sizeBytes;
    const due = this.#live.splice(0, count).filter(({ seq }) => seq === null || seq >= this.#next);
    return due.length === 0 ? this.#dueLive() : due.map(({ frame }) => frame);
  }

  async #dueDurable(): Promise<readonly Uint8Array[]> {
    const found = this.#log.from(this.#next);
    const frames = found instanceof Promise ? await found : found;
    const liveSeq = this.#live[0]?.afterSeq ?? Infinity;
    let count = 0;
    let sizeBytes = 0;
    for (const frame of frames) {
      if (count > 0 && sizeBytes + frame.length > TAIL_CHUNK_BYTES_MAX) break;
      // Live frames that came in between are sent in between.
      if (count > 0 && this.#next + count === liveSeq) break;
      count += 1;
      sizeBytes += frame.length;
    }
    this.#next += count;
    return frames.slice(0, count);
  }
}

function joined(frames: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(frames.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const frame of frames) {
    bytes.set(frame, offset);
    offset += frame.length;
  }
  return bytes;
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "INTERNAL";
}
