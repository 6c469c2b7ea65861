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
import { type AgentSession, type Block, createAgent, isEvent, scripted } from "../../../mod.ts";
import type { Model, OpenTurn, Resumed, Tool } from "../../../mod.ts";
import { openFileStore } from "../../entry/file.ts";
import { httpTarget, type Payment, payTool } from "../../tools/mod.ts";

/** One payment. */
export type Pay = Payment;

/** What asking the bank settled. */
export interface Settled {
  readonly callSeq: number;
  readonly verdict: string;
  /** What the model reads as the result of the call. */
  readonly says: string;
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
  | {
    readonly kind: "resumed";
    readonly calls: OpenTurn["calls"];
    readonly settled: readonly Settled[];
    readonly closers: number;
    readonly tookMs: number;
  }
  /** The approver was asked: the question is durable. */
  | { readonly kind: "asked"; readonly callSeq: number }
  /** A request is about to leave. */
  | { readonly kind: "sends"; readonly to: string }
  | { readonly kind: "result"; readonly text: string }
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
    tools: [tellingPayTool(order.bankPort)],
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
    const settled = settledIn(session.resumed);
    tell({ kind: "resumed", calls, settled, closers: closers.length, tookMs: performance.now() - beganMs });
  }
  if (order.pays.length > 0) await payAll(session, order.pays);
}

async function payAll(session: AgentSession, pays: readonly Pay[]): Promise<void> {
  session.subscribe((live) => {
    if (live.kind !== "event") return;
    const { event } = live;
    if (isEvent(event, "tool/result")) tell({ kind: "result", text: resultText(event.data.message.content) });
  });
  const { reason } = await session.send(`pay ${pays.map(({ to, amount }) => `${amount} to ${to}`).join(" and ")}`);
  tell({ kind: "ended", reason: reason.kind });
}

/** A model that follows a script: all payments in one message, then a word. */
function modelFor(pays: readonly Pay[]): Model {
  const calls = pays.map(({ to, amount }) => ({ call: { name: "pay", arguments: { to, amount } } }));
  return scripted([calls, [{ text: "Done." }]]);
}

/** What asking the bank settled, and what the closers say of it. */
function settledIn({ verdicts, closers }: Resumed): Settled[] {
  return verdicts.flatMap((event) => {
    if (!isEvent(event, "effect/reconciled")) return [];
    const { callSeq, callId, verdict } = event.data;
    const results = closers.flatMap((closer) => isEvent(closer, "tool/result") ? [closer.data.message] : []);
    const result = results.find(({ source }) => source.callId === callId);
    return [{ callSeq, verdict, says: result === undefined ? "" : resultText(result.content) }];
  });
}

function resultText(content: readonly Block[]): string {
  const blocks = content.flatMap((block) => block.type === "tool-result" ? block.content : []);
  return blocks.map((block) => block.type === "text" ? block.text : "").join("");
}

/**
 * Moves real (pretend) money: one HTTP request, with the effect key as idempotency key. The next start asks the bank under that
 * key what became of it.
 */
function tellingPayTool(bankPort: number): Tool {
  const bank = httpTarget<Pay>({
    url: `http://127.0.0.1:${bankPort}/pay`,
    fetch: (input, init) => fetch(input, init),
  });
  return payTool({
    close: (...question) => bank.close(...question),
    perform(key, pay, signal) {
      tell({ kind: "sends", to: pay.to });
      return bank.perform(key, pay, signal);
    },
  });
}

function reasonFor({ to, amount }: Pay): string {
  return `pay ${amount} to ${JSON.stringify(to)}`;
}

function answerFor(reason: string, { pays, answerAfterMs }: Order): number | null {
  const pay = pays.find((pay) => reasonFor(pay) === reason);
  return (pay && answerAfterMs[pay.to]) ?? null;
}

function tell(news: PayerNews): void {
  writeSync(1, JSON.stringify(news) + "\n");
}
