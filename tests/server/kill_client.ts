/**
 * A client that outlives its server: it follows one session over as many connections as it takes, and answers its questions.
 *
 * @module
 */
import { EventStream } from "./server_support.ts";

/** How long it waits before it connects again, in milliseconds. */
const RETRY_MS = 5;

/** A client of one session. */
export class LastingClient {
  readonly #id: string;
  readonly #token: string;
  readonly #thinkMs: (reason: string | null) => number;
  #origin: string | null = null;
  /** Every durable event it was sent, in the order in which it came: also one that came twice. */
  readonly received: { readonly id: number; readonly row: string }[] = [];
  /** How often it connected. */
  connections = 0;
  /** Answers it was acknowledged, by question. */
  readonly acknowledged = new Map<string, string>();
  #isOver = false;
  #stream: EventStream | null = null;
  readonly #answering: Promise<void>[] = [];
  /** Resolves with each durable event. */
  #news = Promise.withResolvers<void>();
  readonly #running: Promise<void>;

  constructor(id: string, token: string, thinkMs: (reason: string | null) => number) {
    this.#id = id;
    this.#token = token;
    this.#thinkMs = thinkMs;
    this.#running = this.#run();
  }

  /** Where the server is now; `null` while there is none. */
  set origin(origin: string | null) {
    this.#origin = origin;
  }

  /** Sends a request to the server as it is now. */
  ask = async (
    path: string,
    { body, headers = {}, signal }: {
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<Response> => {
    if (this.#origin === null) throw new Error("there is no server");
    return await fetch(this.#origin + path, {
      method: body === undefined ? "GET" : "POST",
      signal,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  };

  /** Resolves when a durable event fits, also one that came before. */
  async until(fits: (row: string, id: number) => boolean): Promise<void> {
    for (;;) {
      const news = this.#news.promise;
      if (this.received.some(({ row, id }) => fits(row, id))) return;
      await news;
    }
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#stream?.[Symbol.asyncDispose]();
    await this.#running;
    await Promise.allSettled(this.#answering);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#follow();
      } catch {
        // The server is gone, or the session not there yet.
      }
      await new Promise((next) => setTimeout(next, RETRY_MS));
    }
  }

  async #follow(): Promise<void> {
    this.#stream = await EventStream.open(this, this.#id, this.received.at(-1)?.id);
    this.connections += 1;
    const stream = this.#stream;
    try {
      for (let frame = await stream.next(); frame !== null; frame = await stream.next()) {
        if (frame.id === null) continue;
        this.received.push({ id: Number(frame.id), row: frame.data });
        if (frame.data.startsWith('{"type":"approval/bound"')) this.#answering.push(this.#answer(frame.data));
        this.#news.resolve();
        this.#news = Promise.withResolvers();
      }
    } finally {
      await stream[Symbol.asyncDispose]();
    }
  }

  /** Thinks, and says yes. */
  async #answer(row: string): Promise<void> {
    const { id, argumentsDigest } = JSON.parse(row).data;
    try {
      const { questions } = await (await this.ask(`/v1/sessions/${this.#id}/approvals`)).json();
      const question = questions.find((question: { readonly id: string }) => question.id === id);
      if (question === undefined) return;
      await new Promise((over) => setTimeout(over, this.#thinkMs(question.reason)));
      const body = { decision: "allowed-once", argumentsDigest };
      const response = await this.ask(`/v1/sessions/${this.#id}/approvals/${id}`, { body });
      const { outcome } = await response.json();
      if (response.status === 200) this.acknowledged.set(id, outcome);
    } catch {
      // The server is gone.
    }
  }
}
