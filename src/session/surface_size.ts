/**
 * The bound of what a session holds in memory: the conversation the model would be shown.
 *
 * Everything else of a log stays on its medium. A conversation that fits into no memory is refused while it is read, before the
 * process dies of it.
 *
 * @module
 */
import { TooLargeError } from "../errors.ts";
import type { LogFolds } from "../fold/mod.ts";

/** How many tokens a conversation may have, by the heuristic; of plain English it is a text of 64 MiB. No model reads as much. */
export const SURFACE_TOKENS_MAX: number = 16 * 1024 * 1024;

/**
 * Watches a conversation while its log is read, and ends the reading when it is over the bound.
 *
 * The reading is ended by its signal: what a visitor throws would be taken for a verdict about the bytes.
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { SurfaceBound } from "./surface_size.ts";
 *
 * const bound = new SurfaceBound("a");
 * bound.watch(logFold.initial());
 * if (bound.signal.aborted) throw new Error("unreachable");
 * ```
 */
export class SurfaceBound {
  /** Aborted with a `TOO_LARGE`, or when the caller's is. */
  readonly signal: AbortSignal;
  readonly #id: string;
  readonly #tokensMax: number;
  readonly #over = new AbortController();

  constructor(id: string, signal?: AbortSignal, tokensMax: number = SURFACE_TOKENS_MAX) {
    this.#id = id;
    this.#tokensMax = tokensMax;
    this.signal = signal === undefined ? this.#over.signal : AbortSignal.any([signal, this.#over.signal]);
  }

  /** Looks at the folds after an event. Cheap: the meter has the sum. */
  watch({ meter, nextSeq }: Pick<LogFolds, "meter" | "nextSeq">): void {
    if (meter.surfaceTokens <= this.#tokensMax || this.#over.signal.aborted) return;
    const found = `up to event ${nextSeq - 1} its conversation has ${meter.surfaceTokens} tokens, over the bound of ` +
      `${this.#tokensMax}. Nothing was changed; to go on, fork it at an earlier event`;
    this.#over.abort(new TooLargeError(`Cannot open session "${this.#id}": ${found}`));
  }

  /** @throws {TooLargeError} when it is over, also when nothing was left to read */
  check(): void {
    this.#over.signal.throwIfAborted();
  }
}
