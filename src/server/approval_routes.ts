/**
 * Approvals: what is asked, and the answer.
 *
 * @module
 */
import { Hono } from "hono";
import { isEvent, type LogReader, NotFoundError, type SessionEvent } from "../../mod.ts";
import { type DecisionCommand, refusalIn } from "./owner_desk.ts";
import { Refusal } from "./problem.ts";
import { checkDigest, type Decided, type ShownQuestion } from "./questions.ts";
import { DECISION, type DecisionView, ID, QUESTION_ID, type QuestionView } from "./schemas.ts";
import type { Tenant } from "./tenant.ts";
import { jsonBody, type ServerEnv, tenantOf, textCheck } from "./validate.ts";

const checkId = textCheck(ID, "the id of a session");
const checkQuestion = textCheck(QUESTION_ID, "the id of a question");

/**
 * Routes under `/v1/sessions/:id/approvals`.
 *
 * @example
 * ```ts
 * import { approvalRoutes } from "./approval_routes.ts";
 *
 * if (approvalRoutes().routes.length === 0) throw new Error("unreachable");
 * ```
 */
export function approvalRoutes() {
  return new Hono<ServerEnv>()
    .get("/sessions/:id/approvals", async (c) => {
      const tenant = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const shown = tenant.questions.of(id);
      const row = shown.length > 0 ? null : await tenant.store.stat(id);
      if (shown.length === 0 && row === null) {
        throw new NotFoundError(`Cannot find session "${id}": there is none`);
      }
      if (row?.live && tenant.elsewhere !== null && tenant.sessions.peek(id) === null) {
        return c.json({ questions: await questionsInLog(tenant, id) });
      }
      const questions: QuestionView[] = [];
      for (const question of shown) questions.push(await viewOf(tenant, id, question));
      return c.json({ questions });
    })
    .post("/sessions/:id/approvals/:question", jsonBody(DECISION), async (c) => {
      const tenant = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const question = await checkQuestion(c.req.param("question"));
      const { decision, argumentsDigest = null } = c.req.valid("json");
      const told = await tenant.questions.decide(id, question, decision, argumentsDigest);
      if (told === null) await decideElsewhere(tenant, id, { question, decision, argumentsDigest });
      const decided = told !== null && await isDurable(tenant, id, question, told)
        ? told
        : { ...await decidedInLog(tenant, id, question, argumentsDigest), already: true };
      if (decided.outcome !== decision) {
        throw new Refusal(409, "ALREADY_DECIDED", `Cannot decide question "${question}": it was ${decided.outcome}`, {
          outcome: decided.outcome,
          seq: decided.seq,
        });
      }
      const { outcome, seq, already } = decided;
      const view: DecisionView = { id: question, outcome, seq, already };
      return c.json(view);
    });
}

/** Hands an answer to the process that writes the session, when another one does. What became of it is in the log then. */
async function decideElsewhere(tenant: Tenant, id: string, decision: DecisionCommand): Promise<void> {
  const { elsewhere, sessions, store } = tenant;
  if (elsewhere === null || sessions.peek(id) !== null || !(await store.stat(id))?.live) return;
  const { question, decision: outcome, argumentsDigest } = decision;
  // One command for one answer, whoever gives it and how often.
  const key = `decision ${question} ${outcome} ${argumentsDigest ?? ""}`;
  const body = { question, decision: outcome, argumentsDigest };
  const refusal = refusalIn((await elsewhere.ask(id, { key, kind: "decision", body })).outcome);
  if (refusal !== null && refusal.code !== "QUESTION_CLOSED") throw refusal;
}

