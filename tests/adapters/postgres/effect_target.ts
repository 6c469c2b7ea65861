/**
 * Where effects happen, outside of everything that is killed: remembers each of them, and does what comes with a known key only once.
 *
 * @module
 */

/** An effect that was asked for. */
export interface Asked {
  readonly name: "keyed" | "opaque";
  readonly order: string;
  readonly effectKey: string;
  readonly sessionId: string;
}

/** How long an answer takes after its effect, in milliseconds: time in which whoever asked may be killed. */
const ANSWER_MS = 100;

/** A target on a port of its own. */
export class EffectTarget {
  readonly url: string;
  /** Everything that was asked for, in order. */
  readonly asked: Asked[] = [];
  readonly #keys = new Set<string>();
  /** How often each keyed order took effect. */
  readonly applied = new Map<string, number>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
      const asked = await request.json() as Asked;
      this.asked.push(asked);
      if (asked.name === "keyed") {
        if (this.#keys.has(asked.effectKey)) return new Response("done before");
        this.#keys.add(asked.effectKey);
      }
      const name = `${asked.name} ${asked.order}`;
      this.applied.set(name, (this.applied.get(name) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
      return new Response("done");
    });
    this.url = `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  /** Orders of a kind that took effect more than once. */
  twice(name: Asked["name"]): string[] {
    return [...this.applied].filter(([order, count]) => order.startsWith(name) && count > 1).map(([order]) => order);
  }

  /** How many calls came under a key that had come before. */
  get repeats(): number {
    return this.asked.filter(({ name }) => name === "keyed").length - this.#keys.size;
  }

  async close(): Promise<void> {
    await this.#server.shutdown();
  }
}
