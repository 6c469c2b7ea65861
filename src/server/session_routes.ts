/**
 * Sessions: start, list, look at, delete.
 *
 * @module
 */
import { Hono } from "hono";
import { foldEvents, logFold, type LogFolds, OutcomeUnresolvedError, readSession, type SessionRow } from "../../mod.ts";
import { NotFoundError } from "../../mod.ts";
import { LIST_ROWS_MAX } from "./limits.ts";
import {
  DELETE_QUERY,
  ID,
  LIST_QUERY,
  NEW_SESSION,
  type SessionDetail,
  type SessionSummary,
  type UnknownOutcome,
} from "./schemas.ts";
import type { Tenant } from "./tenant.ts";
import { countOf, jsonBody, query, type ServerEnv, tenantOf, textCheck } from "./validate.ts";

const checkId = textCheck(ID, "the id of a session");

/**
 * Routes under `/v1/sessions`.
 *
 * @example
 * ```ts
 * import { sessionRoutes } from "./session_routes.ts";
 *
 * if (sessionRoutes().routes.length === 0) throw new Error("unreachable");
 * ```
 */
export function sessionRoutes() {
  return new Hono<ServerEnv>()
    .post("/sessions", jsonBody(NEW_SESSION), async (c) => {
      const tenant = tenantOf(c);
      const { id } = await tenant.sessions.create(c.req.valid("json"));
      return c.json(await detailOf(tenant, id), 201, { location: `/v1/sessions/${id}` });
    })
    .get("/sessions", query(LIST_QUERY), async (c) => {
      const tenant = tenantOf(c);
      const { after, limit } = c.req.valid("query");
      const most = countOf(limit, "limit", { least: 1, most: LIST_ROWS_MAX, otherwise: LIST_ROWS_MAX });
      const sessions: SessionSummary[] = [];
      let nextAfter: string | null = null;
      for await (const row of tenant.store.list()) {
        if (after !== undefined && row.id <= after) continue;
        if (sessions.length === most) {
          nextAfter = sessions.at(-1)!.id;
          break;
        }
        sessions.push(summaryOf(tenant, row));
      }
      return c.json({ sessions, nextAfter });
    })
    .get("/sessions/:id", async (c) => c.json(await detailOf(tenantOf(c), await checkId(c.req.param("id")))))
    .delete("/sessions/:id", query(DELETE_QUERY), async (c) => {
      const tenant = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const { state, unresolved } = await detailOf(tenant, id);
      const isReadable = state !== "damaged" && state !== "unsupported";
      if (isReadable && unresolved.length > 0 && c.req.valid("query").force !== "true") {
        const seqs = unresolved.map(({ callSeq }) => callSeq).join(", ");
        throw new OutcomeUnresolvedError(
          `Cannot delete session "${id}": the outcomes of the calls ${seqs} are unknown (settle them, or use force=true)`,
        );
      }
      await tenant.sessions.remove(id);
      tenant.tails.closeSession(id, { code: "deleted", detail: "the session was deleted" });
      return c.body(null, 204);
    });
}

function summaryOf({ sessions }: Tenant, row: SessionRow): SessionSummary {
  const { id, state, reason, header, lastEventTime, sizeBytes, live } = row;
  const status = sessions.peek(id)?.agent.status ?? null;
  return { id, state, reason, createdAt: header?.createdAt ?? null, lastEventTime, sizeBytes, live, status };
}

async function detailOf(tenant: Tenant, id: string): Promise<SessionDetail> {
  const row = await tenant.store.stat(id);
  if (row === null) throw new NotFoundError(`Cannot find session "${id}": there is none`);
  const openQuestions = tenant.questions.of(id).length;
  const summary = { ...summaryOf(tenant, row), openQuestions };
  const hosted = tenant.sessions.peek(id);
  if (hosted !== null) {
    const { nextSeq, durableSeq, folds } = hosted.agent.session;
    return { ...summary, nextSeq, durableSeq, unresolved: unknownIn(folds) };
  }
  // Nothing of such a log can be read, or not all of it: the reason says why.
  if (row.header === null) return { ...summary, nextSeq: 0, durableSeq: -1, unresolved: [] };
  const { log, folds, closers } = await readSession({ store: tenant.store, id });
  await using _ = log;
  const { nextSeq } = log.state();
  return { ...summary, nextSeq, durableSeq: nextSeq - 1, unresolved: unknownIn(foldEvents(logFold, closers, folds)) };
}

function unknownIn({ unresolved }: LogFolds): UnknownOutcome[] {
  return unresolved.effects.filter(({ isClosed }) => isClosed)
    .map(({ callSeq, callId, name, arguments: args }) => ({ callSeq, callId, name, arguments: args }));
}
