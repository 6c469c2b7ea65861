/**
 * The payer of the story: a process with an agent that pays people through the bank. It is started to be killed.
 *
 * Its one argument is an {@linkcode Order} as JSON. It prints what happens as JSON lines, one {@linkcode PayerNews} each, with
 * writes that do not wait in the process: what was printed survives the kill.
 *
 * @module
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { setTimeout } from "node:timers";
import {
  type AgentSession,
  createAgent,
  defineTool,
  isEvent,
  outcomeUnknown,
  scripted,
  ToolError,
} from "../../../mod.ts";
import type { Model, OpenTurn, Tool } from "../../../mod.ts";
import { openFileStore } from "../../entry/file.ts";

/** One payment. */
export interface Pay {
  readonly to: string;
  readonly amount: number;
}

/** What the payer shall do. */
export interface Order {
  readonly root: string;
  /** Creates this session, or goes on with it. */
  readonly id: string;
  readonly isNew: boolean;
  readonly bankPort: number;
  /** What the model proposes, in one message. None: only look what the log says. */
  readonly pays: readonly Pay[];
  /** How long the approver takes for a question about a payee; `null` for one that never answers. */
  readonly answerAfterMs: Readonly<Record<string, number | null>>;
}

/** What the payer tells. */
export type PayerNews =
  | { readonly kind: "resumed"; readonly calls: OpenTurn["calls"]; readonly closers: number; readonly tookMs: number }
  /** The approver was asked: the question is durable. */
  | { readonly kind: "asked"; readonly callSeq: number }
  /** A request is about to leave. */
  | { readonly kind: "sends"; readonly to: string }
  | { readonly kind: "result"; readonly text: string }
  /** A message that tells the model what was found out about an earlier call. */
  | { readonly kind: "told"; readonly text: string }
  | { readonly kind: "ended"; readonly reason: string };

/** A payer that nobody kills ends by itself. */
const LIFE_MS_MAX = 60_000;

if (import.meta.main) {
  setTimeout(() => process.exit(1), LIFE_MS_MAX).unref();
  const order = JSON.parse(process.argv[2] ?? "") as Order;
  await using store = openFileStore({ root: order.root });
  const agent = createAgent({
    store,
    model: modelFor(order.pays),
    tools: [payTool(order.bankPort)],
    approvers: [(request) => {
      tell({ kind: "asked", callSeq: request.callSeq ?? -1 });
      const waitMs = answerFor(request.reason ?? "", order);
      return new Promise((answered) => {
        if (waitMs !== null) setTimeout(() => answered("allowed-once"), waitMs);
      });
    }],
    systemPrompt: "You pay people. Pay everybody once.",
  });

  const beganMs = performance.now();
  await using session = order.isNew ? await agent.create({ id: order.id }) : await agent.resume(order.id);
  if (session.resumed !== null) {
    const { calls, closers } = session.resumed;
    tell({ kind: "resumed", calls, closers: closers.length, tookMs: performance.now() - beganMs });
  }
  if (order.pays.length > 0) await payAll(session, order.pays);
}

async function payAll(session: AgentSession, pays: readonly Pay[]): Promise<void> {
  session.subscribe((live) => {
    if (live.kind !== "event") return;
    const { event } = live;
    if (isEvent(event, "tool/result")) {
      const text = event.data.message.content.flatMap((block) => block.type === "tool-result" ? block.content : []);
      tell({ kind: "result", text: text.map((block) => block.type === "text" ? block.text : "").join("") });
    } else if (isEvent(event, "user/message") && event.data.source.kind === "plugin") {
      tell({ kind: "told", text: event.data.content.map((block) => block.type === "text" ? block.text : "").join("") });
    }
  });
  const { reason } = await session.send(`pay ${pays.map(({ to, amount }) => `${amount} to ${to}`).join(" and ")}`);
  tell({ kind: "ended", reason: reason.kind });
}

/** A model that follows a script: all payments in one message, then a word. */
function modelFor(pays: readonly Pay[]): Model {
  const calls = pays.map(({ to, amount }) => ({ call: { name: "pay", arguments: { to, amount } } }));
  return scripted([calls, [{ text: "Done." }]]);
}

/** Moves real (pretend) money: one HTTP request, with the effect key as idempotency key. */
function payTool(bankPort: number): Tool {
  return defineTool({
    name: "pay",
    description: "Pays an amount to somebody.",
    parameters: {
      type: "object",
      properties: { to: { type: "string" }, amount: { type: "number" } },
      required: ["to", "amount"],
    },
    effect: "keyed",
    permission: (args) => ({ decision: "ask", reason: reasonFor(args as unknown as Pay) }),
    async execute(args, { effectKey }) {
      const { to, amount } = args as unknown as Pay;
      tell({ kind: "sends", to });
      const { status, text } = await post(`http://127.0.0.1:${bankPort}/pay`, effectKey, { to, amount });
      if (status !== 200) throw new ToolError("REFUSED", `the bank answered ${status}: ${text}`);
      return `paid ${amount} to ${to}`;
    },
  });
}

async function post(url: string, key: string, pay: Pay): Promise<{ status: number; text: string }> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  try {
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(pay) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw outcomeUnknown("the connection to the bank broke: the payment may have been made", error);
  }
}

function reasonFor({ to, amount }: Pay): string {
  return `pay ${amount} to ${to}`;
}

function answerFor(reason: string, { pays, answerAfterMs }: Order): number | null {
  const pay = pays.find((pay) => reasonFor(pay) === reason);
  return (pay && answerAfterMs[pay.to]) ?? null;
}

function tell(news: PayerNews): void {
  writeSync(1, JSON.stringify(news) + "\n");
}
