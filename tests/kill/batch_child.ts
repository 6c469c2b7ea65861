/**
 * The process that is killed in a richer turn: a retried request, a batch of payments side by side, a question, and a tool that
 * pays by calling a tool. As another start of the same program it repairs, or it finishes: repairs, opens again, and takes
 * another such turn.
 *
 * Its one argument is a {@linkcode BatchOrder} as JSON. Prints `ready` when the clock of the kill starts, what the kill is aimed
 * at when it comes, and `over` after the turn.
 *
 * @module
 */
import { readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { setTimeout } from "node:timers";
import {
  type Agent,
  createAgent,
  defineTool,
  installRetryPolicy,
  isEvent,
  outcomeUnknown,
  type Resumed,
  scripted,
  type ScriptStep,
  type SessionEvent,
} from "../../mod.ts";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { systemClock, systemRuntime } from "../../src/entry/system.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import { type BatchPlan, payments, POOL } from "./batch_plan.ts";
import { blockedSync, silentStorage } from "./hung_flush.ts";
import { stretchedDisk, Trace } from "./stretched_disk.ts";

/** What the process shall do. */
export interface BatchOrder {
  readonly part: "pay" | "repair" | "finish";
  readonly plan: BatchPlan;
  /** The turn after the repair; only its payees and its team count. */
  readonly next: Pick<BatchPlan, "pays" | "team">;
  readonly root: string;
  readonly logPath: string;
  readonly tracePath: string;
  readonly bankPort: number;
}

/** What the last part reports. */
export interface BatchFinish {
  /** What the first open found. */
  readonly calls: Resumed["calls"];
  /** The callSeq of each effect whose outcome is unknown. */
  readonly unresolved: readonly number[];
  /** Whether opening and closing once more left every byte as it was, and found nothing open. */
  readonly isSecondOpenSilent: boolean;
  readonly nextTurn: string;
}

/** A process that nobody kills ends by itself. */
const LIFE_MS_MAX = 30_000;

const order = JSON.parse(process.argv[2] ?? "") as BatchOrder;
const { plan, root, part } = order;
const { pays, team } = part === "finish" ? order.next : plan;
const trace = new Trace(order.tracePath);
setTimeout(() => process.exit(1), LIFE_MS_MAX).unref();

/** seq of the `tool/ptc-dispatch-start` of each nested call. */
const nestedSeqs = new Map<string, number>();
/** Cancels the running turn; there is one as soon as something is flushed. */
let cancel = () => {};
const PARTS = { pay, repair, finish };
await PARTS[part]();

/** Pays everybody, and lives on until it is killed. */
async function pay(): Promise<void> {
  const agent = agentFor(script());
  const session = await agent.create({ id: plan.id });
  cancel = () => session.cancel();
  session.subscribe((live) => {
    if (live.kind === "event") traceEvent(live.event);
  });
  writeSync(1, "ready\n");
  const { reason } = await session.send("pay all of them");
  trace.add(["over", Date.now(), 0, reason.kind]);
  writeSync(1, "over\n");
  setTimeout(() => {}, LIFE_MS_MAX);
}

async function repair(): Promise<void> {
  const agent = agentFor([]);
  writeSync(1, "ready\n");
  const session = await agent.resume(plan.id);
  await session.close();
}

async function finish(): Promise<void> {
  const agent = agentFor([]);
  const first = await agent.resume(plan.id);
  const { calls = [], unresolved = [] } = first.resumed ?? {};
  await first.close();
  const before = readFileSync(order.logPath);
  const second = await agent.resume(plan.id);
  const isSecondOpenSilent = second.resumed?.open === null && second.resumed.closers.length === 0;
  const isUntold = second.session.folds.inbox.taken.length > 0;
  await second.close();
  const isUnchanged = before.equals(readFileSync(order.logPath));
  // What the kill cut off before anybody was told has a turn of its own first.
  const late: ScriptStep[] = isUntold ? [[{ text: "Told late." }]] : [];
  const third = await agentFor([...late, ...script()]).resume(plan.id);
  const { reason } = await third.send("pay the others");
  await third.close();
  const report: BatchFinish = {
    calls,
    unresolved: unresolved.map(({ callSeq }) => callSeq),
    isSecondOpenSilent: isSecondOpenSilent && isUnchanged,
    nextTurn: reason.kind,
  };
  writeSync(1, JSON.stringify(report) + "\n");
}

/** The failing request, the message with the batch, the last words. */
function script(): ScriptStep[] {
  const wait = { delayMs: plan.modelMs };
  const calls = pays.map(({ payee }) => ({ call: { name: "pay", arguments: { to: payee, amount: 10 } } }));
  const teamCall = { call: { name: "pay_team", arguments: { team: team.name } } };
  const steps: ScriptStep[] = [
    [wait, ...calls.slice(0, team.position), teamCall, ...calls.slice(team.position)],
    [wait, { text: "Done." }],
  ];
  const failing: ScriptStep = [wait, { error: { message: "the provider is busy", code: "SERVER" } }];
  return steps.toSpliced(plan.failingStep - 1, 0, failing);
}

function agentFor(steps: readonly ScriptStep[]): Agent {
  const isStretched = part !== "finish";
  const hang = part === "pay" ? plan.hang : null;
  const fs = isStretched ? stretchedDisk(plan.disk, trace, blockedSync(hang, trace)) : undefined;
  const storage = silentStorage(openFileStorage({ root, fs }), hang, trace, () => {
    setTimeout(() => {
      trace.add(["cancel", Date.now(), 0, 0]);
      cancel();
    }, hang!.cancelAfterMs);
  });
  const store = openJournal({ storage, codec: nodeZstd(), ...systemRuntime, compression: plan.encoding });
  const agent = createAgent({
    store,
    model: scripted(steps, { clock: systemClock }),
    tools: [payTool(), teamTool()],
    maxParallelToolCalls: POOL,
    approvers: [async ({ reason }) => {
      await pause(delaysOf(reason)?.thinkMs ?? 0);
      return "allowed-once" as const;
    }],
  });
  const delayMs = isStretched ? plan.backoffMs : 1;
  installRetryPolicy(agent.hooks, { initialDelayMs: delayMs, maxDelayMs: delayMs, jitter: 0 });
  return agent;
}

/** Pays one person. May run beside others. */
function payTool() {
  return defineTool({
    name: "pay",
    description: "Pays somebody.",
    parameters: { type: "object" },
    effect: "keyed",
    permission: (args) =>
      payeeOf(args) === plan.asked ? { decision: "ask", reason: plan.asked } : { decision: "allow" },
    isConcurrencySafe: () => true,
    async execute(args, { effectKey, callSeq, signal }) {
      trace.add(["body", Date.now(), callSeq, effectKey]);
      const headers = { "content-type": "application/json", "idempotency-key": effectKey };
      const url = `http://127.0.0.1:${order.bankPort}/pay`;
      const text = await fetch(url, { method: "POST", headers, body: JSON.stringify(args), signal })
        .then((response) => response.text())
        .catch((error) => {
          throw outcomeUnknown("no answer came", error);
        });
      await pause(delaysOf(payeeOf(args))?.lingerMs ?? 0);
      trace.add(["left", Date.now(), callSeq, effectKey]);
      return text;
    },
  });
}

/** Pays a team by paying each of its members. */
function teamTool() {
  return defineTool({
    name: "pay_team",
    description: "Pays the members of a team.",
    parameters: { type: "object" },
    effect: team.effect,
    permission: () => ({ decision: "allow" }),
    isConcurrencySafe: () => team.isParallel,
    async execute(_args, { effectKey, callSeq, dispatch }) {
      trace.add(["body", Date.now(), callSeq, effectKey]);
      const payMember = async (to: string) => {
        const { isError } = await dispatch("pay", { to, amount: 10 });
        return isError ? `${to} was not paid` : `${to} was paid`;
      };
      const said: string[] = [];
      if (team.isTogether) said.push(...await Promise.all(team.members.map(({ payee }) => payMember(payee))));
      else for (const { payee } of team.members) said.push(await payMember(payee));
      trace.add(["left", Date.now(), callSeq, effectKey]);
      return said.join(", ");
    },
  });
}

function traceEvent(event: SessionEvent): void {
  const { seq, type } = event;
  const now = Date.now();
  if (isEvent(event, "tool/ptc-dispatch-start")) nestedSeqs.set(event.data.subCallId, seq);
  if (isEvent(event, "tool/ptc-dispatch-start") || isEvent(event, "tool/call")) {
    const args = JSON.parse(event.data.arguments);
    trace.add(["call", now, seq, args.to ?? args.team]);
  }
  trace.add(["appended", now, seq, type, callSeqOf(event)]);
  const isAimedAt = { question: type === "approval/asked", backoff: type === "llm/retry" };
  if (plan.aim !== null && isAimedAt[plan.aim]) writeSync(1, `${plan.aim}\n`);
}

/** The call that a marker or a result is about. */
function callSeqOf(event: SessionEvent): number | null {
  if (isEvent(event, "effect/dispatched")) return event.data.callSeq;
  if (event.type === "tool/ptc-dispatch") {
    return nestedSeqs.get((event.data as { subCallId: string }).subCallId) ?? null;
  }
  return isEvent(event, "tool/result") ? event.sourceEventSeqs?.[0] ?? null : null;
}

function payeeOf(args: unknown): string {
  return (args as { to: string }).to;
}

function delaysOf(payee: string | undefined) {
  return payments({ pays, team }).find((call) => call.payee === payee);
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}
