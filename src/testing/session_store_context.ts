/**
 * What a runner gives to the session store contract: stores on one fresh place, another process, and a clock that can be moved.
 *
 * @module
 */
import type { SessionEvent, SessionHeader } from "../event/mod.ts";
import type { LogReader, LogWriter, SessionStore } from "../store/session_store.ts";

/** A fresh, empty place, as one contract case sees it. */
export interface SessionStoreContext {
  /** Opens one more store on the place, independent of the others as if it were of another process. Closed with the case. */
  openStore(): Promise<SessionStore>;
  /** Another process on the same place. Cases skip it where `traits.lockScope` is `process`. */
  readonly other: OtherStoreProcess;
  /** Lets time pass on the clock of every store of this context, and what waits for it run. */
  advance(ms: number): Promise<void>;
  /** How many sessions the largest cases make. Default 1000. */
  readonly sessionsMany?: number;
}

/** Another process: it runs {@linkcode OtherStoreSide} and is told what to do. */
export interface OtherStoreProcess {
  /** Runs one command there. The process starts with the first one. */
  run(command: StoreCommand): Promise<StoreAnswer>;
  /** Kills it, with no chance to clean up. The next command starts another. */
  kill(): Promise<void>;
}

/** What the other process can be told, as JSON. */
export type StoreCommand =
  /** Creates a session, or opens it for writing, and keeps it open. */
  | { readonly do: "create" | "open"; readonly id: string }
  /** Appends `count` events in batches of one. */
  | { readonly do: "append"; readonly id: string; readonly from: number; readonly count: number }
  | { readonly do: "close"; readonly id: string }
  /** Creates each session, appends one event, and closes it again. */
  | { readonly do: "createAll"; readonly ids: readonly string[] };

/** How a command went. */
export interface StoreAnswer {
  /** `null` when it worked, else the code of the error, or its text when it has none. */
  readonly code: string | null;
}

/** The side that runs in the other process: commands in, answers out, over whatever channel the runner has. */
export class OtherStoreSide {
  readonly #store: SessionStore;
  readonly #logs = new Map<string, LogWriter>();

  /** Runs commands on a store of this process, which stays the caller's to close. */
  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Runs one command. Never rejects. */
  async run(command: StoreCommand): Promise<StoreAnswer> {
    try {
      await this.#act(command);
      return { code: null };
    } catch (error) {
      if (typeof error === "object" && error !== null && "code" in error) return { code: String(error.code) };
      return { code: String(error) };
    }
  }

  async #act(command: StoreCommand): Promise<void> {
    switch (command.do) {
      case "create":
        this.#logs.set(command.id, await this.#store.create(headerOf(command.id)));
        return;
      case "open":
        this.#logs.set(command.id, await this.#store.open(command.id, "write"));
        return;
      case "append": {
        const log = this.#logs.get(command.id)!;
        for (const event of eventsOf(command.from, command.count)) await log.append([event]);
        return;
      }
      case "close":
        return await this.#logs.get(command.id)!.close();
      case "createAll":
        return await createAll(this.#store, command.ids);
    }
  }
}

/** Creates sessions one after the other, each with one event. */
export async function createAll(store: SessionStore, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const log = await store.create(headerOf(id));
    await log.append(eventsOf(0, 1));
    await log.close();
  }
}

/** The header of a session in a case. */
export function headerOf(id: string, more: Partial<SessionHeader> = {}): SessionHeader {
  return { type: "session", version: 3, id, createdAt: 1000, cwd: "/w", isSeeded: false, delegationDepth: 0, ...more };
}

/** Events that may stand anywhere in a log. */
export function eventsOf(from: number, count: number): SessionEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const seq = from + index;
    return { type: "feedback/record", seq, time: 5000 + seq, data: { text: `event ${seq}` } };
  });
}

/** Everything a log holds from `from` on, page by page. */
export async function readAll(log: LogReader, from = 0): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for (let next: number | null = from; next !== null;) {
    const page: { readonly events: readonly SessionEvent[]; readonly nextFrom: number | null } = await log.read({
      from: next,
    });
    events.push(...page.events);
    next = page.nextFrom;
  }
  return events;
}
