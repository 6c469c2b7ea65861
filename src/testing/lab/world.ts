/**
 * The world of a simulated run: a ledger of what really took effect, by key, and requests that are on their way to it.
 *
 * A request outlives the process that sent it. It can arrive and be answered, arrive while the answer is lost, arrive after the
 * kill, or never; and of two requests the later one can arrive first. The ledger is the truth that everything said about an
 * effect is held against.
 *
 * @module
 */
import type { LedgerEntry } from "../judge/trace.ts";

/** The clock of one run: whatever happens anywhere takes the next step, so that of two things one is surely the earlier. */
export class Steps {
  /** The last one that was taken. */
  now: number;

  constructor(now = 0) {
    this.now = now;
  }

  take(): number {
    return ++this.now;
  }
}

/** How the world treats two requests with one key. */
export type Dedupe =
  /** A second one is answered as the first, and a closed key takes nothing. */
  | "by-key"
  /** A second one finds everything as it should be: nothing happens twice. */
  | "by-state"
  /** A second one is a second effect. */
  | "never";

/** What a body asks the world to do. */
export interface Order {
  readonly effectKey: string;
  readonly tool: string;
  readonly callId: string;
  readonly incarnation: number;
  readonly argsDigest: string;
  /** What the body was given, as JSON. */
  readonly arguments?: string;
  readonly dedupe: Dedupe;
}

/** What became of an order when it arrived. */
export type Arrival = { readonly state: "done"; readonly receipt: string } | { readonly state: "closed" };

/** Where a request that has not arrived is when its sender dies. */
export type LateFate =
  /** It arrives before anybody asks about it. */
  | "early"
  /** It arrives after the next process has asked about it. */
  | "late"
  /** It never arrives. */
  | "lost";

/** Every {@linkcode LateFate}. */
export const LATE_FATES: readonly LateFate[] = ["early", "late", "lost"];

/** The ledger and what is under way. */
export class World {
  /** What took effect, in order. */
  readonly ledger: LedgerEntry[];
  /** Keys under which nothing can happen any more. */
  readonly #closed: Set<string>;
  /** Sent, and not arrived. */
  readonly flying: Order[];
  /** Calls that a person allowed. What such a call repeats may be a second effect: somebody wanted it. */
  readonly granted: Set<string>;
  readonly steps: Steps;
  /** Whether a closed key stays closed. */
  keepsClosed: boolean;
  /** Told when something changed that a crash could come before or after. */
  observer: (() => void) | null = null;

  constructor(steps: Steps, other?: World) {
    this.steps = steps;
    this.ledger = [...other?.ledger ?? []];
    this.flying = [...other?.flying ?? []];
    this.keepsClosed = other?.keepsClosed ?? true;
    this.granted = new Set(other?.granted);
    this.#closed = new Set(other === undefined ? [] : other.#closed);
  }

  /** The same world at the same moment, to go on by itself. */
  fork(steps: Steps): World {
    return new World(steps, this);
  }

  /** The request has left its sender. */
  send(order: Order): void {
    this.steps.take();
    this.flying.push(order);
    this.observer?.();
  }

  /** The request arrives, now. */
  arrive(order: Order): Arrival {
    const index = this.flying.indexOf(order);
    if (index !== -1) this.flying.splice(index, 1);
    const arrival = this.#accept(order);
    this.observer?.();
    return arrival;
  }

  /** Nothing was done under this key and nothing ever will be, or what was done. One step with {@linkcode arrive}. */
  close(effectKey: string): Arrival {
    const index = this.ledger.findIndex((entry) => entry.effectKey === effectKey);
    if (index === -1) this.#closed.add(effectKey);
    this.steps.take();
    return index === -1 ? CLOSED : { state: "done", receipt: `r${index}` };
  }

  /** Requests that were under way arrive, in the given order; the others of these incarnations are lost. */
  land(orders: readonly Order[]): void {
    for (const order of orders) this.arrive(order);
  }

  /** What is under way will never arrive. */
  drop(): void {
    this.flying.length = 0;
  }

  #accept(order: Order): Arrival {
    const step = this.steps.take();
    const { effectKey, tool, callId, incarnation, argsDigest, dedupe } = order;
    if (this.keepsClosed && this.#closed.has(effectKey)) return CLOSED;
    const known = this.ledger.findIndex((entry) => entry.effectKey === effectKey);
    if (known !== -1 && dedupe !== "never") return { state: "done", receipt: `r${known}` };
    const isGranted = this.granted.has(callId);
    const given = order.arguments === undefined ? {} : { arguments: order.arguments };
    this.ledger.push({ effectKey, tool, callId, incarnation, acceptedAtStep: step, argsDigest, isGranted, ...given });
    return { state: "done", receipt: `r${this.ledger.length - 1}` };
  }
}

const CLOSED: Arrival = { state: "closed" };