/** The open questions of a session that another process writes: asked, and not decided. */
async function questionsInLog({ store }: Tenant, id: string): Promise<QuestionView[]> {
  const reader = await store.open(id, "read");
  await using _ = reader;
  const open = new Map<string, QuestionView>();
  for (let from: number | null = 0; from !== null;) {
    const page: Awaited<ReturnType<LogReader["read"]>> = await reader.read({ from });
    for (const event of page.events) {
      if (isEvent(event, "approval/asked")) {
        const { id, toolName, reason = null, callId = null } = event.data;
        const unbound = { callSeq: null, arguments: null, argumentsDigest: null };
        open.set(id, { id, toolName, reason, callId, ...unbound, askedAt: event.time });
      } else if (isEvent(event, "approval/bound")) {
        const { id, callSeq, argumentsDigest } = event.data;
        const asked = open.get(id);
        if (asked !== undefined) open.set(id, { ...asked, callSeq, argumentsDigest });
      } else if (isEvent(event, "approval/decided")) {
        open.delete(event.data.id);
      }
    }
    from = page.nextFrom;
  }
  const views: QuestionView[] = [];
  for (const question of open.values()) {
    const { callSeq } = question;
    const [event] = callSeq === null ? [] : (await reader.read({ from: callSeq, limit: 1 })).events;
    views.push({ ...question, arguments: argumentsIn(event) });
  }
  return views;
}

/** The raw text the model wrote. */
function argumentsIn(event: SessionEvent | undefined): string | null {
  const args = (event?.data as { readonly arguments?: unknown } | undefined)?.arguments;
  if (args === undefined) return null;
  return typeof args === "string" ? args : JSON.stringify(args);
}

/**
 * Whether an answer is in the log. Appended is not durable, so nobody is told before it is; and when the medium refused it and the
 * session was opened anew, the log says something else by now.
 */
async function isDurable(
  { sessions, store }: Tenant,
  id: string,
  question: string,
  { seq, outcome }: Decided,
): Promise<boolean> {
  await sessions.peek(id)?.agent.session.flush();
  const reader = await store.open(id, "read");
  await using _ = reader;
  const { events: [event] } = await reader.read({ from: seq, limit: 1 });
  return event !== undefined && isEvent(event, "approval/decided") && event.data.id === question &&
    event.data.outcome === outcome;
}

async function viewOf({ sessions }: Tenant, id: string, { request, askedAt }: ShownQuestion): Promise<QuestionView> {
  const { callSeq } = request;
  let event: SessionEvent | undefined;
  const hosted = sessions.peek(id);
  if (callSeq !== undefined && hosted !== null) {
    [event] = (await hosted.agent.session.history({ from: callSeq, limit: 1 })).events;
  }
  return {
    id: request.id,
    toolName: request.toolName,
    reason: request.reason ?? null,
    callId: request.callId ?? null,
    callSeq: callSeq ?? null,
    arguments: argumentsIn(event),
    argumentsDigest: request.argumentsDigest ?? null,
    askedAt,
  };
}

/** What the log says about a question that is not open here. A turn that a crash left open is closed first. */
async function decidedInLog(tenant: Tenant, id: string, question: string, given: string | null): Promise<Decided> {
  const row = await tenant.store.stat(id);
  if (row === null) throw new NotFoundError(`Cannot find session "${id}": there is none`);
  if (row.state === "open" && !row.live) await tenant.sessions.use(id, () => {});
  const reader = await tenant.store.open(id, "read");
  await using _ = reader;
  const found = await lookFor(reader, question);
  if (!found.isAsked) throw new NotFoundError(`Cannot find question "${question}" of session "${id}": there is none`);
  if (found.decided === null) {
    throw new Refusal(409, "QUESTION_CLOSED", `Cannot decide question "${question}": it is not open here`);
  }
  checkDigest(question, found.argumentsDigest, given);
  return { ...found.decided, argumentsDigest: found.argumentsDigest };
}

interface Found {
  isAsked: boolean;
  argumentsDigest: string | null;
  decided: Omit<Decided, "argumentsDigest"> | null;
}

async function lookFor(reader: LogReader, question: string): Promise<Found> {
  const found: Found = { isAsked: false, argumentsDigest: null, decided: null };
  for (let from: number | null = 0; from !== null && found.decided === null;) {
    const page: Awaited<ReturnType<LogReader["read"]>> = await reader.read({ from });
    for (const event of page.events) {
      if (isEvent(event, "approval/asked")) found.isAsked ||= event.data.id === question;
      if (isEvent(event, "approval/bound") && event.data.id === question) {
        found.argumentsDigest = event.data.argumentsDigest;
      }
      if (isEvent(event, "approval/decided") && event.data.id === question) {
        found.decided = { outcome: event.data.outcome, seq: event.seq };
      }
    }
    from = page.nextFrom;
  }
  return found;
}
