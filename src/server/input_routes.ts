/**
 * What a person says to a session: input, cancel, compact, and what became of an effect.
 *
 * @module
 */
import { Hono } from "hono";
import {
  type AgentSession,
  type Compacted,
  CompactionError,
  heardSeq,
  type Message,
  NotFoundError,
  settleByPerson,
} from "../../mod.ts";
import { hex } from "./auth.ts";
import { type Elsewhere, here } from "./elsewhere.ts";
import { refusalIn, REPEATED } from "./owner_desk.ts";
import { Refusal } from "./problem.ts";
import { CANCEL, COMPACT, ID, IDEMPOTENCY_KEY, INPUT, type Input, type InputView, SETTLEMENT } from "./schemas.ts";
import { checkSame } from "./same_input.ts";
import type { Tenant } from "./tenant.ts";
import { jsonBody, type ServerEnv, tenantOf, textCheck } from "./validate.ts";

const checkId = textCheck(ID, "the id of a session");
const checkKey = textCheck(IDEMPOTENCY_KEY, "the Idempotency-Key");

/**
 * Routes under `/v1/sessions/:id`.
 *
 * @example
 * ```ts
 * import { inputRoutes } from "./input_routes.ts";
 *
 * if (inputRoutes().routes.length === 0) throw new Error("unreachable");
 * ```
 */
export function inputRoutes() {
  return new Hono<ServerEnv>()
    .post("/sessions/:id/inputs", jsonBody(INPUT), async (c) => {
      const id = await checkId(c.req.param("id"));
      const key = c.req.header("idempotency-key");
      const messageId = key === undefined ? undefined : await messageIdOf(await checkKey(key));
      if (c.get("isDraining")()) throw new Refusal(503, "DRAINING", "Cannot take an input: the server is going down");
      const tenant = tenantOf(c);
      const { sessions, elsewhere } = tenant;
      const input = c.req.valid("json");
      const sent = await here(sessions, elsewhere, id, ({ agent }) => send(agent, input, messageId));
      if (sent !== null) return c.json(sent.result, 202);
      return c.json(await sendElsewhere(elsewhere!, id, input, messageId ?? `input-${randomId(tenant)}`), 202);
    })
    .post("/sessions/:id/cancel", jsonBody(CANCEL), async (c) => {
      const tenant = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const hosted = tenant.sessions.peek(id);
      if (hosted === null) {
        const row = await tenant.store.stat(id);
        if (row === null) throw new NotFoundError(`Cannot find session "${id}": there is none`);
        if (!row.live || tenant.elsewhere === null) return c.json({ status: "idle" as const }, 202);
        const body = { keepInbox: c.req.valid("json").keepInbox ?? false };
        const { state } = await tenant.elsewhere.ask(id, { key: `cancel ${randomId(tenant)}`, kind: "cancel", body });
        return c.json({ status: state === "done" ? "running" as const : "idle" as const }, 202);
      }
      hosted.agent.cancel({ kind: "user" }, c.req.valid("json"));
      return c.json({ status: hosted.agent.status }, 202);
    })
    .post("/sessions/:id/compact", jsonBody(COMPACT), async (c) => {
      const id = await checkId(c.req.param("id"));
      if (c.get("isDraining")()) throw new Refusal(503, "DRAINING", "Cannot compact: the server is going down");
      const compacted = await tenantOf(c).sessions.use(id, ({ agent }) => compact(agent));
      return c.json({ compacted });
    })
    .post("/sessions/:id/settle", jsonBody(SETTLEMENT), async (c) => {
      const id = await checkId(c.req.param("id"));
      const { callSeq, verdict, note } = c.req.valid("json");
      const seq = await tenantOf(c).sessions.use(id, async ({ agent: { session } }) => {
        const effect = session.folds.unresolved.effects.find((effect) => effect.callSeq === callSeq);
        if (effect !== undefined && !effect.isClosed) {
          throw new Refusal(
            409,
            "SESSION_RUNNING",
            `Cannot settle call ${callSeq} of session "${id}": it may be running`,
          );
        }
        return (await settleByPerson(session, { callSeq, verdict, note })).seq;
      });
      return c.json({ callSeq, verdict, seq });
    });
}

/** Somebody else was first; the summariser failed; the medium refused. */
const COMPACTION_STATUSES = { cancelled: 409, changed: 409, summary: 502, commit: 503, persistence: 503 } as const;

/** Whoever asked may be gone before the summary is there; it is made all the same. */
async function compact(agent: AgentSession): Promise<Compacted | null> {
  try {
    return await agent.compact();
  } catch (error) {
    if (!(error instanceof CompactionError)) throw error;
    const { code, message } = error;
    if (code === "busy") throw new Refusal(409, "SESSION_RUNNING", message);
    // What the provider said is in the log, at the end of the compaction.
    throw new Refusal(COMPACTION_STATUSES[code], "COMPACTION_FAILED", message, { reason: code });
  }
}

/** Queues an input, durable when it resolves. */
async function send(agent: AgentSession, { text, mode = "followup" }: Input, id?: string): Promise<InputView> {
  const { session } = agent;
  const knownSeq = id === undefined ? null : heardSeq(session.folds.heard, id);
  if (knownSeq !== null) await checkSame(agent, knownSeq, { id: id!, text, mode });
  let message: Message;
  try {
    message = agent[mode](text, { id });
  } catch (error) {
    if (error instanceof RangeError) throw new Refusal(429, "TOO_MANY_REQUESTS", error.message);
    throw error;
  }
  const seq = heardSeq(session.folds.heard, message.id);
  await session.flush();
  return { messageId: message.id, seq: seq ?? session.nextSeq - 1, repeated: knownSeq !== null };
}

/** Queues an input with whoever writes the session. Claimed, it is durable in its log. */
async function sendElsewhere(
  elsewhere: Elsewhere,
  id: string,
  { text, mode = "followup" }: Input,
  messageId: string,
): Promise<InputView> {
  const body = { text, mode, messageId };
  const { seq, outcome, isRepeated } = await elsewhere.ask(id, { key: messageId, kind: "input", body });
  const refusal = refusalIn(outcome);
  if (refusal !== null) throw refusal;
  return { messageId, seq: seq!, repeated: isRepeated || outcome === REPEATED };
}

function randomId({ store }: Tenant): string {
  return hex(store.runtime.random.bytes(16));
}

/** The id of the message that a key stands for. The key itself is not written down. */
async function messageIdOf(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`holdfast input\n${key}`));
  return `input-${hex(new Uint8Array(digest)).slice(0, 32)}`;
}
