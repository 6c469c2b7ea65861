/**
 * Kills payers in the middle of a richer turn, resumes what they left in a fresh process, and has each kill judged.
 *
 * @module
 */
import { type Bank, type BankDelays, startBank } from "../../src/cli/demo/bank.ts";
import type { BatchFinish, BatchOrder } from "./batch_child.ts";
import { type BatchCase, judgeBatch, type JudgedCall, type Situations, situationsOf } from "./batch_judge.ts";
import { type BatchPlan, batchPlanFor, payments } from "./batch_plan.ts";
import { Child } from "./child.ts";
import { check, split, type TrueClass, withEvidence } from "./judge.ts";
import { forEach, readIfThere, readTrace, runUntilKilled, slownessOf, tried, WORKERS } from "./kill_run.ts";
import type { CallPlan } from "./plan.ts";
import { readRaw } from "./raw_log.ts";
import {
  checkNoSession,
  checkSameRepair,
  checkVerify,
  repairedCopy,
  reportedClasses,
  verdictsOf,
  type VerifyCall,
} from "./resume_checks.ts";

const CHILD = "batch_child.ts";

/** What the kills came to. */
export interface BatchReport {
  readonly kills: number;
  readonly calls: Readonly<Record<TrueClass, number>>;
  /** The same for the calls that a tool's body made: `not_proposed` are those that were not begun. */
  readonly nested: Readonly<Record<TrueClass, number>>;
  readonly situations: Readonly<Record<keyof Situations, number>>;
  /** Turns that were cancelled while a flush hung, those of them that were over before the kill, and the slowest. */
  readonly cancelled: number;
  readonly cancelledInTime: number;
  readonly cancelMsMax: number;
  /** Open nested calls that `holdfast verify` does not list under their root. */
  readonly nestedUnlisted: number;
  readonly torn: number;
  readonly withoutLog: number;
  readonly repairsKilled: number;
  readonly payments: number;
  readonly seconds: number;
}

/** Runs a kill for each seed, all at random instants or some of them aimed. @throws {Error} naming the seed of the first that was judged wrong */
export async function killBatches(
  seeds: readonly number[],
  options: { readonly isAimed?: boolean } = {},
): Promise<BatchReport> {
  const beganMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-batch-" });
  const delays = new Map<string, BankDelays>();
  const bank = await startBank((to) => delays.get(to));
  try {
    const slowness = await slownessHere(`${folder}/slowness`);
    const cases: Tried[] = [];
    await forEach(seeds, async (seed) => {
      const plan = slowed(batchPlanFor(seed, options), slowness);
      for (const call of payments(plan)) delays.set(call.payee, call);
      cases.push(await tried(plan, () => killOnce(plan, `${folder}/${seed}`, bank)));
    });
    return await judgeForEver(cases, bank, beganMs);
  } finally {
    await bank.close();
    await Deno.remove(folder, { recursive: true });
  }
}

async function slownessHere(folder: string): Promise<number> {
  const plans = Array.from({ length: WORKERS }, (_, index) => ({ ...batchPlanFor(index), hang: null }));
  const bank = await startBank((to) => plans.flatMap(payments).find(({ payee }) => payee === to));
  await Deno.mkdir(folder);
  try {
    return await slownessOf(
      CHILD,
      plans.map((plan) => {
        const paths = { root: `${folder}/${plan.seed}`, logPath: "", tracePath: `${folder}/${plan.seed}.trace` };
        return { order: orderFor("pay", plan, paths, bank), runMs: plan.runMs };
      }),
    );
  } finally {
    await bank.close();
  }
}

function slowed(plan: BatchPlan, slowness: number): BatchPlan {
  const repairKillsAfterMs = plan.repairKillsAfterMs.map((ms) => ms * slowness);
  const killAfterMs = plan.aim === null ? plan.killAfterMs * slowness : plan.killAfterMs;
  return { ...plan, killAfterMs, repairKillsAfterMs };
}

function orderFor(
  part: BatchOrder["part"],
  plan: BatchPlan,
  paths: Pick<BatchOrder, "root" | "logPath" | "tracePath">,
  bank: Bank,
): BatchOrder {
  return { part, plan, next: nextTurn(plan), ...paths, bankPort: bank.port };
}

/** The turn after the repair: the same again with other people, without delays. */
function nextTurn({ seed, team }: BatchPlan): BatchOrder["next"] {
  const call = (letter: string): CallPlan => {
    return { payee: `${seed}${letter}`, thinkMs: 0, beforeMs: 0, afterMs: 0, lingerMs: 0 };
  };
  return { pays: [call("w"), call("x")], team: { ...team, name: `${seed}z`, members: [call("y")], position: 1 } };
}

