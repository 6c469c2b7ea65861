/**
 * The sessions of one token that are open for writing: opened when somebody needs them, closed when nobody does.
 *
 * @module
 */
import {
  type Agent,
  type AgentSession,
  AlreadyExistsError,
  type Clock,
  type LiveEvent,
  type SessionStore,
} from "../../mod.ts";
import { type HostedSession, isIdle } from "./hosted_session.ts";
import { HOSTED_IDLE_MS, HOSTED_SESSIONS_MAX } from "./limits.ts";
import { Refusal } from "./problem.ts";

/** What they need. */
export interface HostedSessionsParts {
  readonly store: SessionStore;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Lets tools with effects run on a medium that promises nothing. */
  readonly volatile?: boolean;
  /** Default HOSTED_SESSIONS_MAX. */
  readonly sessionsMax?: number;
  /** Told everything that happens in any of them. */
  readonly onLive: (id: string, live: LiveEvent) => void;
  /** Told when one was closed, before it can be opened again. */
  readonly onClosed?: (id: string) => void;
  /** Told what failed where no request waits for it. */
  readonly report: (error: unknown) => void;
}

/**
 * Open sessions. One opening at a time for each id, and never more than the bound.
 *
 * @example
 * ```ts
 * import type { HostedSessions } from "./hosted_sessions.ts";
 *
 * async function say(sessions: HostedSessions, id: string, text: string): Promise<void> {
 *   await sessions.use(id, async ({ agent }) => {
 *     agent.followup(text);
 *     await agent.session.flush();
 *   });
 * }
 * ```
 */
export class HostedSessions {
  readonly #parts: HostedSessionsParts;
  readonly #sessionsMax: number;
  /** An id is in at most one of `#open`, `#opening` and `#closing`. */
  readonly #open = new Map<string, HostedSession>();
  readonly #opening = new Map<string, Promise<HostedSession>>();
  readonly #closing = new Map<string, Promise<void>>();
  #stopSweeping: (() => void) | null = null;
  #isDraining = false;
  #nextName = 1;

  constructor(parts: HostedSessionsParts) {
    this.#parts = parts;
    this.#sessionsMax = parts.sessionsMax ?? HOSTED_SESSIONS_MAX;
  }

  /** How many are open, opening or closing. */
  get count(): number {
    return this.#open.size + this.#opening.size + this.#closing.size;
  }

  /** The session, when it is open. Looking does not keep it open. */
  peek(id: string): HostedSession | null {
    return this.#open.get(id) ?? null;
  }

  /**
   * Starts a session. Its log is durable when this resolves.
   *
   * @throws {AlreadyExistsError} when the id is taken
   * @throws {Refusal} when too many are open, or the server is going down
   */
  async create(options: { readonly id?: string; readonly cwd?: string }): Promise<HostedSession> {
    this.#checkTakesWork();
    while (this.count >= this.#sessionsMax) await this.#makeRoom();
    const { agent, volatile } = this.#parts;
    // Under the id that is asked for, so that nobody opens it meanwhile; under its own name when there is none yet.
    const name = options.id ?? `new ${this.#nextName++}`;
    if (this.#open.has(name) || this.#opening.has(name)) {
      throw new AlreadyExistsError(`Cannot create session "${name}": it is open already`);
    }
    return await this.#during(name, async () => {
      const created = await agent.create({ ...options, volatile });
      try {
        await created.session.flush();
      } catch (error) {
        await created.close().catch(this.#parts.report);
        throw error;
      }
      return created;
    });
  }

  /**
   * Works with a session, and opens it when it is not. Until `work` has ended it is not closed.
   *
   * @throws what `Agent.resume` throws
   * @throws {Refusal} when too many are open, or it is not open and the server is going down
   */
  async use<Result>(id: string, work: (hosted: HostedSession) => Result | Promise<Result>): Promise<Result> {
    const hosted = await this.#hosted(id);
    hosted.pins += 1;
    try {
      return await work(hosted);
    } finally {
      hosted.pins -= 1;
      hosted.usedAt = this.#parts.clock.now();
    }
  }

  /**
   * Deletes a session and everything that belongs to it.
   *
   * @throws {NotFoundError}
   * @throws {LockHeldError} when another process writes it
   * @throws {Refusal} when a turn runs
   */
  async remove(id: string): Promise<void> {
    await this.#opening.get(id)?.catch(() => {});
    const hosted = this.#open.get(id);
    if (hosted !== undefined) {
      if (!isIdle(hosted)) {
        throw new Refusal(409, "SESSION_RUNNING", `Cannot delete session "${id}": a turn runs; cancel it first`);
      }
      await this.#close(hosted);
    }
    await this.#closing.get(id);
    await this.#parts.store.delete(id);
  }

