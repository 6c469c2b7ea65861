/**
 * A pretend remote that counts: it writes down every payment that reaches it, with its instant, and what the browser's disk held
 * at that instant.
 *
 * It belongs to the origin of the page, because the page's policy lets the worker speak to nobody else.
 *
 * @module
 */

/** One request that reached the remote. */
export interface Arrival {
  readonly effectKey: string;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly arrivedAt: number;
  /** When the money moved; `null` until then. It moves whether or not anybody still listens. */
  paidAt: number | null;
  /** What {@linkcode RemoteOptions.onArrival} found, or why it could not. */
  readonly witness: unknown;
}

/** How long the remote takes for one payee. */
export interface RemoteDelays {
  /** From the arrival until the money moves, and from then until the answer. */
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** How the remote behaves. */
export interface RemoteOptions {
  readonly delaysOf?: (to: string) => RemoteDelays | undefined;
  /** Looks at the world before anything else happens: the remote neither pays nor answers until it has. */
  readonly onArrival?: (effectKey: string) => unknown;
}

/** How long nothing may happen before the remote calls itself quiet: a dead browser's last bytes are then through. */
const QUIET_MS = 60;

/** A remote. {@linkcode CountingRemote.answer} is its whole interface to the world. */
export class CountingRemote {
  readonly arrivals: Arrival[] = [];
  readonly #options: RemoteOptions;
  #inFlight = 0;
  #lastChangeMs = performance.now();

  constructor(options: RemoteOptions = {}) {
    this.#options = options;
  }

  /** Payees and how often each was paid: a key that comes again is not paid again. */
  payments(): Map<string, number> {
    const paid = new Map<string, Set<string>>();
    for (const { to, effectKey, paidAt } of this.arrivals) {
      if (paidAt !== null) paid.set(to, (paid.get(to) ?? new Set()).add(effectKey));
    }
    return new Map([...paid].map(([to, keys]) => [to, keys.size]));
  }

  /** Takes a payment: `POST {effectKey, to, amount}`. */
  async answer(request: Request): Promise<Response> {
    if (request.method !== "POST") return Response.json(this.#entries());
    this.#change(1);
    try {
      const { effectKey, to, amount } = await request.json() as { effectKey: string; to: string; amount: unknown };
      const witness = this.#options.onArrival?.(effectKey) ?? null;
      const arrival: Arrival = { effectKey, to, arrivedAt: Date.now(), paidAt: null, witness };
      const isRepeated = this.arrivals.some((other) => other.effectKey === effectKey);
      this.arrivals.push(arrival);
      const { beforeMs, afterMs } = this.#options.delaysOf?.(to) ?? { beforeMs: 0, afterMs: 0 };
      await pause(beforeMs);
      if (!isRepeated) arrival.paidAt = Date.now();
      await pause(afterMs);
      return Response.json({ paid: true, to, amount, effectKey });
    } catch (error) {
      // The browser died while it was sending: what did not arrive whole is no payment.
      return Response.json({ error: String(error) }, { status: 400 });
    } finally {
      this.#change(-1);
    }
  }

  /** Resolves when no request is in flight and none has come for a while. */
  async whenQuiet(): Promise<void> {
    const askedMs = performance.now();
    const quietMs = () => performance.now() - Math.max(askedMs, this.#lastChangeMs);
    while (this.#inFlight > 0 || quietMs() < QUIET_MS) await pause(QUIET_MS / 4);
  }

  #entries() {
    return this.arrivals.filter(({ paidAt }) => paidAt !== null).map(({ effectKey, to, paidAt }) => {
      return { effectKey, to, amount: "", time: paidAt };
    });
  }

  #change(requests: number): void {
    this.#inFlight += requests;
    this.#lastChangeMs = performance.now();
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}
