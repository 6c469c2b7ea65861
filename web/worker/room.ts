/**
 * One session as one tab takes part in it: as its owner, as a viewer, or waiting for its turn.
 *
 * The decisions are in `role.ts`; here they are carried out.
 *
 * @module
 */
import {
  type Agent,
  type AgentSession,
  type ApprovalOutcome,
  type ApprovalRequest,
  type EventPage,
  hasCode,
  type Message,
  type SessionEvent,
} from "../../mod.ts";
import type { PageCalls, PageState, RepairNotice, SessionView, WorkerNews } from "../protocol.ts";
import { KnownLog, type LogParts } from "./known_log.ts";
import { openForWriting } from "./opening.ts";
import { OwnedLog } from "./owned_log.ts";
import { OwnerRequests } from "./owner_requests.ts";
import { PageKnowledge } from "./page_knowledge.ts";
import type { Platform } from "./platform.ts";
import type { FileChangeOf } from "./questions.ts";
import { BEAT_MS, newRoomState, nextRole, roleOf, type RoomAction, type RoomEvent, type RoomState } from "./role.ts";
import { TabLock } from "./tab_lock.ts";
import type { Forwarded, RoomMessage, SharedView } from "./tab_messages.ts";
import { Refusal, unwired, wireError } from "./wire.ts";

/** The pause before a log that something holds is tried again, in milliseconds. */
export const OPEN_RETRY_MS = 500;
/** How long a session is kept by a tab that is hidden and does nothing, in milliseconds. */
export const HIDDEN_IDLE_MS = 5_000;
/** How long a hidden tab that was given the lock listens for a goodbye that is still on its way, in milliseconds. */
export const GOODBYE_GRACE_MS = 100;
/** How long a newcomer waits for an owner to name itself, in milliseconds. */
export const WHO_WAIT_MS = 300;
/** Views are told at most this often, in milliseconds. */
const VIEW_PAUSE_MS = 25;

/** What a room works with. */
export interface RoomParts extends LogParts {
  /** This tab's id, unlike that of any other. */
  readonly tab: string;
  readonly label: () => string;
  readonly platform: Pick<Platform, "runtime" | "locks">;
  readonly agent: Agent;
  readonly fileChangeOf: FileChangeOf;
  readonly isVolatile: boolean;
  /** Whether a log was taken in from elsewhere and is still as it came. */
  readonly isUntouched: (id: string) => Promise<boolean>;
  readonly pageState: () => PageState;
  /** Tells this tab's page. */
  readonly tell: (news: WorkerNews) => void;
  /** Tells the other tabs. */
  readonly say: (message: RoomMessage) => void;
}

/** A session that this tab takes part in. */
export class SessionRoom {
  readonly id: string;
  readonly #parts: RoomParts;
  readonly #page: PageKnowledge;
  readonly #lock: TabLock;
  readonly #requests: OwnerRequests;
  readonly #log: KnownLog;

  #state: RoomState;
  #opening: AbortController | null = null;
  /** What the owner said last. */
  #shared: SharedView | null = null;
  #repaired: RepairNotice | null = null;
  /** Whether the session was made here and nothing was written yet. */
  #isUnwritten: boolean;
  /** Opening, rereading and releasing, one after the other. */
  #work: Promise<unknown> = Promise.resolve();
  #hasLeft = false;
  #cancelTick: () => void = () => {};
  #cancelIdle: (() => void) | null = null;
  #cancelView: (() => void) | null = null;
  /** Wakes who waits for the room to be usable. */
  #onStep: (() => void)[] = [];

  constructor(parts: RoomParts, isNew: boolean) {
    this.id = parts.id;
    this.#parts = parts;
    this.#isUnwritten = isNew;
    this.#page = new PageKnowledge(parts.id, parts.tell, () => this.durableSeq);
    this.#log = new KnownLog(parts, this.#page, () => this.changed());
    this.#requests = new OwnerRequests(parts, () => this.#step({ kind: "satisfied" }));
    this.#lock = new TabLock(parts.platform.locks, parts.id);
    this.#state = newRoomState("hidden", this.#now());
  }

