/**
 * The server, as a function from requests to responses. It knows no runtime: `deno.ts` makes it listen.
 *
 * The order of what a request passes is fixed: slots, Host and Origin, token, slots of the token, handler.
 *
 * @module
 */
import { Hono } from "hono";
import type { Clock } from "../../mod.ts";
import { admit, preflight } from "./admission.ts";
import { approvalRoutes } from "./approval_routes.ts";
import { type KnownToken, tokenOf } from "./auth.ts";
import { healthRoutes } from "./health_routes.ts";
import { inputRoutes } from "./input_routes.ts";
import { CANCEL_MS_MAX, REQUESTS_MAX } from "./limits.ts";
import { logRoutes } from "./log_routes.ts";
import { type Operation, OPERATIONS } from "./openapi.ts";
import { problemOf, problemResponse, Refusal } from "./problem.ts";
import { sessionRoutes } from "./session_routes.ts";
import { Slots } from "./slots.ts";
import { tailRoutes } from "./tail_routes.ts";
import { makeTenant, type Tenant, type TenantParts } from "./tenant.ts";
import type { ServerEnv } from "./validate.ts";

/** What a server is made of. */
export interface ServerParts {
  readonly clock: Clock;
  /** Who may ask. Each has what `tenantFor` gives, and sees nothing of the others. */
  readonly tokens: readonly KnownToken[];
  /** Called at most once for each token, with its first request. */
  readonly tenantFor: (tokenId: string) => TenantParts;
  /** Whether this is a name of ours, with its port, in lower case. */
  readonly isHost: (host: string) => boolean;
  /** Origins of other pages that may ask. Default: none. */
  readonly allowOrigins?: readonly string[];
  /** How long a question waits for an answer, in milliseconds; `null` (default) = as long as its turn. */
  readonly approvalDeadlineMs?: number | null;
  /** Default HOSTED_SESSIONS_MAX. */
  readonly hostedSessionsMax?: number;
  /** Told what nobody foresaw. No header and no body of a request is in it. */
  readonly report?: (error: unknown) => void;
  /** More routes under `/v1`, behind the token: a handler finds the tenant in `c.get("tenant")`. */
  readonly extraRoutes?: Hono<ServerEnv>;
  /** What can be asked of them, for the OpenAPI document. */
  readonly extraOperations?: readonly Operation[];
  /** What is answered to a path that no route has, such as files of a page; behind Host and Origin, without a token. */
  readonly pages?: (request: Request) => Response | null | Promise<Response | null>;
}

/** A server that does not listen yet. */
export interface HoldfastServer {
  /** The routes. */
  readonly app: ServerApp;
  /** Answers one request. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** What is open now. */
  counts(): { readonly sessions: number; readonly tails: number; readonly requests: number };
  /** From now on new work is refused; what runs goes on, and questions can be answered. */
  drain(): void;
  /**
   * Waits until no turn runs or the deadline is over, cancels the rest, makes everything durable and closes the stores.
   *
   * @param signal ends the waiting at once
   * @returns whether everything was closed properly; not so when a body does not end, or a medium refused
   */
  shutdown(deadlineMs: number, signal?: AbortSignal): Promise<boolean>;
}

/** The type of the routes, for `hc<ServerApp>`. */
export type ServerApp = ReturnType<typeof routesOf>;

/** All routes, so that their types are one. */
function routesOf(isDraining: () => boolean, extra: readonly Operation[] = []) {
  return new Hono<ServerEnv>()
    .route("/", healthRoutes(isDraining, extra))
    .route("/v1", sessionRoutes())
    .route("/v1", inputRoutes())
    .route("/v1", approvalRoutes())
    .route("/v1", tailRoutes())
    .route("/v1", logRoutes());
}

/**
 * Makes a server.
 *
 * @example
 * ```ts
 * import type { TenantParts } from "./tenant.ts";
 * import { createServerApp } from "./app.ts";
 * import { knownToken } from "./auth.ts";
 *
 * async function serverFor(token: string, parts: TenantParts) {
 *   const clock = parts.store.runtime.clock;
 *   return createServerApp({
 *     clock,
 *     tokens: [await knownToken(token)],
 *     tenantFor: () => parts,
 *     isHost: (host) => host === "localhost:8000",
 *   });
 * }
 * ```
 */
