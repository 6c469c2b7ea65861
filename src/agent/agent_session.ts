/**
 * One session with a loop that drives it: takes messages, runs turns one after the other, and can be cancelled.
 *
 * @see execution §1.1, §1.5
 * @module
 */
import { SessionClosedError } from "../errors.ts";
import type { AbortCause, Block, Message, TurnEndReason } from "../event/mod.ts";
import type { Resumed, Session } from "../session/mod.ts";
import { closeTurn } from "./close_turn.ts";
import { discard, enqueue } from "./inbox.ts";
import type { AgentStatus, LiveEvent, Loop } from "./loop.ts";
import { runTurn, TurnCancelled, type TurnReport } from "./turn.ts";
import type { Watchers } from "./watchers.ts";

/** What became of a message that was sent. */
export type TurnOutcome =
  /** Its turn ran. */
  | TurnReport
  /**
   * No turn took it: it was cancelled while it waited, or the turn before it ended with `reason` and the loop stopped. In the
   * second case it still waits, and the next `send` runs it first.
   */
  | { readonly turn: null; readonly reason: TurnEndReason; readonly isWaiting: boolean };

/**
 * A session and its loop.
 *
 * @example
 * ```ts
 * import type { AgentSession } from "./agent_session.ts";
 *
 * async function ask(session: AgentSession, text: string): Promise<string> {
 *   session.subscribe((live) => {
 *     if (live.kind === "chunk" && live.chunk.type === "text-delta") console.log(live.chunk.text);
 *   });
 *   return (await session.send(text)).reason.kind;
 * }
 * ```
 */
export class AgentSession implements AsyncDisposable {
  /** The log: its history, its folds, its blobs. */
  readonly session: Session;
  /** What was found when it was resumed; `null` when it was created. */
  readonly resumed: Resumed | null;

  readonly #loop: Loop;
  readonly #watchers: Watchers;
  /** Who waits for which message. An entry leaves when its promise settles. */
  readonly #waiting = new Map<string, PromiseWithResolvers<TurnOutcome>>();
  #status: AgentStatus = "idle";
  /** The newest driver. Never rejects. */
  #driving: Promise<void> = Promise.resolve();
  /** The controller of the open turn. Its first cause stays. */
  #turn: AbortController | null = null;
  /** Whether a message came after the open turn was cancelled: then the loop goes on with it. */
  #isWokenAgain = false;
  /** The messages the open turn has taken. */
  #taken: readonly Message[] = [];
  #closing: Promise<void> | null = null;

  /** Made by `createAgent(…).create` and `.resume`. */
  constructor(loop: Loop, watchers: Watchers, resumed: Resumed | null) {
    this.session = loop.session;
    this.resumed = resumed;
    this.#loop = loop;
    this.#watchers = watchers;
    loop.session.subscribe((event) => watchers.tell({ kind: "event", event }));
  }

  get id(): string {
    return this.session.id;
  }

  get status(): AgentStatus {
    return this.#status;
  }

