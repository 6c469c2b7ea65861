/**
 * Starting a session.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import { checkNewHeader, FORMAT_VERSION, type SessionHeader } from "../event/mod.ts";
import { logFold } from "../fold/mod.ts";
import type { LogWriter, SessionStore } from "../store/session_store.ts";
import { newSessionId } from "./id.ts";
import { Session, type SessionSettings } from "./session.ts";

/** How many generated ids are tried when one is taken. */
export const ID_TRIES_MAX = 3;

/** How to start a session. */
export interface CreateSessionOptions extends SessionSettings {
  /** Where the log is kept. Closing the session leaves it open. */
  readonly store: SessionStore;
  /** Default: a new short one that sorts by time. */
  readonly id?: string;
  /** Absolute path of the workspace the session belongs to. */
  readonly cwd?: string;
  /** Id of the session this one comes from; absent when it comes from none. */
  readonly parentSession?: string;
  /** Set for a session that an agent started for a part of its work; absent otherwise. */
  readonly origin?: "subagent";
  /** Default 0. */
  readonly delegationDepth?: number;
  /** Kept in the header for whoever opens the session again; nothing here reads it. */
  readonly agentPreset?: string;
}

/**
 * Starts a session. Nothing is written before the first event or flush; closing it before leaves nothing.
 *
 * @throws {AlreadyExistsError} when the id is taken
 * @throws {TypeError} when the header would not open again: an empty id, a relative cwd
 *
 * @example
 * ```ts
 * import type { SessionStore } from "../store/session_store.ts";
 * import { createSession } from "./create.ts";
 *
 * async function start(store: SessionStore): Promise<string> {
 *   await using session = await createSession({ store, cwd: "/srv/project" });
 *   await session.flush();
 *   return session.id;
 * }
 * ```
 */
export async function createSession(options: CreateSessionOptions): Promise<Session> {
  const { store, clock = store.runtime.clock, random = store.runtime.random } = options;
  const log = await createLog(store, options.id, (id) => ({
    type: "session",
    version: FORMAT_VERSION,
    id: id ?? newSessionId(clock, random),
    createdAt: clock.now(),
    ...pick(options, "cwd"),
    ...pick(options, "parentSession"),
    isSeeded: false,
    ...pick(options, "origin"),
    delegationDepth: options.delegationDepth ?? 0,
    ...pick(options, "agentPreset"),
  }));
  const folds = logFold.initial();
  return new Session({ ...options, clock, random, log, folds, inheritedEventCount: 0, mustEndSeed: false });
}

/** Creates the log under the id that was asked for, or under a fresh one. `headerFor` draws the id when it is given none. */
export async function createLog(
  store: SessionStore,
  id: string | undefined,
  headerFor: (id: string | undefined) => SessionHeader,
): Promise<LogWriter> {
  for (let tries = 1;; tries++) {
    const header = headerFor(id);
    checkNewHeader(header);
    try {
      return await store.create(header);
    } catch (error) {
      if (id !== undefined || tries === ID_TRIES_MAX || !hasCode(error, "ALREADY_EXISTS")) throw error;
    }
  }
}

/** The member as an object to spread, or nothing when it is absent: a header has no member that is `undefined`. */
function pick<Key extends keyof CreateSessionOptions>(
  options: CreateSessionOptions,
  key: Key,
): Pick<CreateSessionOptions, Key> | Record<never, never> {
  return options[key] === undefined ? {} : { [key]: options[key] };
}
