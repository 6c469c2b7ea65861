/**
 * Servers, clients and event streams for tests. Loopback only, on free ports.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import {
  type AgentOptions,
  createAgent,
  defineTool,
  scripted,
  type ScriptStep,
  type SessionStore,
  type Tool,
} from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { systemClock } from "../../src/entry/system.ts";
import { serve, type ServeOptions, type Serving } from "../../src/server/deno.ts";

/** The token of the servers here. */
export const TOKEN = "correct-horse-battery-staple";

/** A server of a test, with what a client of it needs. */
export interface TestServer extends AsyncDisposable {
  readonly serving: Serving;
  readonly origin: string;
  readonly root: string;
  /** Sends a request with the token, and a JSON body when one is given. */
  ask(path: string, init?: AskOptions): Promise<Response>;
  /** Sends a request and reads its JSON. Fails on another status than `status`. */
  // deno-lint-ignore no-explicit-any -- a document is whatever is answered
  json(path: string, init?: AskOptions & { readonly status?: number }): Promise<any>;
}

/** A request. */
export interface AskOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string | null;
  readonly signal?: AbortSignal;
}

/** What the agent of a test server is made of. */
export type AgentParts = Partial<Omit<AgentOptions, "store">>;

/** Starts a server in this process, over files that are gone afterwards. */
export async function startServer(
  agent: AgentParts | ((store: SessionStore) => AgentParts) = {},
  options: Partial<ServeOptions> = {},
): Promise<TestServer> {
  const root = options.root ?? await Deno.makeTempDir({ prefix: "holdfast-server-" });
  const serving = await serve({
    tokens: [TOKEN],
    root,
    agentWith: (store, approver) =>
      createAgent({
        ...{ store, model: scripted([]), approvers: [approver] },
        ...(typeof agent === "function" ? agent(store) : agent),
      }),
    ...options,
  });
  const { origin } = serving;
  async function ask(path: string, init: AskOptions = {}): Promise<Response> {
    const { method = init.body === undefined ? "GET" : "POST", body, headers = {}, token = TOKEN, signal } = init;
    return await fetch(origin + path, {
      method,
      signal,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
  return {
    serving,
    origin,
    root,
    ask,
    async json(path, init = {}) {
      const response = await ask(path, init);
      const document = response.status === 204 ? await response.body?.cancel() : await response.json();
      assertEquals(response.status, init.status ?? 200, JSON.stringify(document));
      return document;
    },
    async [Symbol.asyncDispose]() {
      await serving.shutdown(0);
      if (options.root === undefined) await Deno.remove(root, { recursive: true });
    },
  };
}

/** The root of the one token of a server here. */
export async function tokenRoot(root: string): Promise<string> {
  for await (const { name } of Deno.readDir(`${root}/tokens`)) return `${root}/tokens/${name}`;
  throw new Error("no token has a root");
}

/** The store of the one token of a server that is down. */
export async function storeOf(root: string): Promise<SessionStore> {
  return openFileStore({ root: await tokenRoot(root) });
}

/** A model that follows a script, request by request, whichever session asks. */
export function scriptedModel(steps: readonly ScriptStep[]) {
  return scripted(steps, { clock: systemClock });
}

/** A tool that asks, and counts how often it ran. */
export function payTool(): { readonly tool: Tool; readonly keys: string[] } {
  const keys: string[] = [];
  const tool = defineTool({
    name: "pay",
    description: "Pays somebody.",
    parameters: { type: "object", properties: { to: { type: "string" } } },
    effect: "keyed",
    execute: (_args, { effectKey }) => `paid, the ${keys.push(effectKey)}. time`,
  });
  return { tool, keys };
}

/** A step that pays. */
export function payStep(to = "alice", id?: string): ScriptStep {
  return [{ call: { ...(id === undefined ? {} : { id }), name: "pay", arguments: { to } } }];
}

/** One frame of an event stream. */
export interface Frame {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

/** An event stream, as a browser would read it. */
export class EventStream implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #abort: AbortController;
  readonly #decoder = new TextDecoder();
  #text = "";
  /** Every frame so far. */
  readonly frames: Frame[] = [];
  /** How many comments came. */
  comments = 0;

  constructor(response: Response, abort: AbortController) {
    this.#reader = response.body!.getReader();
    this.#abort = abort;
  }

  /** Connects to a session's tail. */
  static async open(server: Pick<TestServer, "ask">, id: string, lastEventId?: number | null): Promise<EventStream> {
    const abort = new AbortController();
    const headers = {
      accept: "text/event-stream",
      ...(lastEventId === undefined || lastEventId === null ? {} : { "last-event-id": String(lastEventId) }),
    };
    const response = await server.ask(`/v1/sessions/${id}/events`, { headers, signal: abort.signal });
    assertEquals(response.status, 200, response.status === 200 ? "" : await response.text());
    assertEquals(response.headers.get("content-type"), "text/event-stream");
    return new EventStream(response, abort);
  }

  /** The next frame; `null` at the end. */
  async next(): Promise<Frame | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end === -1) {
        const { value, done } = await this.#reader.read();
        if (done) return null;
        this.#text += this.#decoder.decode(value, { stream: true });
        continue;
      }
      const block = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      const frame = { event: "message", id: null as string | null, data: "" };
      let hasData = false;
      for (const line of block.split("\n")) {
        if (line.startsWith(":")) this.comments += 1;
        if (line.startsWith("event: ")) frame.event = line.slice(7);
        if (line.startsWith("id: ")) frame.id = line.slice(4);
        if (line.startsWith("data: ")) [frame.data, hasData] = [line.slice(6), true];
      }
      if (!hasData) continue;
      this.frames.push(frame);
      return frame;
    }
  }

  /** Reads on until a frame fits. @throws {Error} at the end of the stream */
  async until(fits: (frame: Frame) => boolean): Promise<Frame> {
    for (let frame = await this.next(); frame !== null; frame = await this.next()) if (fits(frame)) return frame;
    throw new Error(`The stream ended: ${JSON.stringify(this.frames.at(-1))}`);
  }

  /** Reads on until the durable event of a type. */
  // deno-lint-ignore no-explicit-any -- an event is whatever its type says
  async event(type: string, fits: (event: any) => boolean = () => true): Promise<any> {
    const isIt = ({ id, data }: Frame) => id !== null && JSON.parse(data).type === type && fits(JSON.parse(data));
    return JSON.parse((await this.until(isIt)).data);
  }

  /** The rows of the durable events so far, and their ids. */
  get durable(): { readonly id: number; readonly row: string }[] {
    return this.frames.flatMap(({ id, data }) => id === null ? [] : [{ id: Number(id), row: data }]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#reader.cancel().catch(() => {});
  }
}

/** Resolves when it holds. Asked again whenever the loop has turned. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!await holds()) await new Promise((next) => setTimeout(next, 2));
}
