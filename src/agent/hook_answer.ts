/**
 * Waiting for listeners, who may throw, hang, or answer when nobody waits any more.
 *
 * @module
 */
import { untilAborted } from "../writer/until_aborted.ts";

/**
 * What a dispatch is answered with. The turn's cancel ends the waiting; a later answer is dropped.
 *
 * @param dispatch enters the listeners; what it throws rejects
 * @throws the signal's reason, also when the cancel came with the answer
 *
 * @example
 * ```ts
 * import { hookAnswer } from "./hook_answer.ts";
 *
 * const controller = new AbortController();
 * const answer = hookAnswer(controller.signal, () => new Promise<never>(() => {}));
 * controller.abort("enough");
 * if (await answer.catch((reason) => reason) !== "enough") throw new Error("unreachable");
 * ```
 */
export async function hookAnswer<Answer>(
  signal: AbortSignal,
  dispatch: () => Answer | PromiseLike<Answer>,
): Promise<Answer> {
  signal.throwIfAborted();
  const answer = await untilAborted(new Promise<Answer>((resolve) => resolve(dispatch())), signal);
  signal.throwIfAborted();
  return answer;
}