interface Tried {
  readonly kill: BatchCase;
  /** Where its log is, and a copy of it as the dead process left it; `null` when the kill came before it. */
  readonly logPath: string | null;
  readonly killedPath: string;
  readonly judged: readonly JudgedCall[];
  readonly repairsKilled: number;
}

/** One kill, from the first byte to the verdict. */
async function killOnce(plan: BatchPlan, folder: string, bank: Bank): Promise<Tried> {
  const root = `${folder}/root`;
  const tracePath = `${folder}/trace`;
  const suffix = plan.encoding === "zstd" ? ".zstd" : "";
  const logPath = `${root}/_no-cwd/${plan.id}/session.v3.jsonl${suffix}`;
  const killedPath = `${folder}/${plan.id}.v3.jsonl${suffix}`;
  const orderTo = (part: BatchOrder["part"]) => orderFor(part, plan, { root, logPath, tracePath }, bank);
  await Deno.mkdir(folder);

  check(await runUntilKilled(CHILD, orderTo("pay"), plan.killAfterMs, plan.aim), "the payer ended before its kill");
  const killedAt = Date.now();
  const killed = await readIfThere(logPath);
  const trace = readTrace(await Deno.readTextFile(tracePath));
  await bank.whenQuiet();
  const dead = { plan, killed, trace, killedAt };

  if (killed === null) {
    await checkNoSession(root, plan);
    const { payments } = bank.truth();
    const kill: BatchCase = { ...dead, repaired: null, payments, reported: new Map(), unresolved: null };
    return { kill, logPath: null, killedPath, judged: judged(kill), repairsKilled: 0 };
  }
  await Deno.writeFile(killedPath, killed);
  const reported = await reportedClasses(root, plan);
  const reference = await repairedCopy(root, `${folder}/copy`, logPath, plan);
  let repairsKilled = 0;
  for (const killAfterMs of plan.repairKillsAfterMs) {
    if (await runUntilKilled(CHILD, orderTo("repair"), killAfterMs)) repairsKilled += 1;
  }
  await using child = new Child(CHILD, orderTo("finish"));
  const finish = JSON.parse(await child.output()) as BatchFinish;
  const repaired = await Deno.readFile(logPath);
  const { payments } = bank.truth();

  checkSameRepair(split(killed, repaired).closers, split(killed, reference).closers);
  if (plan.repairKillsAfterMs.length === 0) {
    const found = finish.calls.map(({ callId, class: given }) => `${callId} ${given}`).join();
    const wanted = [...reported].map(([callId, given]) => `${callId} ${given}`).join();
    check(found === wanted, `the fresh process reported "${found}", a reader "${wanted}"`);
  }
  check(finish.isSecondOpenSilent, "a second open added something, or found a turn open");
  checkNextTurn(plan, finish, bank);
  const kill: BatchCase = { ...dead, repaired, payments, reported, unresolved: finish.unresolved };
  return { kill, logPath, killedPath, judged: judged(kill), repairsKilled };
}

/** The session goes on: the next turn completes and pays everybody once. */
function checkNextTurn(plan: BatchPlan, { nextTurn: ended }: BatchFinish, bank: Bank): void {
  check(ended === "completed", `the next turn ended ${ended}`);
  const { payments: seen } = bank.truth();
  for (const { payee } of payments(nextTurn(plan))) {
    const paid = seen.filter(({ to }) => to === payee);
    check(paid.length === 1 && paid[0]!.paidAt !== null, `the next turn paid ${payee}: ${JSON.stringify(paid)}`);
  }
}

function judged(kill: BatchCase): JudgedCall[] {
  const names = payments(kill.plan).map(({ payee }) => payee);
  return withEvidence(kill, kill.payments.filter(({ to }) => names.includes(to!)), () => judgeBatch(kill));
}

/** Once more at the end, with everything the bank saw until then: "never" means never. */
async function judgeForEver(cases: readonly Tried[], bank: Bank, beganMs: number): Promise<BatchReport> {
  await bank.whenQuiet();
  const { payments: seen } = bank.truth();
  const keys = new Set<string>();
  for (const { kill } of cases) {
    await tried(kill.plan, () => void judged({ ...kill, payments: seen }));
    for (const { data } of kill.repaired === null ? [] : readRaw(kill.repaired).rows) keys.add(data.effectKey ?? "");
  }
  for (const { key } of seen) check(keys.has(key) && key !== "", `the bank saw key "${key}", which no log holds`);
  await checkVerify(cases.flatMap(({ logPath }) => logPath ?? []));
  const nestedUnlisted = await checkVerifyOpen(cases.filter(({ logPath }) => logPath !== null));
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  return { ...reportOn(cases), nestedUnlisted, payments: seen.length, seconds };
}

