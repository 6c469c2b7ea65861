/**
 * The driver of a session: runs turns one after the other, for as long as there is work, and never more than one at a time.
 *
 * @see execution §1.1, §1.2 (1, 16), §1.5
 * @module
 */
import { busyError } from "../compaction/mod.ts";
import type { TurnEndReason } from "../event/mod.ts";
import { closeTurn } from "./close_turn.ts";
import { abortCauseOf, TurnCancelled, TurnLeftOpen } from "./failure.ts";
import type { AgentStatus } from "./hooks.ts";
import type { Loop } from "./loop.ts";
import type { Senders } from "./senders.ts";
import { runTurn, type TurnReport } from "./turn.ts";

/**
 * Drives a loop. Idle or running; whatever happens it becomes idle again.
 *
 * @example
 * ```ts
 * import { Driver } from "./driver.ts";
 * import type { Loop } from "./loop.ts";
 * import { Senders } from "./senders.ts";
 *
 * async function runWhatWaits(loop: Loop): Promise<void> {
 *   const driver = new Driver(loop, new Senders(), () => {});
 *   driver.release();
 *   driver.wake();
 *   await driver.whenIdle();
 * }
 * ```
 */
export class Driver {
  readonly #loop: Loop;
  readonly #senders: Senders;
  readonly #onStatus: (status: AgentStatus) => void;

  #status: AgentStatus = "idle";
  /** Transitions that are not told yet: a listener may cause the next one. */
  readonly #transitions: AgentStatus[] = [];
  /** The newest run of the driver. Never rejects. */
  #driving: Promise<void> = Promise.resolve();
  /** Of the turn that runs or comes next; `null` while idle. Its first cause stays. */
  #turn: AbortController | null = null;
  /** Whether a message woke the loop since the last claim or cancel: what waits is then not left waiting. */
  #isWoken = false;
  /** Input waits until the listeners of `agent/created` are done. */
  #isHeld = true;
  #isEnded = false;
  /** Ids of the messages the turn has taken. */
  readonly #taken = new Set<string>();
  /** What runs between turns, which no turn begins beside. Never rejects. */
  #maintenance: { readonly stop: AbortController; readonly done: Promise<void> } | null = null;
  /** How a turn ended whose end the log refused. */
  #owedEnd: TurnEndReason | null = null;

  constructor(loop: Loop, senders: Senders, onStatus: (status: AgentStatus) => void) {
    this.#loop = loop;
    this.#senders = senders;
    this.#onStatus = onStatus;
  }

  get status(): AgentStatus {
    return this.#status;
  }

  /** Whether the turn was cancelled and is not over. */
  get isCancelled(): boolean {
    return this.#turn?.signal.aborted === true;
  }

  hasTaken(messageId: string): boolean {
    return this.#taken.has(messageId);
  }

  /** The turn has claimed a message, and with it everything that woke the loop so far. */
  take(messageId: string): void {
    this.#taken.add(messageId);
    this.#isWoken = false;
  }

