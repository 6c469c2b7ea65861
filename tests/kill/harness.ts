/**
 * Kills payers at random instants, resumes what they left in a fresh process, and has each kill judged.
 *
 * Nothing that happened is dropped: a kill before the first byte and one after the last count like all others.
 *
 * @module
 */
import { type Bank, type BankDelays, startBank } from "../../src/cli/demo/bank.ts";
import { Child } from "./child.ts";
import { type Case, check, type Judged, judgeWithEvidence, split, type TrueClass } from "./judge.ts";
import type { ChildOrder, Finish } from "./payer_child.ts";
import { forEach, readIfThere, readTrace, runUntilKilled, slownessOf, tried, WORKERS } from "./kill_run.ts";
import { type Plan, planFor } from "./plan.ts";
import { readRaw } from "./raw_log.ts";
import { checkNoSession, checkSameRepair, checkVerify, repairedCopy, reportedClasses } from "./resume_checks.ts";

/** Which kills, and how many of the processes that repair are killed too. */
export interface KillOptions {
  readonly seeds: readonly number[];
  readonly repairKills?: number;
}

/** What the kills came to. */
export interface KillReport {
  readonly kills: number;
  readonly calls: Readonly<Record<TrueClass, number>>;
  /** Logs with a torn tail, those of them that still yield rows, and kills before there was a log. */
  readonly torn: number;
  readonly salvaged: number;
  readonly withoutLog: number;
  /** How many repairing processes died at their kill; the others had finished. */
  readonly repairsKilled: number;
  readonly payments: number;
  readonly seconds: number;
}

