/**
 * The server that is killed: a hosted agent that pays two people, on a disk that is slow. Started again on the same root it goes
 * on, and pays a third.
 *
 * Its one argument is a {@linkcode ServerOrder} as JSON. Prints its port when it listens.
 *
 * @module
 */
import { writeSync } from "node:fs";
import process from "node:process";
import {
  createAgent,
  defineTool,
  isEvent,
  outcomeUnknown,
  scripted,
  type ScriptStep,
  type SessionEvent,
} from "../../mod.ts";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { systemClock, systemRuntime } from "../../src/entry/system.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import { createServerApp } from "../../src/server/app.ts";
import { knownToken } from "../../src/server/auth.ts";
import type { Plan } from "../kill/plan.ts";
import { stretchedDisk, Trace } from "../kill/stretched_disk.ts";

/** What the server shall be. */
export interface ServerOrder {
  readonly part: "first" | "again";
  readonly plan: Plan;
  readonly root: string;
  readonly tracePath: string;
  readonly bankPort: number;
  readonly token: string;
  /** Whom it pays after the repair. */
  readonly lastPayee: string;
}

/** A process that nobody kills ends by itself. */
const LIFE_MS_MAX = 60_000;

const { part, plan, root, tracePath, bankPort, token, lastPayee } = JSON.parse(process.argv[2] ?? "") as ServerOrder;
const trace = new Trace(tracePath);
setTimeout(() => process.exit(1), LIFE_MS_MAX);

const isFirst = part === "first";
const fs = isFirst ? stretchedDisk(plan.disk, trace) : undefined;
const storage = openFileStorage({ root, fs });
const store = openJournal({ storage, codec: nodeZstd(), ...systemRuntime, compression: plan.encoding });
const script: ScriptStep[] = isFirst
  ? [[{ delayMs: plan.modelMs }, ...plan.calls.map(({ payee }) => callTo(payee))], [{ text: ["Do", "ne."] }]]
  : [[callTo(lastPayee)], [{ text: "Done." }], [{ text: "Done." }], [{ text: "Done." }]];

const pay = defineTool({
  name: "pay",
  description: "Pays somebody.",
  parameters: { type: "object" },
  effect: "keyed",
  permission: (args) => ({ decision: "ask", reason: (args as { to: string }).to }),
  async execute(args, { effectKey, callSeq }) {
    trace.add(["body", Date.now(), callSeq, effectKey]);
    const { to } = args as { to: string };
    const headers = { "content-type": "application/json", "idempotency-key": effectKey };
    const text = await fetch(`http://127.0.0.1:${bankPort}/pay`, {
      method: "POST",
      headers,
      body: JSON.stringify(args),
    })
      .then((response) => response.text())
      .catch((error) => {
        throw outcomeUnknown("no answer came", error);
      });
    const lingerMs = plan.calls.find(({ payee }) => payee === to)?.lingerMs ?? 0;
    await new Promise((over) => setTimeout(over, lingerMs));
    return text;
  },
});

const server = createServerApp({
  clock: systemClock,
  tokens: [await knownToken(token)],
  isHost: (host) => host.startsWith("127.0.0.1:"),
  tenantFor: () => ({
    store,
    agentWith(approver) {
      const model = scripted(script, { clock: systemClock });
      const agent = createAgent({ store, model, tools: [pay], approvers: [approver] });
      if (isFirst) agent.hooks.on("agent/created", ({ agent: { session } }) => void session.subscribe(traceEvent));
      return agent;
    },
    withLog: () => Promise.reject(new Error("nothing is imported here")),
  }),
  report: (error) => console.error(error),
});
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => void writeSync(1, `${port}\n`),
}, (request) => server.fetch(request));

function traceEvent(event: SessionEvent): void {
  const callSeq = isEvent(event, "effect/dispatched") ? event.data.callSeq : event.sourceEventSeqs?.[0] ?? null;
  trace.add(["appended", Date.now(), event.seq, event.type, callSeq]);
}

function callTo(payee: string) {
  return { call: { name: "pay", arguments: { to: payee, amount: 10 } } };
}
