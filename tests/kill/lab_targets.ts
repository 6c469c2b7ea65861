/**
 * The targets of the lab's world, as they are spoken to over HTTP: a bank and an outbox that keep keys, resources with versions, and a
 * sandbox endpoint. What they are asked is carried out when the world says so.
 *
 * @module
 */
import { CountingRunner, endOf, type SandboxServer, sandboxServer } from "../server/sandbox/sandbox_support.ts";
import type { LabTool } from "./lab_plan.ts";

/** Carries out what was asked. */
export type Act = () => Response | Promise<Response>;

/** Whoever decides when what is carried out. */
export interface Carrier {
  /** A request that has an effect. */
  readonly order: (callId: string, key: string, land: Act) => Promise<Response>;
  /** A request that asks what became of one. `callId` is `null` where the target knows keys only. */
  readonly lookup: (callId: string | null, key: string, act: Act) => Promise<Response>;
  /** Told what really happened. */
  readonly happened: (callId: string, tool: LabTool, key: string | null) => void;
}

/** The targets. */
export class LabTargets {
  readonly #carrier: Carrier;
  readonly #forgets: boolean;
  readonly #closed = new Set<string>();
  readonly #done = new Map<string, string>();
  readonly #resources = new Map<string, { version: number; content: string }>();
  /** The key under which a command is run, by its call. */
  readonly #commandKeys = new Map<string, string>();
  readonly #sandbox: Promise<SandboxServer>;

  /** @param forgets whether keys that were closed are forgotten: a dishonest target, which the judge must find out */
  constructor(carrier: Carrier, forgets: boolean) {
    this.#carrier = carrier;
    this.#forgets = forgets;
    const runner = new CountingRunner();
    runner.end = ({ argv }) => {
      const callId = callOf(argv);
      carrier.happened(callId, "shell", this.#commandKeys.get(callId) ?? null);
      return Promise.resolve(endOf(`ran ${argv.at(-1)}`));
    };
    this.#sandbox = sandboxServer({ runner });
  }

  /** Answers a request; `null` when it is for none of them. */
  route(request: Request, path: string): Promise<Response> | null {
    if (path === "/bank") return this.#keyed("pay", request, ({ to }) => to!);
    if (path === "/outbox") return this.#keyed("send_mail", request, ({ subject }) => subject!);
    if (path.startsWith("/resources/")) return this.#resource(request, path.slice("/resources/".length));
    if (path.startsWith("/v1/sandbox/exec")) return this.#command(request, path);
    return null;
  }

  /** The call whose command was asked for under a key. */
  callOfKey(key: string): string | null {
    return [...this.#commandKeys].find(([, known]) => known === key)?.[0] ?? null;
  }

  async close(): Promise<void> {
    await (await this.#sandbox).endpoint.close();
  }

  /** A target that keeps keys, as {@linkcode httpTarget} speaks to it. */
  async #keyed(tool: LabTool, request: Request, idIn: (order: Record<string, string>) => string): Promise<Response> {
    const key = request.headers.get("idempotency-key")!;
    const callId = idIn(await request.json());
    const said = () => {
      const receipt = this.#done.get(key);
      return receipt === undefined
        ? Response.json({ state: "closed" }, { status: 409 })
        : Response.json({ state: "done", receipt });
    };
    if (request.method === "POST") {
      return await this.#carrier.order(callId, key, () => {
        if (!this.#closed.has(key) && !this.#done.has(key)) {
          this.#done.set(key, `${tool} for ${callId}`);
          this.#carrier.happened(callId, tool, key);
        }
        return said();
      });
    }
    return await this.#carrier.lookup(callId, key, () => {
      if (!this.#done.has(key) && !this.#forgets) this.#closed.add(key);
      return said();
    });
  }

  /** A resource that knows no keys and honours preconditions. */
  async #resource(request: Request, callId: string): Promise<Response> {
    const found = this.#resources.get(callId) ?? { version: 1, content: "as it was" };
    this.#resources.set(callId, found);
    const etag = () => `"v${found.version}"`;
    if (request.method === "GET") return new Response(found.content, { headers: { etag: etag() } });
    const content = await request.text();
    const replace = (onReplaced: () => void) => {
      if (request.headers.get("if-match") !== etag()) return new Response(null, { status: 412 });
      found.version += 1;
      found.content = content;
      onReplaced();
      return new Response(null, { status: 204, headers: { etag: etag() } });
    };
    const key = request.headers.get("idempotency-key");
    if (key === null) return await this.#carrier.lookup(callId, callId, () => replace(() => {}));
    return await this.#carrier.order(callId, key, () => replace(() => this.#carrier.happened(callId, "http_put", key)));
  }

  async #command(request: Request, path: string): Promise<Response> {
    const { method } = request;
    // Not the host: the server knows its own name.
    const headers = new Headers();
    for (const name of ["authorization", "content-type"]) headers.set(name, request.headers.get(name) ?? "");
    const body = method === "POST" ? await request.text() : null;
    const { server } = await this.#sandbox;
    const pass = () => server.fetch(new Request(`http://sandbox.test${path}`, { method, headers, body }));
    const [, key] = /\/exec\/(\w+)\/settle$/.exec(path) ?? [];
    if (key !== undefined) return await this.#carrier.lookup(null, key, pass);
    if (path !== "/v1/sandbox/exec" || body === null) return await pass();
    const { effectKey, argv } = JSON.parse(body) as { effectKey: string; argv: readonly string[] };
    const callId = callOf(argv);
    return await this.#carrier.order(callId, effectKey, () => {
      this.#commandKeys.set(callId, effectKey);
      return pass();
    });
  }
}

/** The id of the call in a command. */
function callOf(argv: readonly string[]): string {
  return argv.at(-1)!.replace("echo ", "");
}
