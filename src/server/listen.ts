/**
 * A listener that does not stay deaf.
 *
 * Deno ends a listener when a connection cannot be accepted, for instance because the process has no file descriptor left: whoever
 * can reach the port can bring that about with connections that say nothing, and Deno has no bound on their number or their time.
 * What was accepted goes on. So it listens again as soon as the system lets it.
 *
 * @module
 */
import type { Clock } from "../../mod.ts";

/** How long it waits before it tries to listen again, in milliseconds. */
export const LISTEN_AGAIN_MS = 100;

/** Failures that follow each other within this time, in milliseconds, are told once. */
export const ONE_FAILURE_MS = 1_000;

/** How it listens. */
export interface ListenOptions {
  readonly hostname: string;
  /** 0: a free one. */
  readonly port: number;
  /** Certificate and key, as PEM. Without them it speaks HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly clock: Clock;
  /** Told when it became deaf, once each time. */
  readonly report?: (error: unknown) => void;
}

/** It listens. */
export interface Listening {
  /** The port, also when it was left open. */
  readonly port: number;
  /** Listens no more, and resolves when the last answer has left. */
  shutdown(): Promise<void>;
  /** From now on it keeps no process alive. */
  unref(): void;
}

/**
 * Listens.
 *
 * @throws whatever the system says when it cannot listen there
 *
 * @example
 * ```ts
 * import { systemClock } from "../entry/file.ts";
 * import { listen } from "./listen.ts";
 *
 * const options = { hostname: "127.0.0.1", port: 0, clock: systemClock };
 * const listening = listen(options, () => Promise.resolve(new Response("hello")));
 * const response = await fetch(`http://127.0.0.1:${listening.port}/`);
 * if (await response.text() !== "hello") throw new Error("unreachable");
 * await listening.shutdown();
 * ```
 */
export function listen(options: ListenOptions, answer: (request: Request) => Promise<Response>): Listening {
  const { hostname, tls, clock, report = () => {} } = options;
  let isOver = false;
  let cancelRetry = () => {};
  let failedAt = -Infinity;

  function start(at: number): Deno.HttpServer<Deno.NetAddr> {
    const server = Deno.serve({ hostname, port: at, onListen() {}, ...(tls ?? {}) }, answer);
    server.finished.catch((error) => {
      if (isOver) return;
      if (clock.now() - failedAt > ONE_FAILURE_MS) report(error);
      againLater();
    });
    return server;
  }

  /** Never at once: with the descriptor of its own it could listen, and fail with the first connection. */
  function againLater(): void {
    failedAt = clock.now();
    cancelRetry = clock.schedule(LISTEN_AGAIN_MS, () => {
      try {
        listener = start(port);
      } catch {
        // Told already: what keeps it from listening is what made it deaf.
        againLater();
      }
    });
  }

  let listener = start(options.port);
  const { port } = listener.addr;
  return {
    port,
    async shutdown() {
      isOver = true;
      cancelRetry();
      await listener.shutdown().catch(() => {});
    },
    unref: () => listener.unref(),
  };
}
