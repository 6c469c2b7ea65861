/**
 * Which sessions there should be: remembered apart from them, so that their loss is noticed.
 *
 * A browser may clear the files of an origin as a whole. An empty list would then look like a fresh start.
 *
 * @module
 */
import type { KeyValues } from "./platform.ts";

/** Under which key it is kept. */
export const KNOWN_KEY = "holdfast-known";
/** How many ids are remembered; the newest. */
export const KNOWN_IDS_MAX = 10_000;

/** What is remembered. */
export interface Known {
  readonly sessionIds: readonly string[];
  /** What the browser said when it was asked to persist; `null` before that. */
  readonly isPersisted: boolean | null;
}

/** The known sessions of an origin. */
export class KnownSessions {
  readonly #values: KeyValues;

  constructor(values: KeyValues) {
    this.#values = values;
  }

  async read(): Promise<Known> {
    return knownOf(await this.#values.get(KNOWN_KEY));
  }

  async add(ids: readonly string[]): Promise<void> {
    await this.#change(({ sessionIds, isPersisted }) => ({
      sessionIds: [...new Set([...sessionIds, ...ids])].slice(-KNOWN_IDS_MAX),
      isPersisted,
    }));
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#change(({ sessionIds, isPersisted }) => ({
      sessionIds: sessionIds.filter((id) => !ids.includes(id)),
      isPersisted,
    }));
  }

  async setPersisted(isPersisted: boolean): Promise<void> {
    await this.#change(({ sessionIds }) => ({ sessionIds, isPersisted }));
  }

  #change(change: (known: Known) => Known): Promise<void> {
    return this.#values.update(KNOWN_KEY, (old) => change(knownOf(old)));
  }
}

/** Whatever is stored there, read as carefully as what a stranger wrote. */
function knownOf(stored: unknown): Known {
  const { sessionIds, isPersisted } = (stored ?? {}) as {
    readonly sessionIds?: unknown;
    readonly isPersisted?: unknown;
  };
  return {
    sessionIds: Array.isArray(sessionIds) ? sessionIds.filter((id) => typeof id === "string") : [],
    isPersisted: typeof isPersisted === "boolean" ? isPersisted : null,
  };
}
