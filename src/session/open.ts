/**
 * Opening a session that exists: lock, read, find out, repair, go on.
 *
 * The order is fixed. Whoever reads the log between two of these steps sees a valid log that says nothing untrue.
 *
 * @see architecture "Order at resume"; session-format §9
 * @module
 */
import { CorruptLogError } from "../errors.ts";
import { checkAppendable, type SessionEvent } from "../event/mod.ts";
import {
  foldEvents,
  type KeptFolds,
  logFold,
  type LogFolds,
  type OpenTurn,
  openTurn,
  pairingProblem,
  type UnresolvedEffect,
} from "../fold/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { LogWriter, SessionStore } from "../store/session_store.ts";
import { type Reconcile, reconcileEffects } from "./reconcile.ts";
import { closers } from "./repair.ts";
import { Session, type SessionSettings } from "./session.ts";
import { SurfaceBound } from "./surface_size.ts";
import { owedNotices } from "./verdict.ts";

/** How to open a session for writing. */
export interface OpenSessionOptions extends SessionSettings {
  /** Where the log is kept. Closing the session leaves it open. */
  readonly store: SessionStore;
  /** The session's id. */
  readonly id: string;
  /** Poll for the lock this long, in milliseconds. Default 0: never wait. */
  readonly waitMs?: number;
  /** Ends the waiting and the reading. */
  readonly signal?: AbortSignal;
  /** Looks up what became of effects whose outcome is unknown. Without it they stay unknown. `reconcileWith` makes it of tools. */
  readonly reconcile?: Reconcile;
}

/** What was found and done when a session was opened. */
export interface Resumed {
  /** The turn that was open, with the class of each call without a result; `null` when none was. */
  readonly open: OpenTurn | null;
  /** The calls of {@linkcode open}; empty when no turn was open. */
  readonly calls: OpenTurn["calls"];
  /**
   * What lookups found: `effect/reconciled` events, and notices for calls that were closed already. Before them the notices of
   * earlier verdicts that a crash took away.
   */
  readonly verdicts: readonly SessionEvent[];
  /** The events that closed the turn. */
  readonly closers: readonly SessionEvent[];
  /** What is still unknown. */
  readonly unresolved: readonly UnresolvedEffect[];
  /** How many events of an unfinished last batch could be kept. */
  readonly salvagedEvents: number;
  /**
   * What is wrong with the calls and results the model sees, which another program left so; `null` when nothing is. Requests are
   * put right: it keeps nothing from going on.
   */
  readonly pairingProblem: string | null;
}

/**
 * Opens a session for writing, closes what a crash left open, and begins a new lifecycle.
 *
 * When it resolves, verdicts and closers are durable. A `session/end-seed` is pending unless the log ends with one: opening
 * and closing again and again adds nothing more.
 *
 * @throws {NotFoundError}
 * @throws {LockHeldError} when another writer is alive, also in this process
 * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when the log has a fault; nothing was changed
 * @throws {TooLargeError} when its conversation is over SURFACE_TOKENS_MAX; nothing was changed
 * @throws whatever refused the closers (`STORAGE_FULL` …); the session is not held then
 *
 * @example
 * ```ts
 * import type { SessionStore } from "../store/session_store.ts";
 * import { openSession } from "./open.ts";
 *
 * async function classes(store: SessionStore, id: string): Promise<string[]> {
 *   const { session, resumed } = await openSession({ store, id });
 *   await session.close();
 *   return resumed.calls.map((call) => `${call.name}: ${call.class}`);
 * }
 * ```
 */
export async function openSession(options: OpenSessionOptions): Promise<{ session: Session; resumed: Resumed }> {
  const { store, id, clock = store.runtime.clock, random = store.runtime.random, waitMs, signal } = options;
  const seen = new Seen();
  const bound = new SurfaceBound(id, signal);
  const visit = (event: SessionEvent) => {
    seen.add([event]);
    bound.watch(seen.folds);
  };
  const restore = (kept: KeptFolds | null) => {
    seen.restore(kept);
    bound.watch(seen.folds);
  };
  const log = await store.open(id, "write", { visit, restore, waitMs, signal: bound.signal });
  try {
    bound.check();
    const resumed = await resume(log, seen, { ...options, clock, random });
    const { folds, lastType } = seen;
    const { inheritedEventCount } = log;
    const mustEndSeed = lastType !== "session/end-seed";
    const session = new Session({ ...options, clock, random, log, folds, inheritedEventCount, mustEndSeed });
    return { session, resumed };
  } catch (error) {
    await log.close().catch(() => {});
    throw error;
  }
}

async function resume(
  log: LogWriter,
  seen: Seen,
  options: OpenSessionOptions & { readonly clock: Clock; readonly random: Random },
): Promise<Resumed> {
  const { fault } = seen.folds.surface;
  if (fault !== null) {
    throw new CorruptLogError(`Cannot open session "${log.id}": event ${fault.seq}: ${fault.message}`, fault);
  }
  const open = openTurn(seen.folds.pendingCalls);
  const { torn } = log.state();

  const owed = owedNotices(seen.folds).map((draft) => checkAppendable(draft, seen.folds.nextSeq, options.clock.now()));
  seen.add(owed);
  const found = options.reconcile === undefined ? [] : await reconcileEffects(seen.folds, options.reconcile, options);
  seen.add(found);
  const verdicts = [...owed, ...found];
  const closing = closers(seen.folds);
  seen.add(closing);
  if (verdicts.length + closing.length > 0 || torn !== null) await log.recover([...verdicts, ...closing]);

  return {
    open,
    calls: open?.calls ?? [],
    verdicts,
    closers: closing,
    unresolved: seen.folds.unresolved.effects,
    salvagedEvents: torn?.salvagedEvents ?? 0,
    pairingProblem: pairingProblem(seen.folds.surface.nodes),
  };
}

/** What the log says so far. */
class Seen {
  folds: LogFolds = logFold.initial();
  lastType: string | null = null;

  /** Goes on from a state that was kept, or begins anew. */
  restore(kept: KeptFolds | null): void {
    this.folds = kept?.folds ?? logFold.initial();
    this.lastType = kept?.lastType ?? null;
  }

  add(events: readonly SessionEvent[]): void {
    this.folds = foldEvents(logFold, events, this.folds);
    this.lastType = events.at(-1)?.type ?? this.lastType;
  }
}
