/**
 * What anybody may ask: whether the server is there, whether it takes work, and what can be asked of it.
 *
 * @module
 */
import { Hono } from "hono";
import { openApi, type Operation } from "./openapi.ts";
import type { ServerEnv } from "./validate.ts";

/**
 * `/healthz`, `/readyz` and `/openapi.json`.
 *
 * @example
 * ```ts
 * import { healthRoutes } from "./health_routes.ts";
 *
 * const response = await healthRoutes(() => false).request("/healthz");
 * if (response.status !== 200) throw new Error("unreachable");
 * ```
 */
export function healthRoutes(isDraining: () => boolean, extra: readonly Operation[] = []) {
  const document = JSON.stringify(openApi(extra));
  return new Hono<ServerEnv>()
    .get("/healthz", (c) => c.json({ status: "ok" as const }))
    .get(
      "/readyz",
      (c) => isDraining() ? c.json({ status: "draining" as const }, 503) : c.json({ status: "ready" as const }),
    )
    .get("/openapi.json", (c) => c.body(document, 200, { "content-type": "application/json" }));
}