/**
 * What `holdfast verify` says about each log as the dead process left it.
 *
 * @returns how many open nested calls it does not list under their root
 */
async function checkVerifyOpen(cases: readonly Tried[]): Promise<number> {
  const verdicts = await verdictsOf(cases.map(({ killedPath }) => killedPath));
  let unlisted = 0;
  for (const [index, { kill, judged }] of cases.entries()) {
    const { open, damage } = verdicts[index]!;
    await tried(kill.plan, () => {
      check(damage === null, `verify finds damage: ${JSON.stringify(damage)}`);
      const calls = open?.calls ?? [];
      const isOpen = ({ class: truth }: JudgedCall) => truth !== "not_proposed" && truth !== "done";
      const inWords = (calls: readonly VerifyCall[]) =>
        calls.map(({ callId, class: given }) => `${callId} ${given}`).toSorted().join();
      const due = judged.filter(isOpen).map((call) => ({ ...call, callId: call.callId! }));
      const isMember = ({ kind }: JudgedCall) => kind === "member";
      const top = due.filter((call) => !isMember(call));
      check(inWords(calls) === inWords(top), `verify lists "${inWords(calls)}" as open, true is "${inWords(top)}"`);

      const members = due.filter(isMember);
      const root = judged.find(({ kind }) => kind === "team")!.callId;
      const listed = calls.find(({ callId }) => callId === root)?.nested ?? [];
      if (listed.length === 0) unlisted += members.length;
      else check(inWords(listed) === inWords(members), `verify lists "${inWords(listed)}" under ${root}`);
    });
  }
  return unlisted;
}

function reportOn(cases: readonly Tried[]): Omit<BatchReport, "nestedUnlisted" | "payments" | "seconds"> {
  const none = { not_proposed: 0, not_started: 0, not_dispatched: 0, outcome_unknown: 0, done: 0 };
  const [calls, nested] = [{ ...none }, { ...none }];
  const situations = { batch: 0, nested: 0, question: 0, backoff: 0, hungFlush: 0 };
  const cancelMs: number[] = [];
  let cancelled = 0;
  for (const { kill: { trace }, judged } of cases) {
    for (const { kind, class: truth } of judged) (kind === "member" ? nested : calls)[truth] += 1;
    const found = situationsOf(trace);
    for (const name of Object.keys(situations) as (keyof Situations)[]) situations[name] += Number(found[name]);
    const cancel = trace.find(([what]) => what === "cancel");
    const over = trace.find(([what]) => what === "over");
    cancelled += Number(cancel !== undefined);
    if (cancel !== undefined && over !== undefined) cancelMs.push(over[1] - cancel[1]);
  }
  const logs = cases.flatMap(({ kill: { killed } }) => killed === null ? [] : [readRaw(killed)]);
  return {
    kills: cases.length,
    ...{ calls, nested, situations, cancelled, cancelledInTime: cancelMs.length },
    cancelMsMax: Math.max(0, ...cancelMs),
    torn: logs.filter(({ tornBytes }) => tornBytes > 0).length,
    withoutLog: cases.length - logs.length,
    repairsKilled: cases.reduce((sum, { repairsKilled }) => sum + repairsKilled, 0),
  };
}

/** The report as a few lines. */
export function inWords(report: BatchReport): string {
  const counts = (named: Readonly<Record<string, number>>) =>
    Object.entries(named).map(([name, count]) => `${count} ${name}`).join(", ");
  const { kills, seconds, calls, nested, situations, cancelled, cancelledInTime, cancelMsMax } = report;
  return [
    `${kills} kills in ${seconds} s`,
    `calls of the model: ${counts(calls)}`,
    `nested calls: ${counts(nested)}; ${report.nestedUnlisted} open ones not listed by verify`,
    `killed in: ${counts(situations)}`,
    `${cancelled} cancelled while a flush hung, ${cancelledInTime} over before the kill, at most ${cancelMsMax} ms later`,
    `${report.torn} torn tails, ${report.withoutLog} before the log, ${report.repairsKilled} repairs killed, ` +
    `${report.payments} payments`,
  ].join("\n  ");
}
