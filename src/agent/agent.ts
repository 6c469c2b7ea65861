/**
 * An agent: a model, its tools and the people who may be asked, over a store of sessions.
 *
 * @module
 */
import type { Approver } from "../approval/mod.ts";
import {
  checkedSpillOptions,
  type CompactionOptions,
  compactionSettings,
  type SpillOptions,
} from "../compaction/mod.ts";
import { Hooks } from "../hooks/mod.ts";
import type { Model } from "../model/model.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import { createSession, openSession, type SessionSettings } from "../session/mod.ts";
import type { SessionStore } from "../store/session_store.ts";
import { type Guard, reconcileWith, type Tool } from "../tool/mod.ts";
import { AgentSession } from "./agent_session.ts";
import type { AgentHooks } from "./hooks.ts";
import type { LoopSettings } from "./loop.ts";
import type { RequestParameters } from "./request.ts";
import { PARALLEL_TOOL_CALLS_MAX } from "./schedule_calls.ts";
import { STEPS_PER_TURN_MAX } from "./turn.ts";
import { Watchers } from "./watchers.ts";

/** What an agent is made of. */
export interface AgentOptions {
  /** Where its sessions are kept. */
  readonly store: SessionStore;
  /** Who is asked. */
  readonly model: Model;
  /** Others, which a listener of `agent/request` may choose by provider and name. */
  readonly models?: readonly Model[];
  /** What it can do. Default: nothing. */
  readonly tools?: readonly Tool[];
  /** Asked in this order; the first that answers decides. Without any, what would ask is refused. */
  readonly approvers?: readonly Approver[];
  /** Looked at after policy and approval; each can only deny. */
  readonly guards?: readonly Guard[];
  /** Stands at the head of every conversation. Default: none. */
  readonly systemPrompt?: string;
  /** Temperature, token limits and the like. */
  readonly parameters?: RequestParameters;
  /** What applies while a log sets no policy: ask (default), or refuse whatever would ask. */
  readonly approvalPolicy?: "ask" | "never";
  /** Default STEPS_PER_TURN_MAX. */
  readonly stepsPerTurnMax?: number;
  /** How many calls may run side by side, of tools that say that this is safe. Default PARALLEL_TOOL_CALLS_MAX; 1 is none. */
  readonly maxParallelToolCalls?: number;
  /**
   * How a conversation that outgrows the model's window is compacted. Without options it is, as soon as the window is known or a
   * request was too long; `false` leaves it to `AgentSession.compact`.
   */
  readonly compaction?: CompactionOptions | false;
  /**
   * Results with much text are kept in a blob beside the log; log and model get a preview, and a tool that reads the rest. `false`:
   * they stay whole.
   */
  readonly spill?: SpillOptions | false;
  /** Where listeners are registered. Default: a registry of its own, in which a notified listener's failure is lost. */
  readonly hooks?: Hooks<AgentHooks>;
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
  /** Where listeners are registered, for all of the agent's sessions or for one of them. */
  readonly hooks: Hooks<AgentHooks>;
  /**
   * Starts a session. Nothing is written before the first message.
   *
   * @throws {AlreadyExistsError} when the id is taken
   * @throws what a listener of `agent/created` failed with; the session is closed then
   */
  create(options?: AgentCreateOptions): Promise<AgentSession>;
  /**
   * Goes on with a session: locks it, reads it, asks the tools about effects whose outcome is unknown, closes what a crash left
   * open, and says in `resumed` what was found. Nothing is run again. Work that waits in the inbox runs with the next message that wakes the loop.
   *
   * @throws {NotFoundError}
   * @throws {LockHeldError} when another writer is alive, also in this process
   * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when the log must not be written; nothing was changed
   * @throws what a listener of `agent/created` failed with; the session is closed then
   */
  resume(id: string, options?: AgentResumeOptions): Promise<AgentSession>;
}

/**
 * Makes an agent.
 *
 * @throws {TypeError} when two tools share a name
 * @throws {RangeError} when `stepsPerTurnMax` or `maxParallelToolCalls` is not a positive integer, or a number of `compaction` or `spill`
 * makes no sense
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
  const { store, clock, random, hooks = new Hooks<AgentHooks>() } = options;
  const settings: LoopSettings = {
    models: [options.model, ...options.models ?? []],
    tools,
    approvers: options.approvers ?? [],
    guards: options.guards ?? [],
    policy: options.approvalPolicy ?? "ask",
    systemPrompt: options.systemPrompt ?? "",
    parameters: options.parameters ?? {},
    stepsPerTurnMax: checkedCount("stepsPerTurnMax", options.stepsPerTurnMax ?? STEPS_PER_TURN_MAX),
    maxParallelToolCalls: checkedCount(
      "maxParallelToolCalls",
      options.maxParallelToolCalls ?? PARALLEL_TOOL_CALLS_MAX,
    ),
    compaction: compactionSettings(options.compaction === false ? { auto: false } : options.compaction ?? {}),
    spill: options.spill === false ? null : checkedSpillOptions(options.spill ?? {}),
    hooks,
  };

  function settingsFor(watchers: Watchers, isVolatile: boolean | undefined): SessionSettings {
    return { clock, random, volatile: isVolatile, report: ({ error }) => watchers.tell({ kind: "error", error }) };
  }

  return {
    hooks,
    async create({ id, cwd, volatile } = {}) {
      const watchers = new Watchers();
      const session = await createSession({ store, id, cwd, ...settingsFor(watchers, volatile) });
      return await AgentSession.start({ session, settings, watchers, resumed: null }, "create");
    },
    async resume(id, { volatile, waitMs, signal } = {}) {
      const watchers = new Watchers();
      const reconcile = reconcileWith(tools.values(), clock ?? store.runtime.clock);
      const opening = { store, id, waitMs, signal, reconcile, ...settingsFor(watchers, volatile) };
      const { session, resumed } = await openSession(opening);
      return await AgentSession.start({ session, settings, watchers, resumed }, "resume");
    },
  };
}

function checkedCount(name: string, count: number): number {
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new RangeError(`Cannot make an agent: ${name} is ${count}, not a positive integer`);
}
