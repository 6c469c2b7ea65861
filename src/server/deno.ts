/**
 * The server on Deno: files below one root, a listener, and what belongs to each token.
 *
 * ```
 * <root>/server-token          the token, when none was given
 * <root>/tokens/<id>/          the sessions of one token
 * <root>/imports/              logs on their way in
 * ```
 *
 * @module
 */
import { type Agent, type Approver, type SessionStore, StorageLostError } from "../../mod.ts";
import { encodeZstdFrame, openFileStore, openLogFile, systemClock, systemRandom } from "../entry/file.ts";
import { createServerApp, type ServerParts } from "./app.ts";
import { hex, type KnownToken, knownToken } from "./auth.ts";
import { listen, type Listening } from "./listen.ts";
import type { PostgresStore } from "../entry/postgres.ts";
import type { TenantParts } from "./tenant.ts";

/** How a server is started. */
export interface ServeOptions
  extends Pick<ServerParts, "allowOrigins" | "approvalDeadlineMs" | "extraRoutes" | "extraOperations" | "pages"> {
  /** The folder everything is kept in, absolute. */
  readonly root: string;
  /**
   * Keeps the sessions in PostgreSQL instead of in the root, each token's in a schema of its own. Servers on other machines with the same
   * tokens serve the same sessions.
   */
  readonly database?: {
    /** `postgres://user:password@host:port/database`, of the server itself and not of a pooler. */
    readonly url: string;
    /** How long this process counts as alive when nothing is heard of it, in milliseconds. Default 10,000. */
    readonly leaseMs?: number;
  };
  /** Who may ask; each has sessions of its own. A function is called when it listens: what it makes is not made in vain. */
  readonly tokens: readonly string[] | (() => Promise<readonly string[]>);
  /** Makes the agent over the store of one token. */
  readonly agentWith: (store: SessionStore, approver: Approver) => Agent;
  /** Default 127.0.0.1. */
  readonly hostname?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Other names, with or without a port, under which requests may come. */
  readonly allowHosts?: readonly string[];
  /** Certificate and key, as PEM. Without them it speaks HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Lets it listen on another address than a loopback one without TLS. Default false. */
  readonly insecure?: boolean;
  readonly report?: (error: unknown) => void;
  /** See {@linkcode TenantParts.importLengthMax}. */
  readonly importLengthMax?: number;
}

/** A server that listens. */
export interface Serving {
  /** Where it is, such as `http://127.0.0.1:8787`. */
  readonly origin: string;
  readonly port: number;
  /** See {@linkcode HoldfastServer.counts}. */
  counts(): { readonly sessions: number; readonly tails: number; readonly requests: number };
  /**
   * Ends it: see {@linkcode HoldfastServer.shutdown}. Then nothing listens any more.
   *
   * @returns whether everything was closed properly
   */
  shutdown(deadlineMs: number, signal?: AbortSignal): Promise<boolean>;
}

/** How long the last answers may take to leave, in milliseconds. */
const LINGER_MS_MAX = 2_000;

