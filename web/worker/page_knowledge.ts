/**
 * What the page knows of a session's events, and telling it the rest: in order, each once, or taken back.
 *
 * @module
 */
import { type EventPage, hasCode, type SessionEvent } from "../../mod.ts";
import type { SessionView, WorkerNews } from "../protocol.ts";
import { wireError } from "./wire.ts";

/** How many events the page is told at a time. */
const FILL_EVENTS = 500;

/** Where the events come from that the page does not know. */
export interface EventSource {
  /** One more than the last seq it has. */
  readonly nextSeq: number;
  page(from: number, limit: number): Promise<EventPage>;
}

/** Tells a page. Nothing before `begin()`. */
export class PageKnowledge {
  readonly #id: string;
  readonly #tell: (news: WorkerNews) => void;
  readonly #durableSeq: () => number;
  /** The page knows, or can ask for, all events below. */
  #nextSeq = 0;
  #isTelling = false;
  /** Whether events are being read for the page; those that are committed meanwhile are among them. */
  #isFilling = false;
  #lastView = "";

  constructor(id: string, tell: (news: WorkerNews) => void, durableSeq: () => number) {
    this.#id = id;
    this.#tell = tell;
    this.#durableSeq = durableSeq;
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  get isTelling(): boolean {
    return this.#isTelling;
  }

  /** What the page will ask for itself. */
  startAt(nextSeq: number): void {
    this.#nextSeq = nextSeq;
  }

  begin(): void {
    this.#isTelling = true;
  }

  end(): void {
    this.#isTelling = false;
  }

  tell(news: WorkerNews): void {
    if (this.#isTelling) this.#tell(news);
  }

  problem(error: unknown): void {
    this.tell({ kind: "problem", id: this.#id, error: wireError(error) });
  }

  /** Tells events that continue what the page knows. While it is being filled up, it reads them with the rest. */
  show(events: readonly SessionEvent[]): void {
    if (!this.#isFilling) this.#show(events);
  }

  /** Tells that more of what the page knows is durable. */
  durable(): void {
    if (this.#isFilling) return;
    this.tell({ kind: "events", id: this.#id, events: [], durableSeq: this.#durableSeq() });
  }

  /** Takes back what the page knows from a seq on. */
  forgetFrom(seq: number): void {
    if (seq >= this.#nextSeq) return;
    this.#nextSeq = seq;
    this.tell({ kind: "reset", id: this.#id, from: seq });
  }

  /** Tells everything the page does not know yet. `source` is asked anew for each page: it may change meanwhile. */
  async fill(source: () => EventSource | null): Promise<void> {
    if (this.#isFilling || !this.#isTelling) return;
    this.#isFilling = true;
    try {
      for (let from = source(); from !== null && this.#nextSeq < from.nextSeq && this.#isTelling; from = source()) {
        const { events } = await from.page(this.#nextSeq, FILL_EVENTS);
        if (events.length === 0) return;
        this.#show(events);
      }
    } catch (error) {
      // Let go in the middle of a read: whoever reads next goes on.
      if (!hasCode(error, "SESSION_CLOSED")) this.problem(error);
    } finally {
      this.#isFilling = false;
    }
  }

  /** Tells a view that is another than the last. Returns whether it was. */
  view(view: SessionView): boolean {
    const text = JSON.stringify(view);
    if (text === this.#lastView || !this.#isTelling) return false;
    this.#lastView = text;
    this.tell({ kind: "view", view });
    return true;
  }

  #show(events: readonly SessionEvent[]): void {
    const fresh = events.filter((event) => event.seq >= this.#nextSeq);
    if (!this.#isTelling || fresh[0]?.seq !== this.#nextSeq) return;
    this.#nextSeq = fresh.at(-1)!.seq + 1;
    this.tell({ kind: "events", id: this.#id, events: fresh, durableSeq: this.#durableSeq() });
  }
}
