/**
 * A session that this tab writes: its agent, its questions, and what of it is not durable yet.
 *
 * @module
 */
import {
  type AgentSession,
  type ApprovalOutcome,
  type ApprovalRequest,
  CompactionError,
  type EventPage,
  heardSeq,
  type LiveEvent,
  type SessionEvent,
} from "../../mod.ts";
import type { PageCalls } from "../protocol.ts";
import type { EventSource } from "./page_knowledge.ts";
import { type FileChangeOf, Questions } from "./questions.ts";
import { settleOnce } from "./settle.ts";
import type { Forwarded } from "./tab_messages.ts";

/** What an open session tells. */
export interface OwnedListener {
  /** Events were committed. In order, each once. */
  events(events: readonly SessionEvent[]): void;
  chunk(live: Extract<LiveEvent, { kind: "chunk" }>): void;
  /** Something failed where no caller waits for it. */
  problem(error: unknown): void;
  /** Anything else that a view shows is different. */
  changed(): void;
}

/** An open session. */
export class OwnedLog {
  readonly agent: AgentSession;
  readonly questions: Questions;
  readonly #listener: OwnedListener;
  /** Committed in this breath, and told when it ends. */
  #untold: SessionEvent[] = [];
  /** Sizes in bytes of the events that are not durable, by seq. */
  readonly #pendingBytes = new Map<number, number>();

  constructor(agent: AgentSession, fileChangeOf: FileChangeOf, listener: OwnedListener) {
    this.agent = agent;
    this.#listener = listener;
    this.questions = new Questions(agent.session, fileChangeOf, () => listener.changed());
    agent.subscribe((live) => this.#hear(live));
    // What opening itself has committed.
    this.pending().then((events) => {
      for (const event of events) this.#weigh(event);
      listener.changed();
    }, () => {});
  }

  get durableSeq(): number {
    return this.agent.session.durableSeq;
  }

  get nextSeq(): number {
    return this.agent.session.nextSeq;
  }

  get pendingEvents(): number {
    return this.nextSeq - 1 - this.durableSeq;
  }

  /** Bytes of the events that are not durable, as JSON. */
  get pendingBytes(): number {
    let sum = 0;
    for (const [seq, sizeBytes] of this.#pendingBytes) {
      if (seq <= this.durableSeq) this.#pendingBytes.delete(seq);
      else sum += sizeBytes;
    }
    return sum;
  }

  /** Events that are not durable. */
  async pending(): Promise<readonly SessionEvent[]> {
    return (await this.agent.session.history({ from: this.durableSeq + 1 })).events;
  }

  /** All events, those that are not durable included. */
  get everything(): EventSource {
    const { session } = this.agent;
    return { nextSeq: session.nextSeq, page: (from, limit) => session.history({ from, limit }) };
  }

  /** Durable events. */
  async page(from: number, limit: number): Promise<EventPage> {
    const { durableSeq } = this;
    const { events, nextFrom } = await this.agent.session.history({ from, limit });
    const durable = events.filter((event) => event.seq <= durableSeq);
    return { events: durable, nextFrom: durable.length < events.length ? null : nextFrom };
  }

  /** Asks a person. For an approver. */
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalOutcome> {
    return this.questions.ask(request, signal);
  }

  /** Does what an owner is asked for. What it resolves to is durable. */
  async run(forwarded: Forwarded): Promise<PageCalls[Forwarded["verb"]]["answer"]> {
    const { session } = this.agent;
    switch (forwarded.verb) {
      case "send": {
        const { inputId, text } = forwarded.ask;
        // A message whose id the log holds is not queued again: the same input twice is one input.
        this.agent.followup(text, { id: inputId });
        await session.flush();
        return { seq: heardSeq(session.folds.heard, inputId)! };
      }
      case "answer":
        return await this.questions.answer(forwarded.ask.question, forwarded.ask.decision);
      case "cancel":
        this.agent.cancel();
        return null;
      case "compact":
        return { isStarted: await this.#startCompaction() };
      case "settle": {
        const { callSeq, verdict, note } = forwarded.ask;
        await settleOnce(session, { callSeq, verdict, note });
        return null;
      }
    }
  }

  /** Whether a person's compaction is running, which must not be ended because nobody looks. */
  get isCompacting(): boolean {
    return this.agent.session.folds.brackets.compaction !== null;
  }

  /** A summary may take longer than a page waits for an answer, so what comes of it is told by the log. */
  async #startCompaction(): Promise<boolean> {
    if (this.isCompacting) return true;
    const compaction = this.agent.compact();
    // The start is appended in the same breath, when there is anything to compact.
    if (!this.isCompacting) return await compaction !== null;
    compaction.catch((error) => {
      const isInLog = error instanceof CompactionError && (error.code === "summary" || error.code === "cancelled");
      if (!isInLog) this.#listener.problem(error);
    });
    await this.agent.session.flush();
    return true;
  }

  /** Runs messages that an earlier owner took and never came to. */
  wakeInbox(): void {
    const { nextTurn, taken } = this.agent.session.folds.inbox;
    const waiting = taken.find(({ target }) => target === "next-turn")?.message ?? nextTurn[0];
    if (waiting !== undefined) this.agent.followup(waiting.content, { id: waiting.id });
  }

  /** Cancels what runs, makes everything durable and lets the log go. */
  async close(): Promise<void> {
    await this.agent.close();
  }

  #hear(live: LiveEvent): void {
    switch (live.kind) {
      case "event":
        return this.#committed(live.event);
      case "chunk":
        return this.#listener.chunk(live);
      case "error":
        return this.#listener.problem(live.error);
      case "warning":
        // One that failed stands in the log, and that a window is not known is nothing to act on.
        if (live.code === "NOTHING_TO_COMPACT" || live.code === "COMPACTION_PAUSED") this.#listener.problem(live);
        return;
      default:
        return this.#listener.changed();
    }
  }

  #weigh(event: SessionEvent): void {
    this.#pendingBytes.set(event.seq, new TextEncoder().encode(JSON.stringify(event)).length);
  }

  /** An append commits several events in one breath; they are told together. */
  #committed(event: SessionEvent): void {
    this.#weigh(event);
    this.#untold.push(event);
    if (this.#untold.length > 1) return;
    queueMicrotask(() => {
      const events = this.#untold;
      this.#untold = [];
      this.#listener.events(events);
    });
  }
}
