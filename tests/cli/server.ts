/**
 * A web server for tests, in this process.
 *
 * @module
 */

/** A server that notes what it is asked; paths beginning with /hang get no answer. */
export class Server implements AsyncDisposable {
  readonly seen: { path: string; body: string; headers: Headers }[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #arrived = Promise.withResolvers<void>();
  readonly #ending = Promise.withResolvers<void>();

  constructor() {
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
      const path = new URL(request.url).pathname;
      this.seen.push({ path, body: await request.text(), headers: request.headers });
      this.#arrived.resolve();
      if (path.startsWith("/hang")) await this.#ending.promise;
      return new Response("paid");
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Resolves when the first request is there. */
  get arrived(): Promise<void> {
    return this.#arrived.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.resolve();
    await this.#server.shutdown();
  }
}
