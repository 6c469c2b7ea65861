/**
 * Kills hosting servers at random instants of a turn, starts them again, and has each kill judged: the classes by the bytes, the
 * tail by what a client was sent.
 *
 * @module
 */
import { type Bank, type BankDelays, startBank } from "../../src/cli/demo/bank.ts";
import { Child } from "../kill/child.ts";
import { type Case, check, judgeWithEvidence, type TrueClass } from "../kill/judge.ts";
import { forEach, readIfThere, readTrace, tried, WORKERS } from "../kill/kill_run.ts";
import { type Plan, planFor } from "../kill/plan.ts";
import { eventsOf, readRaw } from "../kill/raw_log.ts";
import { checkVerify, reportedClasses } from "../kill/resume_checks.ts";
import type { ServerOrder } from "./kill_child.ts";
import { LastingClient } from "./kill_client.ts";
import { TOKEN } from "./server_support.ts";

/** What the kills came to. */
export interface ServerKillReport {
  readonly kills: number;
  readonly calls: Readonly<Record<TrueClass, number>>;
  /** Kills before there was a log. */
  readonly withoutLog: number;
  /** Kills after the turn had ended. */
  readonly afterTurn: number;
  /** Inputs that were repeated after the restart, and were there already. */
  readonly repeated: number;
  readonly connections: number;
  readonly frames: number;
  readonly payments: number;
  readonly seconds: number;
}

/** Some kills come when the turn has ended. */
const REACH = 1.1;

const SCRIPT = "../server/kill_child.ts";

/** Runs all kills. @throws {Error} naming the seed of the first that was judged wrong */
export async function killServers(seeds: readonly number[]): Promise<ServerKillReport> {
  const beganMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-server-kill-" });
  const delays = new Map<string, BankDelays>();
  const bank = await startBank((to) => delays.get(to));
  try {
    const slowness = await slownessHere(`${folder}/slowness`, bank, delays);
    const done: Tried[] = [];
    await forEach(seeds, async (seed) => {
      const plan = planFor(seed);
      for (const call of plan.calls) delays.set(call.payee, call);
      done.push(
        await tried(plan, () => killOnce(plan, plan.killAfterMs * slowness * REACH, `${folder}/${seed}`, bank)),
      );
    });
    await bank.whenQuiet();
    const { payments } = bank.truth();
    const calls = { not_proposed: 0, not_started: 0, not_dispatched: 0, outcome_unknown: 0, done: 0 };
    // Once more at the end, with everything the bank saw until then: "never" means never.
    for (const { kill } of done) {
      const judged = await tried(kill.plan, () => Promise.resolve(judgeWithEvidence({ ...kill, payments })));
      for (const { class: truth } of judged) calls[truth] += 1;
    }
    await checkVerify(done.map(({ logPath }) => logPath));
    return {
      kills: done.length,
      calls,
      withoutLog: done.filter(({ kill }) => kill.killed === null).length,
      afterTurn: done.filter(({ kill }) => hasEnded(kill.killed)).length,
      repeated: done.filter(({ isRepeated }) => isRepeated).length,
      connections: done.reduce((sum, { connections }) => sum + connections, 0),
      frames: done.reduce((sum, { frames }) => sum + frames, 0),
      payments: payments.length,
      seconds: Math.round((performance.now() - beganMs) / 1000),
    };
  } finally {
    await bank.close();
    await Deno.remove(folder, { recursive: true });
  }
}

function hasEnded(log: Uint8Array | null): boolean {
  return log !== null && readRaw(log).rows.some(({ type }) => type === "turn/end");
}

/** The report as one line. */
export function inWords(report: ServerKillReport): string {
  const { kills, calls, withoutLog, afterTurn, repeated, connections, frames, payments, seconds } = report;
  const counts = Object.entries(calls).map(([name, count]) => `${count} ${name}`).join(", ");
  return `${kills} kills of a server in ${seconds} s: ${counts}; ${withoutLog} before the log, ${afterTurn} after the turn, ` +
    `${repeated} inputs repeated, ${connections} connections, ${frames} frames, ${payments} payments`;
}

/** How much longer a run takes here than planned, with as many at the same time as there will be. */
async function slownessHere(folder: string, bank: Bank, delays: Map<string, BankDelays>): Promise<number> {
  await Deno.mkdir(folder);
  const ratios = await Promise.all(Array.from({ length: WORKERS }, async (_, index) => {
    const plan = planFor(900_000 + index);
    for (const call of plan.calls) delays.set(call.payee, call);
    await Deno.mkdir(`${folder}/${index}`);
    await using child = new Child(SCRIPT, orderFor("first", plan, `${folder}/${index}`, bank));
    const client = clientOf(plan);
    client.origin = `http://127.0.0.1:${await child.line()}`;
    const beganMs = performance.now();
    await checkStatus(client.ask("/v1/sessions", { body: { id: plan.id } }), 201);
    await checkStatus(client.ask(`/v1/sessions/${plan.id}/inputs`, { body: { text: "pay both" } }), 202);
    await client.until((row) => row.startsWith('{"type":"turn/end"'));
    const ratio = (performance.now() - beganMs) / plan.runMs;
    await client.close();
    return ratio;
  }));
  return ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
}

interface Tried {
  readonly kill: Case;
  readonly logPath: string;
  readonly isRepeated: boolean;
  readonly connections: number;
  readonly frames: number;
}