export function createServerApp(parts: ServerParts): HoldfastServer {
  const { clock, tokens, allowOrigins = [], isHost, report = () => {} } = parts;
  const { approvalDeadlineMs = null, hostedSessionsMax } = parts;
  const tenants = new Map<string, Tenant>();
  const requests = new Slots(REQUESTS_MAX, "requests");
  let isDraining = false;

  function tenantOfToken(id: string): Tenant {
    let tenant = tenants.get(id);
    if (tenant === undefined) {
      tenant = makeTenant(id, parts.tenantFor(id), { clock, approvalDeadlineMs, hostedSessionsMax, report });
      tenants.set(id, tenant);
      if (isDraining) tenant.sessions.drain();
    }
    return tenant;
  }

  const guarded = new Hono<ServerEnv>();
  guarded.use("/v1/*", async (c, next) => {
    const tokenId = await tokenOf(c.req.header("authorization") ?? null, tokens);
    if (tokenId === null) throw new Refusal(401, "UNAUTHORIZED", "Cannot answer: wanted a valid bearer token");
    const tenant = tenantOfToken(tokenId);
    const giveBack = tenant.requests.take();
    try {
      c.set("tenant", tenant);
      c.set("clock", clock);
      c.set("isDraining", () => isDraining);
      await next();
    } finally {
      giveBack();
    }
  });
  guarded.onError((error) => {
    if (isUnforeseen(error)) report(error);
    return problemResponse(error);
  });
  guarded.notFound(async (c) => {
    const allow = allowedAt(c.req.path, parts.extraOperations);
    if (allow.length > 0) {
      return problemResponse(new Refusal(405, "METHOD_NOT_ALLOWED", "Cannot use this method here", { allow }));
    }
    const page = await parts.pages?.(c.req.raw) ?? null;
    return page ?? problemResponse(new Refusal(404, "NOT_FOUND", "Cannot find this path"));
  });
  const app = guarded.route("/", routesOf(() => isDraining, parts.extraOperations));
  if (parts.extraRoutes !== undefined) guarded.route("/v1", parts.extraRoutes);

  async function answer(request: Request): Promise<Response> {
    let origin: string | null = null;
    let giveBack: (() => void) | null = null;
    let response: Response;
    try {
      giveBack = requests.take();
      origin = admit(request, { isHost, allowOrigins });
      response = request.method === "OPTIONS" ? answerPreflight(origin) : await app.fetch(request);
    } catch (error) {
      if (isUnforeseen(error)) report(error);
      response = problemResponse(error);
    } finally {
      giveBack?.();
    }
    if (origin !== null) {
      response.headers.set("access-control-allow-origin", origin);
      response.headers.set(
        "access-control-expose-headers",
        "location, retry-after, holdfast-damage, holdfast-missing-results",
      );
    }
    response.headers.append("vary", "origin");
    return response;
  }

  return {
    app: app as unknown as ServerApp,
    fetch: answer,
    counts() {
      const all = [...tenants.values()];
      return {
        sessions: all.reduce((sum, { sessions }) => sum + sessions.count, 0),
        tails: all.reduce((sum, { tails }) => sum + tails.count, 0),
        requests: requests.taken,
      };
    },
    drain,
    async shutdown(deadlineMs, signal) {
      drain();
      const all = [...tenants.values()];
      const whenIdle = async () => {
        await Promise.all(all.map(({ sessions }) => sessions.whenIdle()));
        // What was answered last is told before anything is closed.
        await requests.whenFree();
      };
      await within(clock, deadlineMs, whenIdle(), signal);
      let isClean = true;
      const closed = Promise.all(all.map(async ({ sessions, tails, store, desk }) => {
        // At once: what the desk does waits for turns that the sessions cancel.
        await Promise.all([sessions.close().catch(failed), desk?.close().catch(failed)]);
        tails.close({ code: "shutdown", detail: "the server goes down" });
        await store.close().catch(failed);
      }));
      function failed(error: unknown): void {
        isClean = false;
        report(error);
      }
      const hasEnded = await within(clock, CANCEL_MS_MAX, closed);
      return hasEnded && isClean;
    },
  };

  function drain(): void {
    isDraining = true;
    for (const { sessions } of tenants.values()) sessions.drain();
  }
}

/** What somebody should look at: not what the server itself refuses. */
function isUnforeseen(error: unknown): boolean {
  return !(error instanceof Refusal) && problemOf(error).status >= 500;
}

function answerPreflight(origin: string | null): Response {
  if (origin !== null) return preflight();
  return problemResponse(new Refusal(403, "ORIGIN_REFUSED", "Cannot answer OPTIONS: it names no origin that may ask"));
}

/** The methods of a path. */
function allowedAt(path: string, extra: readonly Operation[] = []): string[] {
  return [...OPERATIONS, ...extra].filter((operation) => {
    const pattern = operation.path.replace(/\./g, "\\.").replace(/\{\w+\}/g, "[^/]+");
    return new RegExp(`^${pattern}$`).test(path);
  }).map(({ method }) => method.toUpperCase());
}

/** Waits for work, so long at most. @returns whether it ended */
async function within(clock: Clock, ms: number, work: Promise<unknown>, signal?: AbortSignal): Promise<boolean> {
  const over = Promise.withResolvers<boolean>();
  const cancel = clock.schedule(ms, () => over.resolve(false));
  const onAbort = () => over.resolve(false);
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  try {
    return await Promise.race([work.then(() => true), over.promise]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}
