/**
 * An agent: a model, its tools and the people who may be asked, over a store of sessions.
 *
 * @module
 */
import type { Approver } from "../approval/mod.ts";
import type { Model } from "../model/model.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import { createSession, openSession, type Session, type SessionSettings } from "../session/mod.ts";
import type { SessionStore } from "../store/session_store.ts";
import type { Guard, Tool } from "../tool/mod.ts";
import { AgentSession } from "./agent_session.ts";
import type { Loop } from "./loop.ts";
import type { RequestParameters } from "./request.ts";
import { STEPS_PER_TURN_MAX } from "./turn.ts";
import { Watchers } from "./watchers.ts";

/** What an agent is made of. */
export interface AgentOptions {
  readonly store: SessionStore;
  readonly model: Model;
  readonly tools?: readonly Tool[];
  /** Asked in this order; the first that answers decides. Without any, what would ask is refused. */
  readonly approvers?: readonly Approver[];
  /** Looked at after policy and approval; each can only deny. */
  readonly guards?: readonly Guard[];
  readonly systemPrompt?: string;
  /** Temperature, token limits and the like. */
  readonly parameters?: RequestParameters;
  /** What applies while a log sets no policy: ask (default), or refuse whatever would ask. */
  readonly approvalPolicy?: "ask" | "never";
  /** Default STEPS_PER_TURN_MAX. */
  readonly stepsPerTurnMax?: number;
  /** Default: the store's. */
  readonly clock?: Clock;
  /** Default: the store's. */
  readonly random?: Random;
}

/** How to start a session with an agent. */
export interface AgentCreateOptions {
  /** Default: a new short one that sorts by time. */
  readonly id?: string;
  /** Absolute path of the workspace the session belongs to. */
  readonly cwd?: string;
  /** Lets tools with effects run on a medium that promises nothing. Never stored. */
  readonly volatile?: boolean;
}

/** How to go on with a session. */
export interface AgentResumeOptions {
  /** Lets tools with effects run on a medium that promises nothing. Never stored. */
  readonly volatile?: boolean;
  /** Poll for the lock this long, in milliseconds. Default 0: never wait. */
  readonly waitMs?: number;
  /** Ends the waiting and the reading. */
  readonly signal?: AbortSignal;
}

/** An agent. It holds no state of its own: everything is in the sessions. */
export interface Agent {
  /**
   * Starts a session. Nothing is written before the first message.
   *
   * @throws {AlreadyExistsError} when the id is taken
   */
  create(options?: AgentCreateOptions): Promise<AgentSession>;
  /**
   * Goes on with a session: locks it, reads it, closes what a crash left open, and says in `resumed` what was found. Nothing
   * is run again. Work that waits in the inbox runs with the next message.
   *
   * @throws {NotFoundError}
   * @throws {LockHeldError} when another writer is alive, also in this process
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when the log must not be written; nothing was changed
   */
  resume(id: string, options?: AgentResumeOptions): Promise<AgentSession>;
}

/**
 * Makes an agent.
 *
 * @throws {TypeError} when two tools share a name
 * @throws {RangeError} when `stepsPerTurnMax` is not a positive integer
 *
 * @example
 * ```ts
 * import type { SessionStore } from "../store/session_store.ts";
 * import { createAgent } from "./agent.ts";
 * import { demo } from "./models/mod.ts";
 *
 * async function hello(store: SessionStore): Promise<string> {
 *   const agent = createAgent({ store, model: demo() });
 *   await using session = await agent.create();
 *   const outcome = await session.send("hello");
 *   return outcome.reason.kind;
 * }
 * ```
 */
export function createAgent(options: AgentOptions): Agent {
  const tools = new Map(options.tools?.map((tool) => [tool.name, tool]));
  if (tools.size !== (options.tools?.length ?? 0)) throw new TypeError("Cannot make an agent: two tools share a name");
  const stepsPerTurnMax = options.stepsPerTurnMax ?? STEPS_PER_TURN_MAX;
  if (!Number.isSafeInteger(stepsPerTurnMax) || stepsPerTurnMax < 1) {
    throw new RangeError(`Cannot make an agent: stepsPerTurnMax is ${stepsPerTurnMax}, not a positive integer`);
  }
  const { store, clock, random } = options;

  function settingsFor(watchers: Watchers, isVolatile: boolean | undefined): SessionSettings {
    return { clock, random, volatile: isVolatile, report: ({ error }) => watchers.tell({ kind: "error", error }) };
  }

  function loopFor(session: Session, watchers: Watchers): Loop {
    return {
      session,
      model: options.model,
      tools,
      approvers: options.approvers ?? [],
      guards: options.guards ?? [],
      policy: options.approvalPolicy ?? "ask",
      systemPrompt: options.systemPrompt ?? "",
      parameters: options.parameters ?? {},
      stepsPerTurnMax,
      tell: (live) => watchers.tell(live),
      hasRequested: false,
    };
  }

  return {
    async create({ id, cwd, volatile } = {}) {
      const watchers = new Watchers();
      const session = await createSession({ store, id, cwd, ...settingsFor(watchers, volatile) });
      return new AgentSession(loopFor(session, watchers), watchers, null);
    },
    async resume(id, { volatile, waitMs, signal } = {}) {
      const watchers = new Watchers();
      const { session, resumed } = await openSession({ store, id, waitMs, signal, ...settingsFor(watchers, volatile) });
      return new AgentSession(loopFor(session, watchers), watchers, resumed);
    },
  };
}
