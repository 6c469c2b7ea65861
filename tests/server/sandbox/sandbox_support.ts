/**
 * A server in this process whose commands are counted and not really run, and a client of it.
 *
 * @module
 */
import { createAgent, scripted, type SessionStore } from "../../../mod.ts";
import { MemoryStorage, openMemoryStore, systemClock } from "../../../src/entry/memory.ts";
import { createServerApp, type HoldfastServer } from "../../../src/server/app.ts";
import { knownToken } from "../../../src/server/auth.ts";
import type { AskedCommand, CommandRunner } from "../../../src/server/sandbox/command.ts";
import {
  type SandboxEndpoint,
  sandboxEndpoint,
  type SandboxEndpointParts,
} from "../../../src/server/sandbox/routes.ts";
import type { ShellEnd, ShellLimits } from "../../../src/tools/mod.ts";

/** Who asks. */
export const TOKEN = "correct-horse-battery-staple";
/** Somebody else. */
export const OTHER_TOKEN = "another-horse-battery-staple";

/** An effect key that ends with a number. */
export function keyOf(number: number): string {
  return number.toString(16).padStart(32, "0");
}

/** How a command ends that says something. */
export function endOf(text: string, change: Partial<ShellEnd> = {}): ShellEnd {
  const nothing = { text: "", sizeBytes: 0, isCut: false };
  return {
    ...{ exitCode: 0, signal: null, ending: "exited", hasStarted: true, isDenied: false, appeared: [] },
    stdout: { text, sizeBytes: text.length, isCut: false },
    stderr: nothing,
    report: { mode: "read-only", provider: "counted", enforcement: null, gaps: [] },
    ...change,
  };
}

/** Counts commands. They end when they are let. */
export class CountingRunner implements CommandRunner {
  readonly limits: ShellLimits = { modeMax: "workspace-write", allowNetwork: false };
  /** Every command that was started. */
  readonly started: AskedCommand[] = [];
  /** What becomes of the next ones. Default: each ends at once. */
  end: (command: AskedCommand, signal: AbortSignal) => Promise<ShellEnd> = ({ argv }) =>
    Promise.resolve(endOf(`ran ${argv.at(-1)}`));
  /** What is said before anything is written down. */
  check: (command: AskedCommand) => Promise<void> = () => Promise.resolve();
  #waiting: (() => void)[] = [];

  run = (command: AskedCommand, signal: AbortSignal): Promise<ShellEnd> => {
    this.started.push(command);
    for (const wake of this.#waiting.splice(0)) wake();
    return this.end(command, signal);
  };

  /** Resolves when so many were started. */
  async hasStarted(count: number): Promise<void> {
    while (this.started.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
  }

  /** Commands from now on run until they are cancelled or let go. */
  hold(): () => void {
    const gate = Promise.withResolvers<void>();
    this.end = async ({ argv }, signal) => {
      const cancelled = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => cancelled.resolve());
      await Promise.race([gate.promise, cancelled.promise]);
      return signal.aborted
        ? endOf("", { exitCode: null, signal: "SIGKILL", ending: "cancelled" })
        : endOf(`ran ${argv.at(-1)}`);
    };
    return gate.resolve;
  }
}

/** A server that does not listen. */
export interface SandboxServer {
  readonly server: HoldfastServer;
  readonly endpoint: SandboxEndpoint;
  readonly runner: CountingRunner;
  readonly fetch: typeof globalThis.fetch;
  /** Sends a POST with a body, or a GET without one. */
  ask(path: string, body?: unknown, token?: string): Promise<Response>;
  /** Runs a script under a key. */
  exec(key: number, script: string, more?: Record<string, unknown>): Promise<Answer>;
  /** Settles a key. */
  settle(key: number, waitMs?: number): Promise<Answer>;
  /** Looks at a key. */
  look(key: number): Promise<Answer>;
}

/** What was answered. */
export interface Answer {
  readonly status: number;
  /** The state, or the code of a problem. */
  readonly said: string;
  // deno-lint-ignore no-explicit-any -- a document is whatever is answered
  readonly body: any;
}

/** Makes a server over a medium, with ledgers on the same one. */
export async function sandboxServer(
  options: {
    readonly storage?: MemoryStorage;
    readonly runner?: CountingRunner;
    readonly parts?: Partial<SandboxEndpointParts>;
    /** Instead of one over the medium, whose runner counts. */
    readonly endpoint?: SandboxEndpoint;
  } = {},
): Promise<SandboxServer> {
  const { storage = new MemoryStorage({ simulate: "disk" }), runner = new CountingRunner() } = options;
  const stores = new Map<string, SessionStore>();
  const endpoint = options.endpoint ?? sandboxEndpoint({
    clock: systemClock,
    storeFor(id) {
      if (stores.size === 0) stores.set(id, openMemoryStore({ storage }));
      else if (!stores.has(id)) stores.set(id, openMemoryStore({ simulate: "disk" }));
      return stores.get(id)!;
    },
    runnerFor: () => runner,
    ...options.parts,
  });
  const server = createServerApp({
    clock: systemClock,
    tokens: [await knownToken(TOKEN), await knownToken(OTHER_TOKEN)],
    tenantFor: () => {
      const store = openMemoryStore({ simulate: "disk" });
      return {
        store,
        agentWith: (approver) => createAgent({ store, model: scripted([]), approvers: [approver] }),
        withLog: () => Promise.reject(new Error("no import here")),
      };
    },
    isHost: (host) => host === "sandbox.test",
    extraRoutes: endpoint.routes,
    extraOperations: endpoint.operations,
  });
  const ask = (path: string, body?: unknown, token = TOKEN) =>
    server.fetch(
      new Request(`http://sandbox.test/v1/sandbox/exec${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const answer = async (response: Response): Promise<Answer> => {
    const body = await response.json();
    return { status: response.status, said: body.code ?? body.state, body };
  };
  return {
    server,
    endpoint,
    runner,
    fetch: (input, init) => server.fetch(new Request(input, init)),
    ask,
    exec: async (key, script, more = {}) => answer(await ask("", { effectKey: keyOf(key), script, ...more })),
    settle: async (key, waitMs = 0) => answer(await ask(`/${keyOf(key)}/settle`, { waitMs })),
    look: async (key) => answer(await ask(`/${keyOf(key)}`)),
  };
}

/** Status and what was said, to be compared at once. */
export function brief({ status, said }: Answer): string {
  return `${status} ${said}`;
}
