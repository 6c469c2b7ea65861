/**
 * Waiting for code that is not ours: hooks, validators, whatever a host or a tool brings.
 *
 * @module
 */
import type { Clock } from "../runtime/runtime.ts";

/**
 * How long a hook is still waited for after a cancel, in milliseconds. A hook that was about to deny still denies; one that hangs
 * does not keep the turn open. Bodies are waited for without a limit.
 */
export const CANCEL_GRACE_MS = 1000;

/** What became of it. */
export type Answer<Value> =
  | { readonly kind: "answered"; readonly value: Value }
  | { readonly kind: "failed"; readonly error: unknown }
  /** It did not answer within the grace after a cancel. What it says later is dropped. */
  | { readonly kind: "given-up" };

/** How long to wait. */
export interface Patience {
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Calls somebody's code and waits for its answer; after a cancel only for {@linkcode CANCEL_GRACE_MS} more. Never rejects.
 *
 * @example
 * ```ts
 * import { answerOf } from "./strangers.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const patience = { signal: new AbortController().signal, clock };
 * const answer = await answerOf(() => JSON.parse("{"), patience);
 * if (answer.kind !== "failed") throw new Error("unreachable");
 * ```
 */
export async function answerOf<Value>(
  call: () => Value | PromiseLike<Value>,
  { signal, clock }: Patience,
): Promise<Answer<Value>> {
  // An async function turns a throw, and a thenable that throws, into a rejection.
  const answered = (async () => await call())().then(
    (value): Answer<Value> => ({ kind: "answered", value }),
    (error): Answer<Value> => ({ kind: "failed", error }),
  );
  const givenUp = Promise.withResolvers<Answer<Value>>();
  let stopTimer = () => {};
  const onAbort = () => stopTimer = clock.schedule(CANCEL_GRACE_MS, () => givenUp.resolve({ kind: "given-up" }));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([answered, givenUp.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    stopTimer();
  }
}

/**
 * Takes an answer where nobody waits for one. If it is a promise after all, its failure must not end the process.
 *
 * @returns the answer
 *
 * @example
 * ```ts
 * import { unawaited } from "./strangers.ts";
 *
 * if (unawaited(7) !== 7) throw new Error("unreachable");
 * unawaited(Promise.reject(new Error("nobody hears this")));
 * ```
 */
export function unawaited<Value>(answer: Value): Value {
  // A callable or an object can be a thenable. An async function turns whatever it does when it is looked at into a rejection.
  if (typeof answer === "object" || typeof answer === "function") (async () => await answer)().catch(() => {});
  return answer;
}