  /** From now on no session is created, and none is opened. Those that are open go on. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Resolves when no turn runs. New ones may begin meanwhile; they are waited for too. */
  async whenIdle(): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    for (let busy = this.#running(); busy.length > 0; busy = this.#running()) {
      await Promise.all(busy.map(({ agent }) => agent.whenIdle()));
    }
  }

  /**
   * Cancels what runs, waits for it, and closes every session. What was acknowledged stays, and what could be is made durable.
   *
   * @throws {AggregateError} when some could not be closed properly
   */
  async close(): Promise<void> {
    this.drain();
    this.#stopSweeping?.();
    this.#stopSweeping = null;
    await Promise.allSettled(this.#opening.values());
    const ended = await Promise.allSettled([
      ...[...this.#open.values()].map((hosted) => this.#close(hosted)),
      ...this.#closing.values(),
    ]);
    const errors = ended.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
    if (errors.length > 0) throw new AggregateError(errors, `Cannot close ${errors.length} sessions`);
  }

  #running(): HostedSession[] {
    return [...this.#open.values()].filter(({ agent }) => agent.status === "running");
  }

  async #hosted(id: string): Promise<HostedSession> {
    for (;;) {
      const open = this.#open.get(id);
      if (open !== undefined) {
        if (open.agent.session.failure === null || !isIdle(open)) return this.#touched(open);
        // It can write no more. Opened again it may.
        await this.#close(open).catch(this.#parts.report);
      }
      const opening = this.#opening.get(id);
      if (opening !== undefined) return this.#touched(await opening);
      const closing = this.#closing.get(id);
      if (closing !== undefined) {
        await closing.catch(() => {});
        continue;
      }
      this.#checkTakesWork();
      if (this.count >= this.#sessionsMax) {
        await this.#makeRoom();
        continue;
      }
      const { agent, volatile } = this.#parts;
      return await this.#during(id, () => agent.resume(id, { volatile }));
    }
  }

  #touched(hosted: HostedSession): HostedSession {
    hosted.usedAt = this.#parts.clock.now();
    return hosted;
  }

  #during(name: string, start: () => Promise<AgentSession>): Promise<HostedSession> {
    const opening = (async () => {
      try {
        return this.#adopt(await start());
      } finally {
        this.#opening.delete(name);
      }
    })();
    this.#opening.set(name, opening);
    return opening;
  }

  #adopt(agent: AgentSession): HostedSession {
    const hosted: HostedSession = { id: agent.id, agent, pins: 0, usedAt: this.#parts.clock.now() };
    this.#open.set(agent.id, hosted);
    agent.subscribe((live) => this.#parts.onLive(agent.id, live));
    this.#sweepLater();
    return hosted;
  }

  /** Closes the one that was used longest ago, when the bound is reached. Whoever waited here looks again: others did too. */
  async #makeRoom(): Promise<void> {
    while (this.count >= this.#sessionsMax) {
      const idle = [...this.#open.values()].filter(isIdle).sort((a, b) => a.usedAt - b.usedAt)[0];
      if (idle !== undefined) {
        await this.#close(idle).catch(this.#parts.report);
      } else if (this.#closing.size > 0) {
        await Promise.race(this.#closing.values()).catch(() => {});
      } else {
        throw new Refusal(429, "TOO_MANY_REQUESTS", `Cannot open another session: ${this.count} are busy`);
      }
    }
  }

  #close(hosted: HostedSession): Promise<void> {
    const { id, agent } = hosted;
    const known = this.#closing.get(id);
    if (known !== undefined) return known;
    this.#open.delete(id);
    const closing = agent.close().finally(() => {
      this.#parts.onClosed?.(id);
      this.#closing.delete(id);
    });
    this.#closing.set(id, closing);
    return closing;
  }

  #sweepLater(): void {
    if (this.#stopSweeping !== null || this.#isDraining) return;
    this.#stopSweeping = this.#parts.clock.schedule(HOSTED_IDLE_MS, () => {
      this.#stopSweeping = null;
      const before = this.#parts.clock.now() - HOSTED_IDLE_MS;
      for (const hosted of [...this.#open.values()]) {
        if (isIdle(hosted) && hosted.usedAt <= before) this.#close(hosted).catch(this.#parts.report);
      }
      if (this.#open.size > 0) this.#sweepLater();
    });
  }

  #checkTakesWork(): void {
    if (this.#isDraining) throw new Refusal(503, "DRAINING", "Cannot take new work: the server is going down");
  }
}
