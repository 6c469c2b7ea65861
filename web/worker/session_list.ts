/**
 * The list of sessions, and what is missing from it.
 *
 * @module
 */
import type { SessionRow, SessionStore, StorageTraits } from "../../mod.ts";
import type { WorkerNews } from "../protocol.ts";
import type { KnownSessions } from "./known_sessions.ts";
import type { Platform } from "./platform.ts";
import { Refusal, wireError } from "./wire.ts";

/** How many sessions are listed. */
export const ROWS_MAX = 10_000;
/** The list is told at most this often, in milliseconds. */
const LIST_PAUSE_MS = 100;

/** What it works with. */
export interface ListParts {
  readonly platform: Pick<Platform, "runtime">;
  readonly known: KnownSessions;
  readonly store: SessionStore;
  readonly tell: (news: WorkerNews) => void;
  /** Tells the other tabs that sessions came or went. */
  readonly say: () => void;
}

/** The list of one store. */
export class SessionList {
  readonly #parts: ListParts;
  /** The ids whose loss was told last, so that it is told once. */
  #lostTold = "";
  #isPersisted: boolean | null = null;
  #isDue = false;

  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  /**
   * Every session.
   *
   * @throws {Refusal} `STORAGE_LOST` when there are known sessions and none of them is there
   */
  async rows(): Promise<readonly SessionRow[]> {
    const { known, tell } = this.#parts;
    const rows = await this.#listed();
    // What keeps nothing loses nothing.
    if (this.#isVolatile || rows.length === ROWS_MAX) return rows;
    const { sessionIds } = await known.read();
    const unknown = rows.map(({ id }) => id).filter((id) => !sessionIds.includes(id));
    if (unknown.length > 0) await known.add(unknown);
    const lost = await this.#lost(rows);
    if (lost.length === 0) return rows;
    const message = `Cannot list all sessions: the browser has cleared the files of ${lost.length} of them`;
    const refusal = new Refusal("STORAGE_LOST", message, lost);
    if (rows.length === 0) throw refusal;
    if (this.#lostTold !== lost.join()) tell({ kind: "problem", id: null, error: wireError(refusal) });
    this.#lostTold = lost.join();
    return rows;
  }

  /** Whoever is lost is not missed any more. Returns who that was. */
  async forgetLost(): Promise<readonly string[]> {
    const lost = this.#isVolatile ? [] : await this.#lost(await this.#listed());
    await this.#parts.known.remove(lost);
    this.changed();
    return lost;
  }

  /** A session was written for the first time. When it is the first of all, the page is to ask the browser to persist. */
  async wrote(id: string): Promise<void> {
    const { known, tell } = this.#parts;
    this.changed();
    if (this.#isVolatile) return;
    try {
      await known.add([id]);
      if (this.#isPersisted === null) {
        tell({ kind: "persistence", persistence: this.traits.persistence, wasAsked: false });
      }
    } catch (error) {
      tell({ kind: "problem", id, error: wireError(error) });
    }
  }

  /** Removes a session. */
  async delete(id: string): Promise<void> {
    const { known, store } = this.#parts;
    // Not missed from here on: another tab that lists meanwhile must not take the removal for a loss.
    await known.remove([id]);
    try {
      await store.delete(id);
    } catch (error) {
      if (await store.stat(id) !== null) await known.add([id]);
      throw error;
    }
    this.changed();
  }

  /** What the medium promises, and the browser on top of it. */
  get traits(): StorageTraits {
    const { traits } = this.#parts.store;
    const isRaised = traits.persistence === "best-effort" && this.#isPersisted === true;
    return isRaised ? { ...traits, persistence: "persistent" } : traits;
  }

  /** Remembers what the browser answered when it was asked to persist, in this tab or in another, now or earlier. */
  persisted(isPersisted: boolean | null): void {
    this.#isPersisted = isPersisted;
  }

  /** Sessions came or went here. */
  changed(): void {
    this.#parts.say();
    this.tellSoon();
  }

  /** Tells the page the list. */
  tellSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    const { platform, tell } = this.#parts;
    platform.runtime.clock.schedule(LIST_PAUSE_MS, () => {
      this.#isDue = false;
      this.rows().then(
        (rows) => tell({ kind: "sessions", rows }),
        (error) => tell({ kind: "problem", id: null, error: wireError(error) }),
      );
    });
  }

  get #isVolatile(): boolean {
    return this.#parts.store.traits.persistence === "volatile";
  }

  async #listed(): Promise<SessionRow[]> {
    const rows: SessionRow[] = [];
    for await (const row of this.#parts.store.list()) {
      rows.push(row);
      if (rows.length === ROWS_MAX) break;
    }
    return rows;
  }

  /** Known sessions that are not there. What was removed while we looked is not known any more. */
  async #lost(rows: readonly SessionRow[]): Promise<string[]> {
    const { known, store } = this.#parts;
    const there = new Set(rows.map(({ id }) => id));
    const lost: string[] = [];
    for (const id of (await known.read()).sessionIds) {
      if (!there.has(id) && await store.stat(id) === null) lost.push(id);
    }
    if (lost.length === 0) return [];
    const { sessionIds } = await known.read();
    return lost.filter((id) => sessionIds.includes(id));
  }
}
