/**
 * The connection to a server of tools: made, lost, made again before the next call, and ended.
 *
 * A call is never sent twice. Connecting anew happens only before a call is sent.
 *
 * @module
 */
import { Client, type Transport } from "@modelcontextprotocol/client";
import { McpUnavailableError } from "../errors.ts";
import type { Clock } from "../runtime/runtime.ts";
import { MCP_FAREWELL_TIMEOUT_MS } from "./limits.ts";
import { toldText } from "./told_text.ts";

/** The longest time the client's own timers can hold, in milliseconds. Ours are shorter and decide. */
const CLIENT_TIMEOUT_MS = 2_147_483_647;

/** What a link is made from. */
export interface LinkOptions {
  /** For messages. */
  readonly name: string;
  /** Makes a new transport that is not started. */
  readonly transport: () => Transport;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

/** A request to a server, as its protocol has it. */
export interface LinkRequest {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** Takes whatever comes: what a server says is looked at here, by us. */
const ANYTHING = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value: unknown) => ({ value }) },
} as const;

/**
 * One server, connected or not.
 *
 * @example
 * ```ts
 * import { Link } from "./link.ts";
 *
 * async function ping(link: Link, signal: AbortSignal): Promise<unknown> {
 *   await link.connect(signal);
 *   return await link.send({ method: "ping", params: {} }, signal);
 * }
 * ```
 */
export class Link {
  readonly #options: LinkOptions;
  /** The live connection; `null` before the first, and after one was lost. */
  #client: Client | null = null;
  #connecting: Promise<void> | null = null;
  /** Ends the connecting. */
  #deadline = new AbortController();
  #isClosed = false;

  /** A link that is not connected. */
  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Whether there is a connection, as far as is known: one that broke in silence is noticed by the next call. */
  get isConnected(): boolean {
    return this.#client !== null;
  }

  /**
   * Connects unless it is connected.
   *
   * @throws {McpUnavailableError} when that fails, takes too long, or the link is closed
   * @throws the signal's reason; connecting goes on for the others who wait
   */
  async connect(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#isClosed) throw this.#unavailable("the connection was closed");
    if (this.#client !== null) return;
    this.#connecting ??= this.#connect().finally(() => this.#connecting = null);
    await Promise.race([this.#connecting, aborted(signal)]);
    if (this.#client === null) throw this.#unavailable("the connection was lost at once");
  }

  /**
   * Sends a request over the connection that is there. The signal's abort tells the server and ends the waiting.
   *
   * @returns the result as it came, unchecked
   * @throws whatever the client failed with; `callFailure` says what it means
   */
  async send({ method, params }: LinkRequest, signal: AbortSignal): Promise<unknown> {
    if (this.#client === null) throw this.#unavailable("there is no connection");
    return await this.#client.request({ method, params }, ANYTHING, { signal, timeout: CLIENT_TIMEOUT_MS });
  }

  /** Lets go of a connection that the server has forgotten. The next `connect` makes a new one. */
  async drop(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.close().catch(() => {});
  }

  /** Ends the connection, and with it a server that was started here. A repeated call does nothing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#deadline.abort();
    await this.#connecting?.catch(() => {});
    const client = this.#client;
    if (client !== null) await this.#farewell(client);
    await this.drop();
  }

  async #connect(): Promise<void> {
    const { transport, connectTimeoutMs, clock } = this.#options;
    const deadline = this.#deadline = new AbortController();
    const stopTimer = clock.schedule(connectTimeoutMs, () => deadline.abort());
    // No capabilities: a server that wants to ask a model or a person through us is refused by the client itself.
    const client = new Client({ name: "holdfast", version: "1" }, { capabilities: {} });
    client.onclose = () => {
      if (this.#client === client) this.#client = null;
    };
    // What a server sends that is no answer is its own affair; without a listener it would be lost all the same.
    client.onerror = () => {};
    try {
      const made = transport();
      await Promise.race([
        client.connect(made, { signal: deadline.signal, timeout: CLIENT_TIMEOUT_MS }),
        aborted(deadline.signal),
      ]);
    } catch (error) {
      await client.close().catch(() => {});
      const found = this.#isClosed
        ? "the connection was closed"
        : deadline.signal.aborted
        ? `it did not answer within ${connectTimeoutMs} ms`
        : toldText(error);
      throw this.#unavailable(found, error);
    } finally {
      stopTimer();
    }
    if (client.transport !== undefined) this.#client = client;
  }

  /** A server that keeps a session is told that it is over, if it listens. */
  async #farewell(client: Client): Promise<void> {
    const { transport } = client;
    if (transport === undefined || !("terminateSession" in transport)) return;
    const { clock } = this.#options;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stopTimer = clock.schedule(MCP_FAREWELL_TIMEOUT_MS, resolve);
    const told = (transport.terminateSession as () => Promise<void>)().catch(() => {});
    await Promise.race([told, late]);
    stopTimer();
  }

  #unavailable(found: string, cause?: unknown): McpUnavailableError {
    return new McpUnavailableError(`Cannot reach MCP server "${this.#options.name}": ${found}`, { cause });
  }
}

/** Rejects with the signal's reason when it aborts; never otherwise. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
