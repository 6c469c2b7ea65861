/**
 * Events: a page of the past, or a stream that goes on.
 *
 * @module
 */
import { Hono } from "hono";
import { encodeRow, NotFoundError, type SessionEvent } from "../../mod.ts";
import { previewRow } from "./event_preview.ts";
import { PAGE_EVENTS_MAX, PAGE_SIZE_BYTES_MAX } from "./limits.ts";
import { Refusal } from "./problem.ts";
import { EVENTS_QUERY, ID } from "./schemas.ts";
import type { Tenant } from "./tenant.ts";
import { countOf, query, type ServerEnv, tenantOf, textCheck } from "./validate.ts";

const checkId = textCheck(ID, "the id of a session");

/** What a page has beside its rows, in bytes, at most. */
const PAGE_FRAME_BYTES = 256;

const ANY_SEQ = { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 };

/**
 * `/v1/sessions/:id/events`. With `Accept: text/event-stream` it is a stream. `/v1/sessions/:id/events/:seq` is one event, whole.
 *
 * @example
 * ```ts
 * import { tailRoutes } from "./tail_routes.ts";
 *
 * if (tailRoutes().routes.length === 0) throw new Error("unreachable");
 * ```
 */
export function tailRoutes() {
  return new Hono<ServerEnv>()
    .get("/sessions/:id/events", query(EVENTS_QUERY), async (c) => {
      const tenant = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const { from, limit, live } = c.req.valid("query");
      const first = countOf(from, "from", ANY_SEQ);
      if (/\btext\/event-stream\b/i.test(c.req.header("accept") ?? "")) {
        const next = nextAfter(c.req.header("last-event-id")) ?? first;
        return await stream(tenant, id, { from: next, wantsLive: live !== "false" });
      }
      const most = countOf(limit, "limit", { least: 1, most: PAGE_EVENTS_MAX, otherwise: PAGE_EVENTS_MAX });
      const reader = await tenant.store.open(id, "read");
      await using _ = reader;
      const { events, nextFrom } = await reader.read({ from: first, limit: most });
      const rows = rowsThatFit(id, events);
      const next = rows.length < events.length ? events[rows.length]!.seq : nextFrom;
      return c.body(`{"events":[${rows.join(",")}],"nextFrom":${next}}`, 200, JSON_HEADERS);
    })
    .get("/sessions/:id/events/:seq", async (c) => {
      const { store, streams } = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const seq = countOf(c.req.param("seq"), "seq", ANY_SEQ);
      const giveBack = streams.take();
      try {
        const reader = await store.open(id, "read");
        await using _ = reader;
        const { events: [event] } = await reader.read({ from: seq, limit: 1 });
        if (event === undefined) {
          throw new NotFoundError(`Cannot read event ${seq} of session "${id}": it is not there`);
        }
        return c.body(encodeRow(event), 200, JSON_HEADERS);
      } finally {
        giveBack();
      }
    });
}

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store" };

/** Rows as they are in the log, as many as a page holds; at least one, which is a preview when it alone is too large. */
function rowsThatFit(id: string, events: readonly SessionEvent[]): string[] {
  const encoder = new TextEncoder();
  const rows: string[] = [];
  let leftBytes = PAGE_SIZE_BYTES_MAX - PAGE_FRAME_BYTES;
  for (const event of events) {
    let row = encodeRow(event);
    let sizeBytes = encoder.encode(row).length + 1;
    if (sizeBytes > PAGE_SIZE_BYTES_MAX - PAGE_FRAME_BYTES) {
      row = previewRow(event, `/v1/sessions/${id}/events/${event.seq}`);
      sizeBytes = encoder.encode(row).length + 1;
    }
    if (sizeBytes > leftBytes) break;
    leftBytes -= sizeBytes;
    rows.push(row);
  }
  return rows;
}

async function stream(
  tenant: Tenant,
  id: string,
  { from, wantsLive }: { readonly from: number; readonly wantsLive: boolean },
): Promise<Response> {
  const giveBack = tenant.streams.take();
  try {
    // Whoever watches a turn that a crash left open sees it closed.
    const row = await tenant.store.stat(id);
    if (row?.state === "open" && !row.live) await tenant.sessions.use(id, () => {});
    const body = await tenant.tails.open(id, { from, wantsLive, onEnd: giveBack });
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
      },
    });
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** The seq behind the last one the client has; `null` when it has none. */
function nextAfter(lastEventId: string | undefined): number | null {
  if (lastEventId === undefined || lastEventId === "") return null;
  const seq = Number(lastEventId);
  if (/^\d{1,15}$/.test(lastEventId) && Number.isSafeInteger(seq)) return seq + 1;
  throw new Refusal(400, "INVALID_REQUEST", "Cannot resume: the Last-Event-ID is no seq");
}
