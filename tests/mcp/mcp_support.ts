/**
 * Servers of tools for tests: a process, an address, and what they were told.
 *
 * @module
 */
import { fromFileUrl } from "../support/paths.ts";
import type { McpEndpoint } from "../../src/mcp/mod.ts";
import { answer, type Message, type World } from "./bank_server.ts";

const PROGRAM = fromFileUrl(new URL("bank_server.ts", import.meta.url));

/** A folder with the log of a server, removed at the end. */
export class ServerLog implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  /** The log in a folder that somebody else made. */
  static at(folder: string): ServerLog {
    return new ServerLog(folder);
  }

  static async make(): Promise<ServerLog> {
    return new ServerLog(await Deno.makeTempDir({ prefix: "holdfast-mcp-" }));
  }

  get path(): string {
    return `${this.folder}/calls.jsonl`;
  }

  /** What the server noted so far. */
  // deno-lint-ignore no-explicit-any -- lines of any kind
  lines(): any[] {
    try {
      return Deno.readTextFileSync(this.path).split("\n").slice(0, -1).map((line) => JSON.parse(line));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }

  /** The names of the tools that were called, in order. */
  calls(): string[] {
    return this.lines().flatMap(({ call }) => call === undefined ? [] : [call]);
  }

  /** Resolves when a line of the log is as wanted. */
  // deno-lint-ignore no-explicit-any -- lines of any kind
  async until(isWanted: (line: any) => boolean): Promise<void> {
    const watcher = Deno.watchFs(this.folder);
    try {
      if (this.lines().some(isWanted)) return;
      for await (const _ of watcher) if (this.lines().some(isWanted)) return;
    } finally {
      try {
        watcher.close();
      } catch {
        // Leaving the loop closed it.
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** The server as a process of its own. */
export function processEndpoint(log: ServerLog, list = "usual", more: Partial<McpEndpoint> = {}): McpEndpoint {
  return {
    command: Deno.execPath(),
    args: ["run", "-A", "--no-config", "--no-lock", "--no-check", PROGRAM, log.path, list],
    env: { HOME: Deno.env.get("HOME") ?? "/", DENO_DIR: Deno.env.get("DENO_DIR") ?? "" },
    ...more,
  } as McpEndpoint;
}

/** How an address answers. */
export interface HttpBehaviour {
  /** As one JSON, or as a stream of events. */
  readonly as?: "json" | "events";
  readonly list?: string;
  /** Looks at a request before it is handled; an answer of its own ends it. */
  readonly before?: (request: Request, message: Message | null) => Response | undefined;
}

/** The server behind an address on the loopback interface. */
export class HttpServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #notes: unknown[] = [];
  readonly #sessions = new Set<string>();
  /** What each request was, and the headers that came with it. */
  readonly requests: { readonly method: string; readonly headers: Headers }[] = [];

  constructor(readonly behaviour: HttpBehaviour = {}) {
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => this.#handle(request));
  }

  get endpoint(): McpEndpoint {
    return { url: `http://127.0.0.1:${this.#server.addr.port}/mcp`, headers: { authorization: "Bearer secret" } };
  }

  // deno-lint-ignore no-explicit-any -- notes of any kind
  get notes(): any[] {
    return this.#notes;
  }

  calls(): string[] {
    return this.notes.flatMap(({ call }) => call === undefined ? [] : [call]);
  }

  /** Forgets everybody, as a restart does. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  async #handle(request: Request): Promise<Response> {
    this.requests.push({ method: request.method, headers: request.headers });
    const message = request.method === "POST" ? await request.json() as Message : null;
    const own = this.behaviour.before?.(request, message);
    if (own !== undefined) return own;
    const session = request.headers.get("mcp-session-id");
    if (request.method === "DELETE") {
      this.#sessions.delete(session ?? "");
      return new Response(null, { status: 204 });
    }
    if (message === null) return new Response(null, { status: 405 });
    const isFirst = message.method === "initialize";
    if (!isFirst && !this.#sessions.has(session ?? "")) return new Response("no such session", { status: 404 });
    const headers = new Headers();
    if (isFirst) {
      const id = crypto.randomUUID();
      this.#sessions.add(id);
      headers.set("mcp-session-id", id);
    }
    if (message.id === undefined) {
      await answer(message, this.#world(() => {}));
      return new Response(null, { status: 202 });
    }
    return this.behaviour.as === "events" ? this.#events(message, headers) : await this.#json(message, headers);
  }

  async #json(message: Message, headers: Headers): Promise<Response> {
    headers.set("content-type", "application/json");
    const { promise: death, resolve } = Promise.withResolvers<string>();
    const found = answer(message, this.#world(() => resolve('{"jsonrpc":"2.0","id":')));
    return new Response(await Promise.race([death, found.then((found) => JSON.stringify(found))]), { headers });
  }

  #events(message: Message, headers: Headers): Response {
    headers.set("content-type", "text/event-stream");
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const end = () => controller.close();
        answer(message, this.#world(end)).then((found) => {
          controller.enqueue(encoder.encode(`event: message\r\ndata: ${JSON.stringify(found)}\r\n\r\n`));
          controller.close();
        });
      },
    });
    return new Response(body, { headers });
  }

  #world(die: () => void): World {
    return {
      list: this.behaviour.list ?? "usual",
      note: (line) => this.#notes.push(line),
      ask: () => Promise.reject(new Error("not over this line")),
      die() {
        die();
        return new Promise<never>(() => {});
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
