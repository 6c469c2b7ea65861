/**
 * The order in which the calls of one message run: side by side where that is safe, one after the other where it is not.
 *
 * Knows nothing of tools and logs: it is handed the stages of a call. Preparing and committing happen in the model's order
 * and never twice at once; only dispatching overlaps.
 *
 * @see execution §1.4
 * @module
 */

/** How many calls may run side by side unless the host says otherwise. */
export const PARALLEL_TOOL_CALLS_MAX = 10;

/** Whether a call may run beside others. */
export type CallMode = "parallel" | "exclusive";

/** The stages of a call. */
export interface CallStages<Call, Prepared, Settled> {
  /** Asked just before a call starts, and again after each wait, so that what has changed meanwhile counts. */
  readonly modeOf: (call: Call) => CallMode;
  /** Up to the point where only running is left. Never while another call is prepared. */
  readonly prepare: (call: Call) => Promise<Prepared>;
  /** Runs it. */
  readonly dispatch: (prepared: Prepared) => Promise<Settled>;
  /**
   * Records how it ended.
   *
   * @returns why no further call may start, or `null`
   */
  readonly commit: (settled: Settled) => Promise<unknown>;
}

/** How calls are scheduled. */
export interface ScheduleOptions {
  readonly parallelMax: number;
  /** Once aborted, nothing starts any more. What runs is waited for and committed. */
  readonly signal: AbortSignal;
}

/**
 * Runs calls. Those that may run side by side form a pool that is filled up as soon as one settles; any other waits until
 * everything before it is committed, and everything behind it waits for it.
 *
 * When it settles nothing is running any more. What was not started is left to the caller: it is a tail of `calls`.
 *
 * @throws the first reason to stop: what a commit returned, or what a stage failed with. After a failed commit nothing more is
 * committed, because results must not change their order
 *
 * @example
 * ```ts
 * import { scheduleCalls } from "./schedule_calls.ts";
 *
 * const committed: number[] = [];
 * await scheduleCalls([1, 2, 3], {
 *   modeOf: () => "parallel",
 *   prepare: (call) => Promise.resolve(call),
 *   dispatch: (call) => Promise.resolve(call * 10),
 *   commit: (settled) => (committed.push(settled), Promise.resolve(null)),
 * }, { parallelMax: 2, signal: new AbortController().signal });
 * if (committed.join() !== "10,20,30") throw new Error("unreachable");
 * ```
 */
export async function scheduleCalls<Call, Prepared, Settled>(
  calls: readonly Call[],
  stages: CallStages<Call, Prepared, Settled>,
  options: ScheduleOptions,
): Promise<void> {
  const batch = new Batch(stages, options);
  for (const call of calls) await batch.start(call);
  await batch.drain();
}

class Batch<Call, Prepared, Settled> {
  readonly #stages: CallStages<Call, Prepared, Settled>;
  readonly #options: ScheduleOptions;
  /** Bodies that run. None of these promises rejects. */
  readonly #running = new Set<Promise<void>>();
  /** Started and not committed. */
  #uncommitted = 0;
  /** The end of the chain of commits, in the model's order. Never rejects. */
  #committed: Promise<void> = Promise.resolve();
  /** Set once a result could not be committed: from then on the order would be wrong. */
  #isBroken = false;
  #stop: { readonly reason: unknown } | null = null;

  constructor(stages: CallStages<Call, Prepared, Settled>, options: ScheduleOptions) {
    this.#stages = stages;
    this.#options = options;
  }

  /** Starts a call when there is room for it; none when nothing may start any more. One that may not run beside others ends. */
  async start(call: Call): Promise<void> {
    for (;;) {
      // From here to the preparation nothing is waited for: what is found here is what the call starts with.
      if (this.#stop !== null || this.#options.signal.aborted) return;
      const isExclusive = this.#stages.modeOf(call) === "exclusive";
      if (isExclusive ? this.#uncommitted > 0 : this.#running.size >= this.#options.parallelMax) {
        await (isExclusive ? this.#committed : Promise.race(this.#running));
        continue;
      }
      await this.#prepareAndRun(call);
      if (isExclusive) await this.#committed;
      return;
    }
  }

  /** Waits for everything that was started. */
  async drain(): Promise<void> {
    await this.#committed;
    while (this.#running.size > 0) await Promise.race(this.#running);
    if (this.#stop !== null) throw this.#stop.reason;
  }

  async #prepareAndRun(call: Call): Promise<void> {
    try {
      this.#run(await this.#stages.prepare(call));
    } catch (reason) {
      this.#stop ??= { reason };
    }
  }

  #run(prepared: Prepared): void {
    const settled = this.#stages.dispatch(prepared);
    const running: Promise<void> = settled.then(() => {}, () => {}).then(() => void this.#running.delete(running));
    this.#running.add(running);
    this.#uncommitted++;
    this.#committed = this.#commit(this.#committed, settled);
  }

  async #commit(before: Promise<void>, settled: Promise<Settled>): Promise<void> {
    await before;
    try {
      const outcome = await settled;
      if (this.#isBroken) return;
      const reason = await this.#stages.commit(outcome);
      if (reason !== null) this.#stop ??= { reason };
    } catch (reason) {
      this.#isBroken = true;
      this.#stop ??= { reason };
    } finally {
      this.#uncommitted--;
    }
  }
}