/**
 * Starts a server.
 *
 * @throws {RangeError} for a token that is none
 * @throws {TypeError} when it would listen without TLS on an address that is no loopback one, and nobody said that this is wanted
 * @throws {StorageLostError} when it cannot listen there, or make the root
 *
 * @example
 * ```ts
 * import { createAgent, demo } from "../../mod.ts";
 * import { serve } from "./deno.ts";
 *
 * const root = await Deno.makeTempDir();
 * const serving = await serve({
 *   root,
 *   tokens: ["correct-horse-battery"],
 *   agentWith: (store, approver) => createAgent({ store, model: demo(), approvers: [approver] }),
 * });
 * const health = await fetch(`${serving.origin}/healthz`);
 * if ((await health.json()).status !== "ok") throw new Error("unreachable");
 * await serving.shutdown(0);
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { hostname = "127.0.0.1", port = 0, tls, insecure = false, allowHosts = [] } = options;
  if (!isLoopback(hostname) && tls === undefined && !insecure) {
    throw new TypeError(
      `Cannot listen on "${hostname}": without TLS the token would cross the network in the clear (give --cert and --key, or --insecure)`,
    );
  }
  const tokens: KnownToken[] = [];
  const shared = new Map<string, PostgresStore>();
  const know = async (all: readonly string[]) => {
    const known = await Promise.all(all.map(knownToken));
    try {
      for (const { id } of known) if (options.database !== undefined) shared.set(id, await openShared(options, id));
    } catch (error) {
      await forget();
      throw error;
    }
    tokens.push(...known);
  };
  // What is open keeps the process, and says to others that it lives.
  const forget = () => Promise.all([...shared.values()].map((store) => store.close()));
  if (typeof options.tokens !== "function") await know(options.tokens);
  const hosts = new Set<string>();
  const server = createServerApp({
    ...options,
    clock: systemClock,
    tokens,
    tenantFor: (id) => tenantParts(options, id, shared.get(id)),
    isHost: (host) => hosts.has(host),
  });
  // Made here, and not with the first session: whoever may use this folder alone cannot look at the one around it then.
  await makeRoot(options.root);
  let listening: Listening;
  try {
    const { report } = options;
    listening = listen({ hostname, port, tls, clock: systemClock, report }, (request) => server.fetch(request));
  } catch (cause) {
    await forget();
    throw new StorageLostError(`Cannot listen on "${hostname}:${port}": ${(cause as Error).message}`, { cause });
  }
  const scheme = tls === undefined ? "http" : "https";
  const { port: actualPort } = listening;
  for (const name of namesOf(hostname, allowHosts)) {
    for (const host of hostsOf(name, actualPort, scheme)) hosts.add(host);
  }
  if (typeof options.tokens === "function") {
    try {
      await know(await options.tokens());
    } catch (error) {
      await listening.shutdown();
      throw error;
    }
  }
  const shownName = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    origin: `${scheme}://${shownName}:${actualPort}`,
    port: actualPort,
    counts: () => server.counts(),
    async shutdown(deadlineMs, signal) {
      const isClean = await server.shutdown(deadlineMs, signal);
      const late = Promise.withResolvers<void>();
      const cancel = systemClock.schedule(LINGER_MS_MAX, late.resolve);
      await Promise.race([listening.shutdown(), late.promise]);
      cancel();
      // A client that takes nothing does not keep the process.
      listening.unref();
      return isClean;
    },
  };
}

async function makeRoot(root: string): Promise<void> {
  try {
    await Deno.mkdir(root, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StorageLostError(`Cannot make root "${root}": ${(cause as Error).message}`, { cause });
  }
}

/** Loaded when it is asked for: it brings the driver along. */
async function openShared({ database, report }: ServeOptions, id: string): Promise<PostgresStore> {
  const { openPostgresStore } = await import("../entry/postgres.ts");
  return await openPostgresStore({ ...database!, schema: `holdfast_${id}`, report });
}

function tenantParts(
  { root, agentWith, importLengthMax }: ServeOptions,
  id: string,
  shared: PostgresStore | undefined,
): TenantParts {
  const store = shared ?? openFileStore({ root: `${root}/tokens/${id}` });
  return {
    store,
    shared,
    agentWith: (approver) => agentWith(store, approver),
    encodeFrame: encodeZstdFrame,
    importLengthMax,
    async withLog(bytes, work) {
      const folder = `${root}/imports`;
      const path = `${folder}/${hex(systemRandom.bytes(16))}.log`;
      await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        await Deno.writeFile(path, bytes, { createNew: true, mode: 0o600 });
        const reader = await openLogFile(path);
        await using _ = reader;
        return await work(reader);
      } finally {
        await Deno.remove(path).catch(() => {});
      }
    },
  };
}

/** Whether an address is of this machine alone. A name is looked at as it is: what it resolves to may change. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Every name a request may come under. An address that stands for all is none. */
function namesOf(hostname: string, allowHosts: readonly string[]): string[] {
  const own = isLoopback(hostname) ? ["localhost", "127.0.0.1", "::1", hostname] : [hostname];
  return [...own, ...allowHosts].filter((name) => name !== "0.0.0.0" && name !== "::");
}

/** A name as it stands in a `Host`. */
function hostsOf(name: string, port: number, scheme: "http" | "https"): string[] {
  const host = name.toLowerCase();
  if (/^[^:]+:\d+$|\]:\d+$/.test(host)) return [host];
  const bare = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const isDefaultPort = port === (scheme === "http" ? 80 : 443);
  return isDefaultPort ? [bare, `${bare}:${port}`] : [`${bare}:${port}`];
}
