/**
 * The process that is killed at random instants: an agent that pays two people in one message. As another start of the same
 * program it repairs, and is killed there too, or it finishes: repairs, opens again, and pays a third.
 *
 * Its one argument is a {@linkcode ChildOrder} as JSON. Prints `ready` when the clock of the kill starts, and `over` after the
 * turn.
 *
 * @module
 */
import { readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { setTimeout } from "node:timers";
import { type Agent, createAgent, defineTool, isEvent, outcomeUnknown, scripted, type ScriptStep } from "../../mod.ts";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { systemClock, systemRuntime } from "../../src/entry/system.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import type { CallPlan, Plan } from "./plan.ts";
import { stretchedDisk, Trace } from "./stretched_disk.ts";

/** What the process shall do. */
export interface ChildOrder {
  readonly part: "pay" | "repair" | "finish";
  readonly plan: Plan;
  readonly root: string;
  readonly logPath: string;
  readonly tracePath: string;
  readonly bankPort: number;
  /** Whom the last part pays. */
  readonly lastPayee: string;
}

/** What the last part reports. */
export interface Finish {
  /** The classes the first open found. */
  readonly calls: readonly { readonly callId: string; readonly callSeq: number | null; readonly class: string }[];
  /** Whether opening and closing once more left every byte as it was, and found nothing open. */
  readonly isSecondOpenSilent: boolean;
  readonly nextTurn: string;
}

/** A process that nobody kills ends by itself. */
const LIFE_MS_MAX = 30_000;

const order = JSON.parse(process.argv[2] ?? "") as ChildOrder;
const { plan, root } = order;
const trace = new Trace(order.tracePath);
setTimeout(() => process.exit(1), LIFE_MS_MAX).unref();

const PARTS = { pay, repair, finish };
await PARTS[order.part]();

/** Pays two people, and lives on until it is killed. */
async function pay(): Promise<void> {
  const agent = agentFor([[{ delayMs: plan.modelMs }, ...plan.calls.map(callOf)], [{ text: "Done." }]]);
  const session = await agent.create({ id: plan.id });
  session.subscribe((live) => {
    if (live.kind !== "event") return;
    const { event } = live;
    const callSeq = isEvent(event, "effect/dispatched") ? event.data.callSeq : event.sourceEventSeqs?.[0] ?? null;
    trace.add(["appended", Date.now(), event.seq, event.type, callSeq]);
  });
  writeSync(1, "ready\n");
  await session.send("pay both");
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
  const calls = first.resumed?.calls ?? [];
  await first.close();
  const before = readFileSync(order.logPath);
  const second = await agent.resume(plan.id);
  const isSecondOpenSilent = second.resumed?.open === null && second.resumed.closers.length === 0;
  const isUntold = second.session.folds.inbox.taken.length > 0;
  await second.close();
  const isUnchanged = before.equals(readFileSync(order.logPath));
  // What the kill cut off before anybody was told has a turn of its own first.
  const late: ScriptStep[] = isUntold ? [[{ text: "Told late." }]] : [];
  const third = await agentFor([...late, [callOf({ payee: order.lastPayee })], [{ text: "Done." }]]).resume(plan.id);
  const { reason } = await third.send("pay one more");
  await third.close();
  const report: Finish = {
    calls,
    isSecondOpenSilent: isSecondOpenSilent && isUnchanged,
    nextTurn: reason.kind,
  };
  writeSync(1, JSON.stringify(report) + "\n");
}

function agentFor(script: readonly ScriptStep[]): Agent {
  const fs = order.part === "finish" ? undefined : stretchedDisk(plan.disk, trace);
  const storage = openFileStorage({ root, fs });
  const store = openJournal({ storage, codec: nodeZstd(), ...systemRuntime, compression: plan.encoding });
  return createAgent({
    store,
    model: scripted(script, { clock: systemClock }),
    tools: [payTool()],
    approvers: [async ({ reason }) => {
      await pause(callTo(reason)?.thinkMs ?? 0);
      return "allowed-once" as const;
    }],
  });
}

function callOf({ payee }: Pick<CallPlan, "payee">) {
  return { call: { name: "pay", arguments: { to: payee, amount: 10 } } };
}

function callTo(payee: string | undefined): CallPlan | undefined {
  return plan.calls.find((call) => call.payee === payee);
}

function payTool() {
  return defineTool({
    name: "pay",
    description: "Pays somebody.",
    parameters: { type: "object" },
    effect: "keyed",
    permission: (args) => ({ decision: "ask", reason: (args as { to: string }).to }),
    async execute(args, { effectKey, callSeq }) {
      trace.add(["body", Date.now(), callSeq, effectKey]);
      const { to } = args as { to: string };
      const headers = { "content-type": "application/json", "idempotency-key": effectKey };
      const url = `http://127.0.0.1:${order.bankPort}/pay`;
      const text = await fetch(url, { method: "POST", headers, body: JSON.stringify(args) })
        .then((response) => response.text())
        .catch((error) => {
          throw outcomeUnknown("no answer came", error);
        });
      await pause(callTo(to)?.lingerMs ?? 0);
      return text;
    },
  });
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}