/** One kill, from the first byte to the verdict. */
async function killOnce(plan: Plan, killAfterMs: number, folder: string, bank: Bank): Promise<Tried> {
  await Deno.mkdir(folder);
  const { id } = plan;
  const logPath = `${folder}/root/_no-cwd/${id}/session.v3.jsonl${plan.encoding === "zstd" ? ".zstd" : ""}`;
  const input = { body: { text: "pay both" }, headers: { "idempotency-key": `input-${plan.seed}` } };
  const client = clientOf(plan);
  let answer: Promise<number> | null = null;
  {
    await using child = new Child(SCRIPT, orderFor("first", plan, folder, bank));
    client.origin = `http://127.0.0.1:${await child.line()}`;
    const talk = (async () => {
      await checkStatus(client.ask("/v1/sessions", { body: { id } }), 201);
      answer = client.ask(`/v1/sessions/${id}/inputs`, input).then((response) => response.status);
      await answer;
    })().catch(() => {}); // The server may be dead by then.
    await new Promise((over) => setTimeout(over, killAfterMs));
    check(await child.kill(), "the server ended before its kill");
    client.origin = null;
    await talk;
  }
  const isAcknowledged = await Promise.resolve(answer).then((status) => status === 202, () => false);
  const killed = await readIfThere(logPath);
  const trace = readTrace(await Deno.readTextFile(`${folder}/trace`));
  await bank.whenQuiet();
  const reported = killed === null ? new Map<string, string>() : await reportedClasses(`${folder}/root`, plan);

  await using child = new Child(SCRIPT, orderFor("again", plan, folder, bank));
  client.origin = `http://127.0.0.1:${await child.line()}`;
  const created = await client.ask("/v1/sessions", { body: { id } });
  await created.body?.cancel();
  check(created.status === (killed === null ? 201 : 409), `creating it again answers ${created.status}`);
  // A client that does not know whether its input arrived sends it again.
  const again = await client.ask(`/v1/sessions/${id}/inputs`, input);
  const { repeated, seq } = await again.json();
  check(again.status === 202, `the input sent again answers ${again.status}`);
  check(repeated || !isAcknowledged, "an acknowledged input was gone");
  const last = await client.ask(`/v1/sessions/${id}/inputs`, { body: { text: "pay one more" } });
  const { messageId } = await last.json();
  check(last.status === 202, `the next input answers ${last.status}`);
  // Its turn: the one that begins after it was taken out of the inbox again.
  let taken = -1;
  await client.until((row, at) => {
    if (row.startsWith('{"type":"user/message"') && row.includes(`"id":"${messageId}"`)) taken = at;
    return taken !== -1 && at > taken && row.startsWith('{"type":"turn/end"');
  });
  await client.close();
  check(await child.kill(), "the second server ended by itself");
  const repaired = (await Deno.readFile(logPath)) as Uint8Array;
  const payments = bank.truth().payments;

  const rows = eventsOf(readRaw(repaired).rows);
  checkTail(client, rows.map(({ text }) => text));
  // Heard again when a turn had taken it and the kill came before anybody was told; told once all the same.
  const inputs = rows.filter(({ type, text }) => type === "agent/inbox/spliced" && text.includes('"text":"pay both"'));
  check(inputs.some(({ seq: at }) => at === seq), `the input was said to be at seq ${seq}`);
  const told = rows.filter(({ type, text }) => type === "user/message" && text.includes('"text":"pay both"'));
  check(told.length === 1, `the model was told the input ${told.length} times`);
  const lastPayments = payments.filter(({ to }) => to === lastPayeeOf(plan));
  check(
    lastPayments.length === 1 && lastPayments[0]!.paidAt !== null,
    `the last one was paid ${lastPayments.length} times`,
  );
  for (const [question, outcome] of client.acknowledged) {
    const decided = rows.filter(({ type, data }) => type === "approval/decided" && data.id === question);
    check(
      decided.length === 1 && decided[0]!.data.outcome === outcome,
      `the acknowledged answer to ${question} was gone`,
    );
  }
  const kill: Case = { plan, killed, repaired: killed === null ? null : repaired, trace, payments, reported };
  judgeWithEvidence(kill);
  const { connections, received } = client;
  return { kill, logPath, isRepeated: repeated, connections, frames: received.length };
}

/** Each seq once, in order, over all connections, with the bytes of the log. */
function checkTail({ received }: LastingClient, rows: readonly string[]): void {
  received.forEach(({ id, row }, index) => {
    check(id === index, `the client was sent seq ${id} where ${index} was due`);
    check(row === rows[id], `the client was sent ${row}, and the log holds ${rows[id]}`);
  });
  check(received.length > 0, "the client was sent nothing");
}

function clientOf({ id, calls }: Plan): LastingClient {
  return new LastingClient(id, TOKEN, (reason) => calls.find(({ payee }) => payee === reason)?.thinkMs ?? 0);
}

function orderFor(part: ServerOrder["part"], plan: Plan, folder: string, bank: Bank): ServerOrder {
  return {
    ...{ part, plan, root: `${folder}/root`, tracePath: `${folder}/trace`, bankPort: bank.port, token: TOKEN },
    lastPayee: lastPayeeOf(plan),
  };
}

function lastPayeeOf({ seed }: Plan): string {
  return `${seed}c`;
}

async function checkStatus(answer: Promise<Response>, status: number): Promise<void> {
  const response = await answer;
  await response.body?.cancel();
  check(response.status === status, `wanted ${status}, got ${response.status}`);
}
