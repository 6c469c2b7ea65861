/**
 * What a tool is asked about a call of its whose outcome is unknown, and what it can answer.
 *
 * @see architecture "Order at resume"
 * @module
 */
import type { EffectClass } from "../event/mod.ts";

/** What a tool is asked about: one effect, named by its key. `Args` is what the checked arguments are. */
export interface EffectLookup<Args> {
  /** The key under which the body ran; a retry has the same one. */
  readonly effectKey: string;
  /** The arguments of the call, checked as for the body. */
  readonly args: Args;
  /** As declared when it was dispatched. */
  readonly effect: EffectClass;
  /** seq of the call in the log. */
  readonly callSeq: number;
  /** Aborts when the time is up: whatever is answered later is dropped. */
  readonly signal: AbortSignal;
}

/** What a tool answers. `Result` is what its body would have returned. */
export type LookupAnswer<Result> =
  /** The effect is there. */
  | { readonly verdict: "happened"; readonly result?: Result; readonly note?: string }
  /**
   * The effect is not there and never will be: nothing under this key can take effect any more. It is a promise, not an
   * observation. A lookup that found nothing, while a request may still be under way, is undecidable.
   */
  | { readonly verdict: "absent"; readonly note?: string }
  /** Neither is certain. */
  | { readonly verdict: "undecidable"; readonly note?: string };