  /**
   * Sends a message. It waits its turn; turns run one after the other, one message each.
   *
   * @param options.signal takes the message back while it waits, and cancels its turn while that runs
   * @returns how its turn ended; a turn that failed is an outcome, with the error in it
   * @throws the session's failure when it can take no events any more; what of the turn was logged is what became durable
   * @throws {SessionClosedError} after `close()`
   */
  async send(
    message: string | readonly Block[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<TurnOutcome> {
    const { signal } = options;
    if (this.#closing !== null) throw new SessionClosedError(`Cannot send to session "${this.id}": it is closed`);
    signal?.throwIfAborted();
    const content = typeof message === "string" ? [{ type: "text" as const, text: message }] : message;
    const { id } = enqueue(this.session, content);
    const settled = Promise.withResolvers<TurnOutcome>();
    this.#waiting.set(id, settled);
    const onAbort = () => this.#withdraw(id);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#wake();
    try {
      return await settled.promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /**
   * Cancels the running turn and takes back what still waits. Bodies that run are told and waited for. Does nothing while idle;
   * the first cause counts.
   *
   * @param options.keepInbox leaves what waits for the next `send`
   */
  cancel(cause: AbortCause = { kind: "user" }, options: { readonly keepInbox?: boolean } = {}): void {
    if (this.#status === "idle") return;
    if (options.keepInbox !== true) this.#takeBack(this.session.folds.inbox.nextTurn.map(({ id }) => id), cause);
    this.#abortTurn(cause);
  }

  /** Resolves when no turn is running. */
  async whenIdle(): Promise<void> {
    while (this.#status === "running") await this.#driving;
  }

  /**
   * Calls `watcher` with everything that happens, as it happens. One that throws is ignored.
   *
   * @returns what ends the subscription
   * @throws {RangeError} when there are WATCHERS_MAX already
   */
  subscribe(watcher: (live: LiveEvent) => void): () => void {
    return this.#watchers.add(watcher);
  }

  /**
   * Cancels what runs, waits for it, makes everything durable and releases the session. What waits in the inbox stays there.
   *
   * @throws whatever refused the last events
   */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.cancel({ kind: "disposed" }, { keepInbox: true });
    await this.whenIdle();
    await this.session.close();
  }

  #abortTurn(cause: AbortCause): void {
    this.#isWokenAgain = false;
    this.#turn?.abort(new TurnCancelled(cause));
  }

  #wake(): void {
    this.#isWokenAgain = true;
    if (this.#status === "running") return;
    this.#setStatus("running");
    this.#driving = this.#drive();
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
    const { session } = this;
    if (this.#closing !== null) return this.#rest({ kind: "aborted", reason: { kind: "disposed" } });
    if (session.folds.inbox.nextTurn.length === 0) return this.#rest({ kind: "completed" });
    const controller = this.#turn = new AbortController();
    this.#taken = [];
    const onClaim = (messages: readonly Message[]) => this.#taken = [...this.#taken, ...messages];
    let report: TurnReport;
    try {
      // Left open by a turn whose end the log refused.
      if (session.folds.brackets.turn !== null) await closeTurn(session, LEFT_OPEN);
      report = await runTurn(this.#loop, controller.signal, onClaim);
    } catch (error) {
      this.#turn = null;
      return this.#fail(error);
    }
    this.#turn = null;
    if (report.error !== null) this.#watchers.tell({ kind: "error", error: report.error });
    for (const { id } of this.#taken) this.#settle(id, report);
    const { kind } = report.reason;
    const goesOn = kind === "completed" || kind === "max-tokens" || (kind === "aborted" && this.#isWokenAgain);
    return goesOn ? true : this.#rest(report.reason);
  }

  /** Goes idle. What still waits is told why it does. */
  #rest(reason: TurnEndReason): false {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, { turn: null, reason, isWaiting: true });
    this.#setStatus("idle");
    return false;
  }

  /** Goes idle because the log refused a turn. What made the session read-only says more than the append that met it. */
  #fail(error: unknown): false {
    this.#watchers.tell({ kind: "error", error });
    const reason = this.session.failure ?? error;
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
    this.#setStatus("idle");
    return false;
  }

  #setStatus(status: AgentStatus): void {
    this.#status = status;
    this.#watchers.tell({ kind: "status", status });
  }

  /** The sender gave up: the message is taken back, or its turn cancelled. */
  #withdraw(id: string): void {
    const cause: AbortCause = { kind: "user" };
    if (this.#taken.some((message) => message.id === id)) this.#abortTurn(cause);
    else this.#takeBack([id], cause);
  }

  /** Takes messages out of the inbox and tells their senders. */
  #takeBack(ids: readonly string[], cause: AbortCause): void {
    const act = () => {
      for (const { id } of discard(this.session, ids)) {
        this.#settle(id, { turn: null, reason: { kind: "aborted", reason: cause }, isWaiting: false });
      }
    };
    try {
      act();
    } catch {
      // Called by an observer, in the middle of an append: again when that is over.
      queueMicrotask(() => {
        try {
          act();
        } catch (error) {
          // A log that takes no events: the message stays, and the turn is cancelled all the same.
          this.#watchers.tell({ kind: "error", error });
        }
      });
    }
  }

  #settle(id: string, outcome: TurnOutcome): void {
    this.#waiting.get(id)?.resolve(outcome);
    this.#waiting.delete(id);
  }
}

const LEFT_OPEN: TurnEndReason = { kind: "aborted", reason: { kind: "disposed" } };
