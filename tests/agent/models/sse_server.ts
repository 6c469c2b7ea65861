/**
 * A local endpoint that behaves like the real thing, byte for byte as a test says.
 *
 * @module
 */

/** What the server does with one request. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Written one after the other, each as its own write. */
  readonly pieces?: readonly (string | Uint8Array)[];
  /** After the pieces: end well (default), break the connection, or say nothing more. */
  readonly then?: "end" | "break" | "hang";
}

/** A running server, and what it was asked. */
export interface SseServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly bodies: readonly Record<string, unknown>[];
  readonly headers: readonly Headers[];
}

/** Serves the answers in turn, and the last one for ever. */
export function serveAnswers(...answers: readonly Answer[]): SseServer {
  const bodies: Record<string, unknown>[] = [];
  const headers: Headers[] = [];
  const stop = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", signal: stop.signal, onListen() {}, onError: () => new Response(null) },
    async (request) => {
      bodies.push(await request.json());
      headers.push(request.headers);
      const answer = answers[Math.min(bodies.length, answers.length) - 1]!;
      return new Response(bodyOf(answer, stop.signal), {
        status: answer.status ?? 200,
        headers: answer.headers ?? { "content-type": "text/event-stream" },
      });
    },
  );
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1/`,
    bodies,
    headers,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.finished;
    },
  };
}

function bodyOf(answer: Answer, stopped: AbortSignal): ReadableStream<Uint8Array> {
  const pieces = [...answer.pieces ?? []];
  return new ReadableStream({
    async pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) {
        controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
        // A turn of the task queue, so that the pieces leave as separate writes.
        await new Promise((resolve) => setTimeout(resolve, 0));
        return;
      }
      if (answer.then === "break") return controller.error(new Error("broken on purpose"));
      if (answer.then === "hang") {
        return new Promise<void>((resolve) => stopped.addEventListener("abort", () => resolve()));
      }
      controller.close();
    },
  });
}

/** One event of the protocol. */
export function event(delta: unknown, finish: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}

export const DONE = "data: [DONE]\n\n";
