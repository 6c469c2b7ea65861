/**
 * Streamable HTTP that says when an answer will not come any more, and that ends what it began.
 *
 * @module
 */
import {
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { Clock } from "../runtime/runtime.ts";
import { MCP_RECONNECT_DELAY_MS_MIN } from "./limits.ts";

/** The code of an error that the other side did not send: the stream that should have carried the answer is over. */
export const STREAM_ENDED_CODE = -32000;

/** What a transport is made with. */
export interface HttpTransportOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
}

type RequestId = string | number;

/**
 * The client's transport, with some things more.
 *
 * A request whose stream of events ends without an answer is answered with an error: otherwise whoever asked would wait until the
 * time is up, although the server may be dead since long. A server that lets go of a stream and wants to be asked for the rest is
 * asked, which sends nothing again, but not faster than {@linkcode MCP_RECONNECT_DELAY_MS_MIN}, and not after a cancel. The stream
 * for what a server says unasked is not opened: nobody here listens.
 *
 * @example
 * ```ts
 * import { systemClock } from "../entry/system.ts";
 * import { HttpTransport } from "./http_transport.ts";
 *
 * const transport = new HttpTransport(new URL("http://127.0.0.1:1/mcp"), { headers: {}, fetch, clock: systemClock });
 * await transport.close();
 * ```
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Requests without an answer: what ends their streams. */
  readonly #open = new Map<RequestId, AbortController>();

  /** A transport that is not started. */
  constructor(url: URL, { headers, fetch, clock }: HttpTransportOptions) {
    const options: StreamableHTTPClientTransportOptions = {
      requestInit: { headers: { ...headers }, redirect: "manual" },
      fetch: withoutUnasked(fetch),
      reconnectionScheduler: (reconnect, delayMs) =>
        clock.schedule(Math.ceil(Math.min(Math.max(delayMs, MCP_RECONNECT_DELAY_MS_MIN), 2 ** 31 - 1)), reconnect),
    };
    super(url, options);
  }

  /** Whoever is told of messages is there by now. */
  override async start(): Promise<void> {
    const deliver = this.onmessage;
    this.onmessage = (message) => {
      if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id);
      deliver?.(message);
    };
    await super.start();
  }

  /** Sends a message; the answer to it comes through `onmessage`. */
  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: TransportSendOptions = {}): Promise<void> {
    if (Array.isArray(message) || !("method" in message)) return await super.send(message, options);
    if (!("id" in message)) {
      await super.send(message, options).finally(() => this.#endCancelled(message));
      return;
    }
    const { id } = message;
    const ended = new AbortController();
    this.#open.set(id, ended);
    const onRequestStreamEnd = () => {
      options.onRequestStreamEnd?.();
      const error = { code: STREAM_ENDED_CODE, message: "the stream ended without an answer" };
      if (this.#open.has(id)) this.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    const requestSignal = AbortSignal.any([ended.signal, ...options.requestSignal ? [options.requestSignal] : []]);
    try {
      await super.send(message, { ...options, onRequestStreamEnd, requestSignal });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /** When the server has been told of a cancel, nobody reads on, or asks for the rest. */
  #endCancelled(
    { method, params }: { readonly method: string; readonly params?: { readonly [key: string]: unknown } },
  ) {
    if (method !== "notifications/cancelled") return;
    const id = params?.["requestId"] as RequestId;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }
}

/** A stream that belongs to no request is refused before it is asked for, with the status that says that there is none. */
function withoutUnasked(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return (input, init) => {
    const isUnasked = init?.method === "GET" && !new Headers(init.headers).has("last-event-id");
    return isUnasked ? Promise.resolve(new Response(null, { status: 405 })) : fetch(input, init);
  };
}
