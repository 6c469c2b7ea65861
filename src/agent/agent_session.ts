/**
 * One session with a loop that drives it: takes messages, runs turns one after the other, and can be cancelled.
 *
 * @see execution §1.1, §1.5
 * @module
 */
import type { Compacted } from "../compaction/mod.ts";
import { SessionClosedError } from "../errors.ts";
import type { AbortCause, Block, Message } from "../event/mod.ts";
import { heardSeq } from "../fold/mod.ts";
import { type HookListener, HookOwner } from "../hooks/mod.ts";
import type { Resumed, Session } from "../session/mod.ts";
import { newMessageId } from "../tool/ids.ts";
import { compactNow, type CompactOptions } from "./compact_manual.ts";
import { Driver } from "./driver.ts";
import { TurnCancelled } from "./failure.ts";
import type { AgentHooks, AgentStatus, LoopAgent, MessageOptions } from "./hooks.ts";
import { Inbox, type InboxTarget } from "./inbox.ts";
import { withReadResult } from "./kept_results.ts";
import type { LiveEvent, Loop, LoopSettings } from "./loop.ts";
import { Senders, type TurnOutcome } from "./senders.ts";
import type { Watchers } from "./watchers.ts";

/** What an {@linkcode AgentSession} is made from. `createAgent(…).create` and `.resume` do it. */
export interface AgentSessionParts {
  readonly session: Session;
  readonly settings: LoopSettings;
  readonly watchers: Watchers;
  /** `null` for a session that was created. */
  readonly resumed: Resumed | null;
}

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
export class AgentSession implements LoopAgent, AsyncDisposable {
  /** The log: its history, its folds, its blobs. Hooks bound to it hear only this session. */
  readonly session: Session;
  /** What was found when it was resumed; `null` when it was created. */
  readonly resumed: Resumed | null;

  readonly #loop: Loop;
  readonly #driver: Driver;
  readonly #senders = new Senders();
  readonly #watchers: Watchers;
  /** Of the listeners that were registered through this session. */
  readonly #owner: HookOwner;
  #closing: Promise<void> | null = null;

