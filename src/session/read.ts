/**
 * Reading a session without touching it.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import { logFold, type LogFolds, type OpenTurn, openTurn } from "../fold/mod.ts";
import type { LogReader, SessionStore } from "../store/session_store.ts";
import { closers } from "./repair.ts";
import { SurfaceBound } from "./surface_size.ts";

/** A session open for reading. Close `log` when done. */
export interface SessionReading {
  /** The log itself: its header, its state and its pages. */
  readonly log: LogReader;
  /** Everything derived from the events that could be read. */
  readonly folds: LogFolds;
  /** The turn that is open at the end, with the class each call would have if its writer is dead; `null` when none is. */
  readonly open: OpenTurn | null;
  /** What a repair would append. None for a log with a fault, which is never repaired. */
  readonly closers: readonly SessionEvent[];
}

/**
 * Opens a session for reading and folds it. Takes no lock, writes nothing, and shows a damaged log up to its damage.
 *
 * @throws {NotFoundError}
 * @throws {TooLargeError} when its conversation is over SURFACE_TOKENS_MAX
 * @throws {CorruptLogError|CorruptFrameError|UnsupportedFormatError} when not even the header can be read
 *
 * @example
 * ```ts
 * import { deriveMessages } from "../fold/mod.ts";
 * import type { SessionStore } from "../store/session_store.ts";
 * import { readSession } from "./read.ts";
 *
 * async function messages(store: SessionStore, id: string) {
 *   const { log, folds } = await readSession({ store, id });
 *   await using _ = log;
 *   return deriveMessages(folds.surface);
 * }
 * ```
 */
export async function readSession(
  options: { readonly store: SessionStore; readonly id: string; readonly signal?: AbortSignal },
): Promise<SessionReading> {
  let folds = logFold.initial();
  const bound = new SurfaceBound(options.id, options.signal);
  const visit = (event: SessionEvent) => {
    folds = logFold.apply(folds, event);
    bound.watch(folds);
  };
  const log = await options.store.open(options.id, "read", { visit, signal: bound.signal });
  try {
    bound.check();
  } catch (error) {
    await log.close();
    throw error;
  }
  const isWhole = log.state().fault === null;
  return { log, folds, open: openTurn(folds.pendingCalls), closers: isWhole ? closers(folds) : [] };
}