  /**
   * Takes part: as the owner when the lock is free, else as a viewer. Nothing is told to the page before `begin()`.
   *
   * @throws {NotFoundError} and what else reading a log can throw, when the session can not even be shown
   */
  async enter(): Promise<SessionView> {
    this.#tick();
    this.#state = { ...this.#state, page: pageOf(this.#parts.pageState()) };
    const isUntouched = !this.#isUnwritten && await this.#parts.isUntouched(this.id);
    if (isUntouched) this.#state = { ...this.#state, owner: null, wasReleased: true, isUntouched };
    try {
      if (!isUntouched && await this.#lock.tryTake()) {
        this.#state = { ...this.#state, owner: null };
        this.#step({ kind: "granted" });
        while (this.#state.phase === "opening" && this.#state.obstacle === null) await this.#nextStep();
      }
      if (!this.#log.isOpen && !this.#isUnwritten) await this.#log.view();
    } catch (error) {
      await this.leave();
      throw error;
    }
    const { fault } = this.#log;
    if (fault !== null) this.#step({ kind: "refused", fault });
    if (this.#state.phase === "viewing") {
      this.#parts.say({ kind: "who" });
      this.#step({ kind: "page", state: this.#parts.pageState() });
      await this.#ownerNamed();
    }
    this.#page.startAt(this.durableSeq + 1);
    return this.view();
  }

  /** The page has the first view: from now on it is told what changes. */
  begin(): void {
    void this.#log.begin();
  }

  /** How it stands. */
  view(): SessionView {
    const shared = this.#log.owned === null ? this.#shared : null;
    return {
      ...shared ?? this.#log.shared,
      id: this.id,
      role: roleOf(this.#state, this.#now()),
      nextSeq: this.#page.nextSeq,
      repaired: this.#repaired,
    };
  }

  /** Durable events. */
  async history(from: number, limit: number): Promise<EventPage> {
    return await this.#whileLettingGo(() => this.#log.history(from, limit));
  }

  /** What the model sees. */
  surface(): Message[] {
    return this.#log.surface();
  }

  /** Makes what is pending here durable, so that the file is what the page shows. */
  async flush(): Promise<void> {
    await this.#whileLettingGo(async () => await this.#log.owned?.agent.session.flush());
  }

  /** Does something with the log; once more when the log was let go in the middle of it, which has made everything durable. */
  async #whileLettingGo<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      if (!hasCode(error, "SESSION_CLOSED") || this.#hasLeft) throw error;
      await this.#work;
      return await act();
    }
  }

  /** Asks a person, in this tab and in every other. */
  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalOutcome | undefined> {
    return await this.#log.owned?.ask(request, signal);
  }

  /** Does what an owner does, here or in the tab that is it. */
  async run(forwarded: Forwarded): Promise<PageCalls[Forwarded["verb"]]["answer"]> {
    const { phase, fault } = this.#state;
    if (phase === "read-only") throw unwired(wireError(fault));
    if (phase === "owning") {
      try {
        return await this.#log.owned!.run(forwarded);
      } catch (error) {
        this.#noticeFailure();
        // It was let go meanwhile: whoever takes it next does this.
        if (!hasCode(error, "SESSION_CLOSED") || this.#hasLeft) throw error;
      }
    }
    const role = roleOf(this.#state, this.#now());
    if (role.kind === "stuck") throw new Refusal("LOCK_HELD", `Cannot ${forwarded.verb}: ${role.reason}`);
    // Nothing runs where nobody writes.
    if (forwarded.verb === "cancel" && role.kind === "released") return null;
    const answered = this.#requests.add(forwarded);
    if (forwarded.verb !== "cancel") this.#step({ kind: "wanted" });
    this.#requests.sendTo(this.#state.owner);
    return await answered;
  }

  /** Takes note of what the page tells of itself. */
  page(state: PageState): void {
    this.#step({ kind: "page", state });
  }

  /** Resolves when what was begun is done: opening, and letting go. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Hears another tab. */
  hear(from: string, message: RoomMessage): void {
    if (this.#hasLeft) return;
    switch (message.kind) {
      case "who":
        return void (this.#state.phase === "owning" && this.#introduce());
      case "beat":
        return this.#onBeat(from, message.label, message.shared);
      case "goodbye":
        this.#shared = null;
        this.#step({ kind: "goodbye", tab: from, isIdle: message.isIdle });
        return this.#log.catchUp();
      case "events":
        return this.#log.believe(message.events, message.durableSeq);
      case "chunk":
        if (this.#log.owned === null) this.#page.tell({ ...message, id: this.id });
        return;
      case "ask":
        // Who owns no more does not answer: it will be asked of whoever owns next.
        if (this.#state.phase === "owning") this.#requests.serve(from, message, this.#log.owned!);
        return;
      case "answer":
      case "refusal":
        return this.#requests.settle(message);
    }
  }

  /** Something became durable in the log this tab writes. */
  wrote(): void {
    if (this.#isUnwritten) this.#isUnwritten = false;
    this.#step({ kind: "wrote" });
    this.#page.durable();
    this.#parts.say({ kind: "events", events: [], durableSeq: this.durableSeq });
  }

  /** The last seq that is durable as far as this tab knows. */
  get durableSeq(): number {
    return this.#log.durableSeq;
  }

  /** A view must be told: something outside of the room is different. */
  changed(): void {
    if (this.#hasLeft || !this.#page.isTelling || this.#cancelView !== null) return;
    this.#cancelView = this.#parts.platform.runtime.clock.schedule(VIEW_PAUSE_MS, () => {
      this.#cancelView = null;
      this.#tellView();
    });
  }

  /** Takes part no more. What is pending is made durable. */
  async leave(): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#cancelTick();
    this.#cancelIdle?.();
    this.#cancelView?.();
    this.#page.end();
    this.#lock.leaveLine();
    this.#opening?.abort();
    await this.#work;
    if (this.#log.owned !== null) await this.#letGo(this.#log.owned, false);
    this.#lock.giveBack();
    await this.#log.close();
    this.#requests.end();
  }

  #now(): number {
    return this.#parts.platform.runtime.clock.now();
  }

  #step(event: RoomEvent): void {
    const { state, actions } = nextRole(this.#state, event);
    this.#state = state;
    for (const action of actions) this.#act(action);
    this.#watchIdle();
    for (const wake of this.#onStep.splice(0)) wake();
    this.changed();
  }

  #nextStep(): Promise<void> {
    return new Promise((resolve) => this.#onStep.push(resolve));
  }

  /** Resolves when an owner has spoken, or has had the time to. */
  async #ownerNamed(): Promise<void> {
    let isOver = false;
    const waited = this.#pause(WHO_WAIT_MS).then(() => isOver = true);
    while (!isOver && this.#state.phase === "viewing" && this.#state.owner?.tab === "") {
      await Promise.race([waited, this.#nextStep()]);
    }
  }

  #act(action: RoomAction): void {
    switch (action) {
      case "stand-in-line":
        return void this.#lock.standInLine(() => this.#step({ kind: "granted" }), () => this.#goodbyeHeard());
      case "leave-line":
        return this.#lock.leaveLine();
      case "open":
        return this.#queue(() => this.#open());
      case "reread":
        return this.#queue(() => this.#reread());
      case "open-later":
        this.#parts.platform.runtime.clock.schedule(OPEN_RETRY_MS, () => this.#queue(() => this.#open()));
        return;
      case "stop-opening":
        return this.#opening?.abort();
      case "give-back":
        return this.#lock.giveBack();
      case "release":
        return this.#queue(() => this.#release(false));
      case "release-idle":
        return this.#queue(() => this.#release(true));
    }
  }

  #queue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error) => this.#page.problem(error));
  }

  /** Between a goodbye and the lock there is no order. Who is looked at, or has input, does not wait for one. */
  async #goodbyeHeard(): Promise<void> {
    if (this.#state.page === "hidden" && !this.#state.isWanted) await this.#pause(GOODBYE_GRACE_MS);
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.platform.runtime.clock.schedule(delayMs, resolve));
  }

  #watchIdle(): void {
    const isIdle = this.#state.phase === "owning" && this.#state.page === "hidden" && !this.#isUnwritten &&
      this.#log.owned?.agent.status === "idle" && !this.#log.owned.isCompacting;
    if (isIdle === (this.#cancelIdle !== null)) return;
    this.#cancelIdle?.();
    this.#cancelIdle = !isIdle || this.#hasLeft
      ? null
      : this.#parts.platform.runtime.clock.schedule(HIDDEN_IDLE_MS, () => this.#step({ kind: "idle" }));
  }

  async #open(): Promise<void> {
    if (this.#state.phase !== "opening" || this.#hasLeft) return;
    const { agent, id, isVolatile } = this.#parts;
    this.#opening = new AbortController();
    const { signal } = this.#opening;
    const opened = await openForWriting({ agent, id, isVolatile, isUnwritten: this.#isUnwritten, signal });
    this.#opening = null;
    if (opened.kind === "session") return this.#own(opened.session);
    if (opened.kind !== "refused") return this.#step(opened);
    if (!this.#log.isOpen) await this.#log.view().catch(() => {});
    this.#step({ kind: "refused", fault: this.#log.fault ?? opened.error });
    this.#page.tell({ kind: "problem", id, error: opened.error });
  }

  /** A log that cannot be read anew is opened as it is, and refused with the reason. */
  async #reread(): Promise<void> {
    try {
      await this.#log.view();
    } catch {
      this.#parts.store.forget(this.id);
    }
  }

  #own(agent: AgentSession): void {
    this.#shared = null;
    const owned = new OwnedLog(agent, this.#parts.fileChangeOf, {
      events: (events) => this.#onCommitted(events),
      chunk: ({ turn, step, chunk }) => {
        this.#page.tell({ kind: "chunk", id: this.id, turn, step, chunk });
        this.#parts.say({ kind: "chunk", turn, step, chunk });
      },
      problem: (error) => this.#onProblem(error),
      changed: () => {
        this.#watchIdle();
        this.changed();
      },
    });
    const { resumed } = agent;
    const appended = resumed === null ? [] : [...resumed.verdicts, ...resumed.closers];
    if (resumed !== null && appended.length > 0) {
      const calls = resumed.calls.map(({ callId, callSeq, name, class: found }) => ({
        callId,
        callSeq,
        name,
        class: found,
      }));
      this.#repaired = { closers: appended, calls };
    }
    this.#log.own(owned);
    this.#step({ kind: "opened" });
    if (this.#state.phase !== "owning") return;
    owned.wakeInbox();
    void this.#log.fill();
    this.#introduce();
    this.#requests.runAll(owned);
  }

  /** Tells the other tabs who writes, and what is not in the file yet. */
  #introduce(): void {
    const owned = this.#log.owned!;
    this.#beat();
    owned.pending().then(
      (events) => this.#parts.say({ kind: "events", events, durableSeq: owned.durableSeq }),
      () => {}, // Let go meanwhile: then it is all in the file.
    );
  }

  #beat(): void {
    this.#parts.say({ kind: "beat", label: this.#parts.label(), shared: this.#log.shared });
  }

  #onCommitted(events: readonly SessionEvent[]): void {
    this.#parts.say({ kind: "events", events, durableSeq: this.durableSeq });
    this.#page.show(events);
    this.changed();
  }

  #onProblem(error: unknown): void {
    this.#page.problem(error);
    this.#noticeFailure();
  }

  /** A session that takes nothing any more is let go, and opened again. */
  #noticeFailure(): void {
    const failure = this.#log.owned?.agent.session.failure ?? null;
    if (failure !== null) this.#step({ kind: "broken", fault: wireError(failure) });
  }

  async #release(isIdle: boolean): Promise<void> {
    if (this.#log.owned !== null) await this.#letGo(this.#log.owned, isIdle);
    // Whoever looks at the log from now on reads the file.
    if (!this.#hasLeft && !this.#isUnwritten) await this.#log.view().catch((error) => this.#page.problem(error));
    this.#step({ kind: "released" });
  }

  /** Nothing comes in between: a page that is about to be frozen gives its worker a few milliseconds. */
  async #letGo(owned: OwnedLog, isIdle: boolean): Promise<void> {
    try {
      await owned.close();
    } catch (error) {
      this.#page.problem(error);
    }
    this.#parts.say({ kind: "goodbye", isIdle });
    this.#lock.giveBack();
    this.#log.disown();
  }

  #onBeat(tab: string, label: string, shared: SharedView): void {
    if (this.#log.owned !== null) return;
    this.#shared = shared;
    this.#step({ kind: "beat", tab, label, nowMs: this.#now() });
    this.#requests.sendTo(this.#state.owner);
    if (shared.durability.durableSeq > this.durableSeq) this.#log.catchUp();
  }

  #tellView(): void {
    if (this.#page.view(this.view()) && this.#state.phase === "owning") this.#beat();
  }

  /** Once in a while: the owner says that it lives, a viewer looks whether it does. */
  #tick(): void {
    this.#cancelTick = this.#parts.platform.runtime.clock.schedule(BEAT_MS, () => {
      if (this.#hasLeft) return;
      this.#tick();
      if (this.#state.phase === "owning") return this.#beat();
      this.#log.catchUp();
      this.#requests.expire();
      this.#requests.sendTo(this.#state.owner);
      this.changed();
    });
  }
}

function pageOf(state: PageState): RoomState["page"] {
  if (state === "visible") return "visible";
  return state === "freeze" || state === "pagehide" ? "frozen" : "hidden";
}
