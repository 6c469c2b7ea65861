/**
 * Targets for tests of what is known after a crash: one that counts what really happened, and one whose requests take their time.
 *
 * @module
 */
import type { KeyedTarget, KeyState, OrderAnswer } from "../tools/pack/keyed_target.ts";

/** Something that really happened. */
export interface RealEffect<Order> {
  readonly key: string;
  readonly order: Order;
}

/**
 * A target that keeps keys, in memory. Its ledger is the truth.
 *
 * @example
 * ```ts
 * import { SimulatedTarget } from "./simulated_target.ts";
 *
 * const bank = new SimulatedTarget<number>();
 * const { signal } = new AbortController();
 * await bank.perform("a", 10, signal);
 * await bank.perform("a", 10, signal);
 * if (bank.ledger.length !== 1) throw new Error("unreachable");
 * if ((await bank.close("b", 5, signal)).state !== "closed") throw new Error("unreachable");
 * if ((await bank.perform("b", 5, signal)).state !== "closed") throw new Error("unreachable");
 * ```
 */
export class SimulatedTarget<Order> implements KeyedTarget<Order> {
  /** What happened, in order. */
  readonly ledger: RealEffect<Order>[] = [];
  readonly #closed = new Set<string>();

  perform(key: string, order: Order, _signal?: AbortSignal): Promise<OrderAnswer> {
    const known = this.#stateOf(key);
    if (known !== null) return Promise.resolve(known);
    this.ledger.push({ key, order });
    return Promise.resolve(this.#stateOf(key)!);
  }

  close(key: string, _order?: Order, _signal?: AbortSignal): Promise<KeyState> {
    if (!this.ledger.some((effect) => effect.key === key)) this.#closed.add(key);
    return Promise.resolve(this.#stateOf(key)!);
  }

  #stateOf(key: string): KeyState | null {
    const index = this.ledger.findIndex((effect) => effect.key === key);
    if (index !== -1) return { state: "done", receipt: `receipt ${index + 1}` };
    return this.#closed.has(key) ? { state: "closed" } : null;
  }
}

/**
 * What becomes of an order on its way: it arrives and is answered; it arrives and the answer is lost; it arrives later, when
 * `SlowTarget.land()` is called; it never arrives. A crash of the sender changes nothing of it.
 */
export type RequestFate = "answered" | "unanswered" | "late" | "lost";

/**
 * A target behind a slow network. Only orders are slow: a question that gets no answer is undecidable anyway.
 *
 * @example
 * ```ts
 * import { SimulatedTarget, SlowTarget } from "./simulated_target.ts";
 *
 * const bank = new SimulatedTarget<number>();
 * const slow = new SlowTarget(bank, () => "late");
 * const { signal } = new AbortController();
 * void slow.perform("a", 10, signal);
 * await slow.close("a", 10, signal);
 * await slow.land();
 * if (bank.ledger.length !== 0) throw new Error("unreachable");
 * ```
 */
export class SlowTarget<Order> implements KeyedTarget<Order> {
  readonly #target: KeyedTarget<Order>;
  readonly #fateOf: (key: string, order: Order) => RequestFate;
  #late: (() => Promise<unknown>)[] = [];

  constructor(target: KeyedTarget<Order>, fateOf: (key: string, order: Order) => RequestFate) {
    this.#target = target;
    this.#fateOf = fateOf;
  }

  async perform(key: string, order: Order, signal: AbortSignal): Promise<OrderAnswer> {
    // The request outlives its sender, so its signal is not the sender's.
    const arrive = () => this.#target.perform(key, order, new AbortController().signal);
    switch (this.#fateOf(key, order)) {
      case "answered":
        return await arrive();
      case "unanswered":
        await arrive();
        break;
      case "late":
        this.#late.push(arrive);
        break;
      case "lost":
        break;
    }
    return await new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  close(key: string, order: Order, signal: AbortSignal): ReturnType<KeyedTarget<Order>["close"]> {
    return this.#target.close(key, order, signal);
  }

  /** Lets everything arrive that is under way. */
  async land(): Promise<void> {
    const late = this.#late;
    this.#late = [];
    await Promise.allSettled(late.map((arrive) => arrive()));
  }
}
