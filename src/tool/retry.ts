/**
 * Recognises a call that repeats one whose outcome is unknown, and gives it the same key.
 *
 * @see architecture "Crash classes", Retry
 * @module
 */
import { argumentsDigest } from "../event/mod.ts";
import type { UnresolvedEffect } from "../fold/mod.ts";

/** What a repeated call inherits. */
export interface EarlierTry {
  /** seq of the original `tool/call`. */
  readonly retryOf: number;
  /** seq of the newest call that is equal and unknown: with another one, this is another question. */
  readonly newestSeq: number;
  /** `null` when the original left no marker, and so no key. */
  readonly effectKey: string | null;
  /** Whether the target cannot tell a repetition from a second effect. */
  readonly isOpaque: boolean;
  /** Whether a person allowed this repetition. */
  readonly isGranted: boolean;
}

/**
 * Finds the effect that a call of this tool with these arguments would repeat; `null` when there is none.
 *
 * Key and `retryOf` come from the one that a person granted a repetition of, else from the oldest: that is the effect to
 * deduplicate. A grant is spent by the marker of the repetition.
 *
 * @param effects those that run no more: what runs beside this call is a second effect, not something it repeats
 * @param digest of the call's arguments
 *
 * @example
 * ```ts
 * import { argumentsDigest } from "../event/mod.ts";
 * import { earlierTry } from "./retry.ts";
 *
 * const call = { turn: 1, step: 1, callId: "c1", callSeq: 9, name: "pay", arguments: '{"a":1,"b":2}' };
 * const effect = { ...call, effectKey: "k", effect: "opaque" as const, isClosed: true, retryGranted: false };
 * const found = await earlierTry([effect], "pay", await argumentsDigest('{"b":2,"a":1}'));
 * if (found?.retryOf !== 9) throw new Error("unreachable");
 * ```
 */
export async function earlierTry(
  effects: readonly UnresolvedEffect[],
  name: string,
  digest: string,
): Promise<EarlierTry | null> {
  const equal: UnresolvedEffect[] = [];
  for (const effect of effects) {
    if (effect.name === name && await argumentsDigest(effect.arguments) === digest) equal.push(effect);
  }
  const granted = equal.find((effect) => effect.retryGranted);
  const original = granted ?? equal[0];
  if (original === undefined) return null;
  return {
    retryOf: original.retryOf ?? original.callSeq,
    newestSeq: equal.at(-1)!.callSeq,
    effectKey: original.effectKey,
    isOpaque: equal.some((effect) => effect.effect === "opaque"),
    isGranted: granted !== undefined,
  };
}