  /** There is input. Running begins in the same breath. */
  wake(): void {
    this.#isWoken = true;
    if (this.#isHeld || this.#status === "running" || this.#maintenance !== null) return;
    this.#turn = new AbortController();
    this.#setStatus("running");
    this.#driving = this.#drive();
  }

  /** Lets in what woke the loop while it was held. */
  release(): void {
    this.#isHeld = false;
    if (this.#isWoken && !this.#isEnded) this.wake();
  }

  cancel(reason: TurnCancelled): void {
    this.#isWoken = false;
    this.#turn?.abort(reason);
    this.cancelMaintenance(reason);
  }

  cancelMaintenance(reason: TurnCancelled): void {
    this.#maintenance?.stop.abort(reason);
  }

  /**
   * Does something while no turn runs. Messages that come meanwhile wait, and their turns begin when it is over.
   *
   * @param task handed a signal that aborts when the agent is told to stop
   * @throws {CompactionError} busy, in the same breath; what the task throws
   */
  maintain<Result>(task: (stopped: AbortSignal) => Promise<Result>): Promise<Result> {
    const found = this.#status === "running" || (this.#isHeld && this.#isWoken)
      ? "a turn is running or about to"
      : this.#maintenance !== null
      ? "another compaction is running"
      : null;
    if (found !== null) throw busyError(this.#loop.session.id, found);
    const stop = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#maintenance = { stop, done };
    return task(stop.signal).finally(() => {
      this.#maintenance = null;
      resolve();
      if (this.#isWoken && !this.#isEnded) this.wake();
    });
  }

  /** Cancels what runs, and runs nothing any more. */
  end(): void {
    this.#isEnded = true;
    this.cancel(new TurnCancelled({ kind: "disposed" }));
    // Held input: no turn will tell its senders.
    if (this.#status === "idle") this.#senders.settleAll({ turn: null, reason: DISPOSED, isWaiting: true });
  }

  async whenIdle(): Promise<void> {
    while (this.#status === "running" || this.#maintenance !== null) {
      await (this.#maintenance?.done ?? this.#driving);
    }
  }

  async #drive(): Promise<void> {
    // The rest of a burst of messages is in the inbox before the first turn starts.
    await null;
    while (await this.#oneTurn());
  }

  /**
   * Runs a turn when there is work. Whoever waits is told in the same breath in which the loop goes on or goes idle: a message
   * that is sent in answer finds a driver that is surely running, or surely not.
   *
   * @returns whether there may be more to do
   */
  async #oneTurn(): Promise<boolean> {
    const { signal } = this.#turn!;
    if (this.#isEnded) return this.#rest(DISPOSED);
    if (signal.aborted) return this.#after({ kind: "aborted", reason: abortCauseOf(signal) });
    if (!this.#hasWork()) return this.#rest({ kind: "completed" });
    let report: TurnReport;
    try {
      await this.#closeOwed();
      report = await runTurn(this.#loop, signal);
    } catch (error) {
      if (!(error instanceof TurnLeftOpen)) return this.#fail(error);
      this.#owedEnd = error.reason;
      return this.#fail(error.cause);
    }
    for (const id of this.#taken) this.#senders.settle(id, report);
    this.#taken.clear();
    return this.#after(report.reason);
  }

  #hasWork(): boolean {
    const { inbox } = this.#loop;
    return inbox.length("next-turn") > 0 || (this.#isWoken && inbox.length("next-step") > 0);
  }

  /** Closes a turn that is open only because the log refused its end. */
  async #closeOwed(): Promise<void> {
    const { session } = this.#loop;
    if (session.folds.brackets.turn !== null) {
      await closeTurn(session, this.#owedEnd ?? DISPOSED, (error) => this.#loop.tell({ kind: "error", error }));
    }
    this.#owedEnd = null;
  }

  #after(reason: TurnEndReason): boolean {
    const isNormal = reason.kind === "completed" || reason.kind === "max-tokens";
    const isReplayed = reason.kind === "aborted" && reason.reason.kind !== "disposed" && this.#isWoken;
    if (!isNormal && !isReplayed) return this.#rest(reason);
    this.#turn = new AbortController();
    return true;
  }

  /** Goes idle. What still waits is told why it does. */
  #rest(reason: TurnEndReason): false {
    this.#becomeIdle();
    this.#senders.settleAll({ turn: null, reason, isWaiting: true });
    this.#setStatus("idle");
    return false;
  }

  /** Goes idle because the log refused a turn. What made the session read-only says more than the append that met it. */
  #fail(error: unknown): false {
    this.#loop.tell({ kind: "error", error });
    this.#becomeIdle();
    this.#senders.rejectAll(this.#loop.session.failure ?? error);
    this.#setStatus("idle");
    return false;
  }

  #becomeIdle(): void {
    this.#turn = null;
    this.#isWoken = false;
    this.#taken.clear();
  }

  #setStatus(status: AgentStatus): void {
    this.#status = status;
    this.#transitions.push(status);
    if (this.#transitions.length > 1) return;
    for (; this.#transitions.length > 0; this.#transitions.shift()) this.#onStatus(this.#transitions[0]!);
  }
}

const DISPOSED: TurnEndReason = { kind: "aborted", reason: { kind: "disposed" } };
