/**
 * What this tab asks the tab that writes a session, until it is answered.
 *
 * A request is sent again whenever another tab takes over, and from time to time. That is harmless: an input carries its id into
 * the log, and an answer to a question counts once.
 *
 * @module
 */
import { BufferFullError } from "../../mod.ts";
import type { Forwarded } from "./tab_messages.ts";
import { Refusal } from "./wire.ts";

/** How many requests of one session may wait. */
export const FORWARDS_MAX = 64;
/** How long a request waits for an owner, in milliseconds. */
export const FORWARD_WAIT_MS = 60_000;
/** After how many milliseconds it is sent to the same owner again. */
export const FORWARD_AGAIN_MS = 2_000;

/** A request that waits. */
export interface Forward {
  readonly nonce: string;
  readonly forwarded: Forwarded;
  readonly askedMs: number;
  /** Whom it was sent to last; `null` before that. */
  sentTo: string | null;
  sentMs: number;
  readonly settled: PromiseWithResolvers<unknown>;
}

/** The requests of one session that wait. */
export class Forwards {
  readonly #waiting = new Map<string, Forward>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  get all(): readonly Forward[] {
    return [...this.#waiting.values()];
  }

  /**
   * Adds one.
   *
   * @throws {BufferFullError} when FORWARDS_MAX wait
   */
  add(nonce: string, forwarded: Forwarded, nowMs: number): Promise<unknown> {
    if (this.#waiting.size >= FORWARDS_MAX) {
      throw new BufferFullError(`Cannot forward "${forwarded.verb}": ${FORWARDS_MAX} requests wait for the owner`);
    }
    const settled = Promise.withResolvers<unknown>();
    this.#waiting.set(nonce, { nonce, forwarded, askedMs: nowMs, sentTo: null, sentMs: 0, settled });
    return settled.promise;
  }

  /** Those that this owner should get now. They count as sent. */
  due(owner: string, nowMs: number): readonly Forward[] {
    const due = this.all.filter(({ sentTo, sentMs }) => sentTo !== owner || nowMs - sentMs >= FORWARD_AGAIN_MS);
    for (const forward of due) Object.assign(forward, { sentTo: owner, sentMs: nowMs });
    return due;
  }

  resolve(nonce: string, answer: unknown): void {
    this.#waiting.get(nonce)?.settled.resolve(answer);
    this.#waiting.delete(nonce);
  }

  reject(nonce: string, error: unknown): void {
    this.#waiting.get(nonce)?.settled.reject(error);
    this.#waiting.delete(nonce);
  }

  rejectAll(error: unknown): void {
    for (const { nonce } of this.all) this.reject(nonce, error);
  }

  /** Gives up on those that waited too long. */
  expire(nowMs: number): void {
    for (const { nonce, forwarded, askedMs } of this.all) {
      if (nowMs - askedMs < FORWARD_WAIT_MS) continue;
      const found = "no tab took it; it may still be taken, and the same request again is harmless";
      this.reject(nonce, new Refusal("LOCK_HELD", `Cannot ${forwarded.verb}: ${found}`));
    }
  }
}