/** Runs all kills. @throws {Error} naming the seed of the first that was judged wrong */
export async function killAtRandom({ seeds, repairKills = 0 }: KillOptions): Promise<KillReport> {
  const beganMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-kill-" });
  const delays = new Map<string, BankDelays>();
  const bank = await startBank((to) => delays.get(to));
  try {
    const slowness = await slownessHere(`${folder}/slowness`);
    const cases: Tried[] = [];
    await forEach(seeds, async (seed) => {
      const plan = slowed(planFor(seed, repairKills), slowness);
      for (const call of plan.calls) delays.set(call.payee, call);
      cases.push(await tried(plan, () => killOnce(plan, `${folder}/${seed}`, bank)));
    });
    return await judgeForEver(cases, bank, beganMs);
  } finally {
    await bank.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** How much longer a run takes here than planned, with as many at the same time as there will be. */
async function slownessHere(folder: string): Promise<number> {
  const plans = Array.from({ length: WORKERS }, (_, index) => planFor(index));
  const bank = await startBank((to) => plans.flatMap(({ calls }) => calls).find(({ payee }) => payee === to));
  await Deno.mkdir(folder);
  try {
    return await slownessOf(
      "payer_child.ts",
      plans.map((plan) => {
        const paths = { root: `${folder}/${plan.seed}`, logPath: "", tracePath: `${folder}/${plan.seed}.trace` };
        return { order: orderFor("pay", plan, paths, bank), runMs: plan.runMs };
      }),
    );
  } finally {
    await bank.close();
  }
}

/** The plan with the instants of its kills on this machine. */
function slowed(plan: Plan, slowness: number): Plan {
  const repairKillsAfterMs = plan.repairKillsAfterMs.map((ms) => ms * slowness);
  return { ...plan, killAfterMs: plan.killAfterMs * slowness, repairKillsAfterMs };
}

function orderFor(
  part: ChildOrder["part"],
  plan: Plan,
  paths: Pick<ChildOrder, "root" | "logPath" | "tracePath">,
  bank: Bank,
): ChildOrder {
  return { part, plan, ...paths, bankPort: bank.port, lastPayee: lastPayeeOf(plan) };
}

/** Whom the turn after the repair pays. */
function lastPayeeOf({ seed }: Plan): string {
  return `${seed}c`;
}

interface Tried {
  readonly kill: Case;
  /** Where its log is; `null` when the kill came before it. */
  readonly logPath: string | null;
  readonly judged: readonly Judged[];
  readonly repairsKilled: number;
}

/** Once more at the end, with everything the bank saw until then: "never" means never. */
async function judgeForEver(cases: readonly Tried[], bank: Bank, beganMs: number): Promise<KillReport> {
  await bank.whenQuiet();
  const { payments } = bank.truth();
  const calls = { not_proposed: 0, not_started: 0, not_dispatched: 0, outcome_unknown: 0, done: 0 };
  const keys = new Set<string>();
  for (const { kill, judged } of cases) {
    await tried(kill.plan, () => judgeWithEvidence({ ...kill, payments }));
    for (const { class: truth } of judged) calls[truth] += 1;
    for (const { data } of kill.repaired === null ? [] : readRaw(kill.repaired).rows) keys.add(data.effectKey ?? "");
  }
  for (const { key } of payments) check(keys.has(key) && key !== "", `the bank saw key "${key}", which no log holds`);
  await checkVerify(cases.flatMap(({ logPath }) => logPath ?? []));
  const logs = cases.flatMap(({ kill: { killed } }) => killed === null ? [] : [readRaw(killed)]);
  return {
    kills: cases.length,
    calls,
    torn: logs.filter(({ tornBytes }) => tornBytes > 0).length,
    salvaged: logs.filter(({ tornRows }) => tornRows.length > 0).length,
    withoutLog: cases.length - logs.length,
    repairsKilled: cases.reduce((sum, { repairsKilled }) => sum + repairsKilled, 0),
    payments: payments.length,
    seconds: Math.round((performance.now() - beganMs) / 1000),
  };
}

/** One kill, from the first byte to the verdict. */
async function killOnce(plan: Plan, folder: string, bank: Bank): Promise<Tried> {
  const root = `${folder}/root`;
  const tracePath = `${folder}/trace`;
  const logPath = `${root}/_no-cwd/${plan.id}/session.v3.jsonl${plan.encoding === "zstd" ? ".zstd" : ""}`;
  const orderTo = (part: ChildOrder["part"]) => orderFor(part, plan, { root, logPath, tracePath }, bank);
  await Deno.mkdir(folder);

  const isKilled = await runUntilKilled("payer_child.ts", orderTo("pay"), plan.killAfterMs);
  check(isKilled, "the payer ended before its kill");
  const killed = await readIfThere(logPath);
  const trace = readTrace(await Deno.readTextFile(tracePath));
  await bank.whenQuiet();

  if (killed === null) {
    await checkNoSession(root, plan);
    const kill = { plan, killed, repaired: null, trace, payments: bank.truth().payments, reported: new Map() };
    return { kill, logPath: null, judged: judgeWithEvidence(kill), repairsKilled: 0 };
  }
  const reported = await reportedClasses(root, plan);
  const reference = await repairedCopy(root, `${folder}/copy`, logPath, plan);
  let repairsKilled = 0;
  for (const killAfterMs of plan.repairKillsAfterMs) {
    if (await runUntilKilled("payer_child.ts", orderTo("repair"), killAfterMs)) repairsKilled += 1;
  }
  await using child = new Child("payer_child.ts", orderTo("finish"));
  const finish = JSON.parse(await child.output()) as Finish;
  const repaired = await Deno.readFile(logPath);
  const payments = bank.truth().payments;

  checkSameRepair(split(killed, repaired).closers, split(killed, reference).closers);
  if (repairsKilled === 0 && plan.repairKillsAfterMs.length === 0) {
    const found = finish.calls.map(({ callId, class: given }) => `${callId} ${given}`).join();
    const wanted = [...reported].map(([callId, given]) => `${callId} ${given}`).join();
    check(found === wanted, `the fresh process reported "${found}", a reader "${wanted}"`);
  }
  check(finish.isSecondOpenSilent, "a second open added something, or found a turn open");
  check(finish.nextTurn === "completed", `the next turn ended ${finish.nextTurn}`);
  const last = payments.filter(({ to }) => to === lastPayeeOf(plan));
  check(last.length === 1 && last[0]!.paidAt !== null, `the next turn paid ${JSON.stringify(last)}`);
  const kill = { plan, killed, repaired, trace, payments, reported };
  return { kill, logPath, judged: judgeWithEvidence(kill), repairsKilled };
}

/** The report as one line. */
export function inWords(report: KillReport): string {
  const { kills, calls, torn, salvaged, withoutLog, repairsKilled, payments, seconds } = report;
  const counts = Object.entries(calls).map(([name, count]) => `${count} ${name}`).join(", ");
  return `${kills} kills in ${seconds} s: ${counts}; ${torn} torn tails (${salvaged} still readable), ` +
    `${withoutLog} before the log, ${repairsKilled} repairs killed, ${payments} payments`;
}