  private constructor({ session, settings, watchers, resumed }: AgentSessionParts) {
    this.session = session;
    this.resumed = resumed;
    this.#watchers = watchers;
    this.#owner = new HookOwner(session.id);
    const inbox = new Inbox(session, {
      inserted: (message, target) => this.#notify("agent/inbox/inserted", { agent: this, message, target }),
      claimed: (message, turn) => {
        this.#driver.take(message.id);
        this.#notify("agent/inbox/claimed", { agent: this, message, turn });
      },
      discarded: (message) => this.#notify("agent/inbox/discarded", { agent: this, message }),
    });
    const tell = (live: LiveEvent) => watchers.tell(live);
    this.#loop = {
      ...settings,
      tools: withReadResult(settings.tools, session, settings.models),
      session,
      agent: this,
      inbox,
      tell,
      requestGeneration: null,
      overflowRetries: 0,
      warned: new Set(),
    };
    this.#driver = new Driver(this.#loop, this.#senders, (status) => {
      watchers.tell({ kind: "status", status });
      this.#notify("agent/status", { agent: this, status });
    });
    watchers.add((live) => live.kind === "error" && this.#notify("agent/error", { agent: this, error: live.error }));
    session.subscribe((event) => watchers.tell({ kind: "event", event }));
  }

  /**
   * Starts a loop: tells the listeners of `agent/created`, waits for them, and lets in what was sent meanwhile. For `createAgent`.
   *
   * @ignore
   * @throws what a listener failed with; the session is closed then
   */
  static async start(parts: AgentSessionParts, source: "create" | "resume"): Promise<AgentSession> {
    const agent = new AgentSession(parts);
    try {
      await parts.settings.hooks.serial("agent/created", [{ agent, source }], { subject: parts.session });
    } catch (error) {
      await agent.close().catch((error) => parts.watchers.tell({ kind: "error", error }));
      throw error;
    }
    agent.#driver.release();
    return agent;
  }

  /** Id of the session. */
  get id(): string {
    return this.session.id;
  }

  /** Whether a turn is running. */
  get status(): AgentStatus {
    return this.#driver.status;
  }

  /**
   * Sends a message and waits for its turn. Turns run one after the other, one message each.
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
    signal?.throwIfAborted();
    const sent = this.#message(message);
    const onAbort = () => this.#withdraw(sent.id);
    // Waited for before it is in the inbox: a listener may take it back in the same breath.
    const outcome = this.#senders.outcomeOf(sent.id);
    try {
      this.#insert("next-turn", sent);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#driver.wake();
      return await outcome;
    } finally {
      this.#senders.forget(sent.id);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /**
   * Queues a message for a turn of its own, and wakes the loop. Like `send`, for those who do not wait. Durable with the next
   * flush. With an `id` that the log heard before, the message is queued already, or was: nothing is added.
   *
   * @returns the message as it is queued
   * @throws whatever refused it, {@linkcode SessionClosedError} after `close()`; a TypeError when called in the middle of an append
   */
  followup(message: string | readonly Block[], options: MessageOptions = {}): Message {
    const queued = this.#insert("next-turn", this.#message(message, options));
    this.#driver.wake();
    return queued;
  }

  /**
   * Queues a message for the next step, and wakes the loop: a running turn sees it at its next step and does not end before.
   * While a cancelled turn winds up, it waits for the next turn instead.
   *
   * @returns the message as it is queued
   * @throws as {@linkcode AgentSession.followup}
   */
  steer(message: string | readonly Block[], options: MessageOptions = {}): Message {
    const target = this.#driver.isCancelled ? "next-turn" : "next-step";
    const queued = this.#insert(target, this.#message(message, options));
    this.#driver.wake();
    return queued;
  }

  /**
   * Queues a message for the next step, whenever that is. Wakes nobody.
   *
   * @returns the message as it is queued
   * @throws as {@linkcode AgentSession.followup}
   */
  inject(message: string | readonly Block[], options: MessageOptions = {}): Message {
    return this.#insert("next-step", this.#message(message, options));
  }

  /**
   * Cancels the running turn and takes back what still waits. Bodies that run are told and waited for. While idle it ends a
   * compaction that runs, and nothing else; the first cause counts.
   *
   * @param options.keepInbox leaves what waits for the next message that wakes the loop
   * @throws {TypeError} when the log could not hold the cause; nothing was cancelled
   */
  cancel(cause: AbortCause = { kind: "user" }, options: { readonly keepInbox?: boolean } = {}): void {
    const reason = new TurnCancelled(cause);
    if (this.status === "idle") return this.#driver.cancelMaintenance(reason);
    if (options.keepInbox !== true) this.#takeBack(this.#loop.inbox.ids, reason);
    this.#driver.cancel(reason);
  }

  /**
   * Summarises everything but the newest unit, now, between turns. Messages that are sent meanwhile wait for it. When it resolves
   * everything is durable.
   *
   * @param options.signal ends it; its reason is thrown
   * @returns what was replaced; `null` when there is nothing to compact, and nothing was written then
   * @throws {CompactionError} `busy` while a turn runs or another compaction is open, and for everything else that can go wrong
   * @throws {SessionClosedError} after `close()`
   */
  async compact(options: CompactOptions = {}): Promise<Compacted | null> {
    options.signal?.throwIfAborted();
    if (this.#closing !== null) throw new SessionClosedError(`Cannot compact session "${this.id}": it is closed`);
    return await this.#driver.maintain((stopped) => compactNow(this.#loop, stopped, options));
  }

  /** Resolves when no turn is running, and no compaction that was asked for. */
  async whenIdle(): Promise<void> {
    await this.#driver.whenIdle();
  }

  /**
   * Listens to a hook of this session alone, until it is closed.
   *
   * @param options.prepend stands before everyone who is there now
   * @returns takes the listener away
   * @throws {RangeError} when the hook has too many listeners; a TypeError when the session is closed
   */
  on<Name extends keyof AgentHooks & string>(
    name: Name,
    listener: HookListener<AgentHooks[Name]>,
    options: { readonly prepend?: boolean } = {},
  ): () => void {
    return this.#loop.hooks.on(name, listener, { ...options, subject: this.session, owner: this.#owner });
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

  /** As {@linkcode AgentSession.close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#driver.end();
    await this.whenIdle();
    try {
      await this.session.close();
    } finally {
      this.#notify("agent/disposed", { agent: this });
      this.#owner.dispose();
    }
  }

  #message(content: string | readonly Block[], { source = { kind: "user" }, id }: MessageOptions = {}): Message {
    if (this.#closing !== null) throw new SessionClosedError(`Cannot send to session "${this.id}": it is closed`);
    const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    if (id === "") throw new TypeError(`Cannot send to session "${this.id}": the message's id is empty`);
    return { content: blocks, source, role: "user", id: id ?? newMessageId(this.session.random) };
  }

  #insert(target: InboxTarget, message: Message): Message {
    // Not at the resume: opening a log again adds nothing to it.
    this.#loop.inbox.putBackUntold();
    if (heardSeq(this.session.folds.heard, message.id) === null) this.#loop.inbox.insert(target, [message]);
    return message;
  }

  /** The sender gave up: the message is taken back, or its turn cancelled. */
  #withdraw(id: string): void {
    const reason = new TurnCancelled({ kind: "user" });
    if (this.#driver.hasTaken(id)) this.#driver.cancel(reason);
    else this.#takeBack(new Set([id]), reason);
  }

  /** Takes messages out of the inbox and tells their senders. */
  #takeBack(ids: ReadonlySet<string>, { abortCause }: TurnCancelled): void {
    const takeBack = () => {
      this.#loop.inbox.discard(ids);
      const outcome: TurnOutcome = { turn: null, reason: { kind: "aborted", reason: abortCause }, isWaiting: false };
      for (const id of ids) if (!this.#driver.hasTaken(id)) this.#senders.settle(id, outcome);
    };
    try {
      takeBack();
    } catch {
      // Called by an observer, in the middle of an append: again when that is over.
      queueMicrotask(() => {
        try {
          takeBack();
        } catch (error) {
          // A log that takes no events: the messages stay, and the turn is cancelled all the same.
          this.#loop.tell({ kind: "error", error });
        }
      });
    }
  }

  #notify<Name extends EmittedHook>(name: Name, event: AgentHooks[Name]["args"][0]): void {
    this.#loop.hooks.notify(name, [event] as never, { subject: this.session });
  }
}

type EmittedHook =
  | "agent/status"
  | "agent/error"
  | "agent/inbox/inserted"
  | "agent/inbox/claimed"
  | "agent/inbox/discarded"
  | "agent/disposed";
