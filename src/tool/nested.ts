/**
 * Calls that a body makes itself.
 *
 * @see execution §3.7
 * @module
 */
import type { Message } from "../event/mod.ts";
import type { NestedOptions } from "./call.ts";
import { CONTEXTS_MAX } from "./contexts.ts";
import type { ToolOutcome } from "./outcome.ts";

/** How many calls the body of one call may make. */
export const NESTED_CALLS_MAX = 1000;
/** How many bodies may be around a call. */
export const NESTED_DEPTH_MAX = 8;

/** A call as a body proposes it. */
export interface ProposedNestedCall {
  /** From 1, in the order of submission; goes on when the body is run again. */
  readonly position: number;
  readonly name: string;
  readonly args: unknown;
  /** Aborts with the body that made it, and when that body is over. */
  readonly signal: AbortSignal;
}

/** Numbers the nested calls of one call, however often its body runs. */
export class NestedCalls {
  readonly #run: (proposed: ProposedNestedCall) => Promise<ToolOutcome>;
  readonly #depth: number;
  #count = 0;

  /**
   * @param run never rejects but with what refused an append
   * @param depth how many bodies are around the body that calls
   */
  constructor(depth: number, run: (proposed: ProposedNestedCall) => Promise<ToolOutcome>) {
    this.#depth = depth;
    this.#run = run;
  }

  /** How many were made. */
  get count(): number {
    return this.#count;
  }

  /**
   * Makes one.
   *
   * @throws {RangeError} over NESTED_CALLS_MAX or NESTED_DEPTH_MAX
   */
  async make(name: string, args: unknown, signal: AbortSignal): Promise<ToolOutcome> {
    if (this.#depth >= NESTED_DEPTH_MAX) {
      throw new RangeError(`Cannot call tool "${name}": ${NESTED_DEPTH_MAX} bodies are around it already`);
    }
    if (this.#count >= NESTED_CALLS_MAX) {
      throw new RangeError(`Cannot call tool "${name}": this body made ${NESTED_CALLS_MAX} calls already`);
    }
    return await this.#run({ position: ++this.#count, name, args, signal });
  }
}

/** The nested calls of one run of a body: no run is over before they are. */
export class NestedScope {
  readonly #calls: NestedCalls;
  readonly #bodySignal: AbortSignal;
  /** Aborts when the body is over, for what it left running. */
  readonly #over = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** At most CONTEXTS_MAX; what comes later is left out. */
  readonly #contexts: Message[] = [];

  constructor(calls: NestedCalls, bodySignal: AbortSignal) {
    this.#calls = calls;
    this.#bodySignal = bodySignal;
  }

  /** What nested calls want the model to read. Complete once the scope is closed. */
  get contexts(): readonly Message[] {
    return this.#contexts;
  }

  /** @throws {TypeError} when the body is over; otherwise as {@linkcode NestedCalls.make} */
  dispatch(name: string, args: unknown, { signal }: NestedOptions = {}): Promise<ToolOutcome> {
    const running = this.#dispatch(name, args, signal);
    this.#running.add(running);
    // Watched, because a body may not wait for it: then its failure must not end the process.
    running.catch(() => {}).finally(() => this.#running.delete(running));
    return running;
  }

  async #dispatch(name: string, args: unknown, own: AbortSignal | undefined): Promise<ToolOutcome> {
    if (this.#over.signal.aborted) throw new TypeError(`Cannot call tool "${name}": the body that calls it is over`);
    const signals = [this.#bodySignal, this.#over.signal, ...(own === undefined ? [] : [own])];
    const outcome = await this.#calls.make(name, args, AbortSignal.any(signals));
    const { meta: _, additionalContexts = [], ...told } = outcome;
    this.#contexts.push(...additionalContexts.slice(0, CONTEXTS_MAX - this.#contexts.length));
    return Object.freeze(told);
  }

  /** The body is over: takes no more calls, tells those that run to stop, and waits for them. */
  async close(): Promise<void> {
    this.#over.abort(new DOMException("The body that made this call is over", "AbortError"));
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
