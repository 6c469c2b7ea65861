/**
 * Kills the worker, or the whole browser, at random instants of a run, starts again, and has each kill judged.
 *
 * Nothing that happened is dropped: a kill before the first byte and one after the last count like all others.
 *
 * @module
 */
import { check, type TrueClass } from "../../kill/judge.ts";
import { readLogOnDisk } from "./disk_logs.ts";
import { judgeRun, wholeLog } from "./judge.ts";
import { Lab, type LabTab } from "./lab.ts";
import { type RunPlan, runPlanFor, sentenceFor } from "./plan.ts";
import type { RemoteDelays } from "./remote.ts";
import { verifyLogs } from "./verify.ts";

/** What is killed: the worker by the page, or every process of the browser by SIGKILL. */
export type Victim = "worker" | "browser";

/** What the kills came to. */
export interface BrowserKillReport {
  readonly kills: number;
  readonly calls: Readonly<Record<TrueClass, number>>;
  /** Kills before there was a log. */
  readonly withoutLog: number;
  /** Requests that reached the remote. */
  readonly arrivals: number;
  readonly seconds: number;
}

/** How long a worker's locks may outlive it. */
const LOCK_MS_MAX = 10_000;

/** How many browsers run at the same time, each on its own profile: most of a run is waiting. */
const LANES = 2;

/** Runs all kills. @throws {Error} naming the seed of the first that was judged wrong */
export async function killBrowserRuns(victim: Victim, seeds: readonly number[]): Promise<BrowserKillReport> {
  const beganMs = performance.now();
  const totals: Totals = {
    calls: { not_proposed: 0, not_started: 0, not_dispatched: 0, outcome_unknown: 0, done: 0 },
    logs: new Map(),
    withoutLog: 0,
    arrivals: 0,
  };
  const waiting = [...seeds];
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    runLane(victim, lane, waiting, totals).catch((error) => {
      waiting.length = 0;
      throw error;
    }));
  for (const ended of await Promise.allSettled(lanes)) if (ended.status === "rejected") throw ended.reason;
  for (const { id, open } of await verifyLogs(totals.logs)) check(open === null, `verify finds a turn open in ${id}`);
  return { ...totals, kills: seeds.length, seconds: Math.round((performance.now() - beganMs) / 1000) };
}

interface Totals {
  readonly calls: Record<TrueClass, number>;
  readonly logs: Map<string, Uint8Array>;
  withoutLog: number;
  arrivals: number;
}

/** Takes seeds until none is left, one after the other in one profile. */
async function runLane(victim: Victim, lane: number, waiting: number[], totals: Totals): Promise<void> {
  const delays = new Map<string, RemoteDelays>();
  await using lab = await Lab.open({ delays });
  const logs = new Map<string, Uint8Array>();
  let tab = await lab.openTab("runs");
  const undisturbed = await runUndisturbed(tab, delays);
  logs.set(`undisturbed ${lane}`, undisturbed.log);
  for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
    const plan = runPlanFor(seed);
    for (const payment of plan.turns.flat()) delays.set(payment.payee, payment);
    const killAfterMs = plan.killAfterMs * undisturbed.slowness;
    try {
      const killed = await killOnce(victim, { ...plan, killAfterMs }, lab, tab);
      tab = killed.tab;
      for (const [name, count] of Object.entries(killed.classes)) totals.calls[name as TrueClass] += count;
      if (killed.log === null) totals.withoutLog += 1;
      else logs.set(`seed ${seed}`, killed.log);
    } catch (error) {
      const found = error instanceof Error ? error.stack : error;
      throw new Error(`seed ${seed} (again with HOLDFAST_KILL_SEEDS=${seed}): ${found}`);
    }
  }
  await lab.remote.whenQuiet();
  checkEveryKey(lab, logs);
  for (const [name, log] of logs) totals.logs.set(name, log);
  totals.arrivals += lab.remote.arrivals.length;
}

/** A run that nobody kills: how much longer it takes here than planned, and its log. */
async function runUndisturbed(
  tab: LabTab,
  delays: Map<string, RemoteDelays>,
): Promise<{ readonly slowness: number; readonly log: Uint8Array }> {
  const plan = runPlanFor(0);
  for (const payment of plan.turns.flat()) delays.set(payment.payee, payment);
  const { id } = await tab.call("create", {});
  const sentences = await prepare(plan, tab, id);
  const beganMs = performance.now();
  await tab.tab.evaluate(`lab.converse(${JSON.stringify(sentences)})`);
  const slowness = (performance.now() - beganMs) / plan.runMs;
  const log = await tab.export(id);
  await tab.call("detach", { id });
  return { slowness, log };
}

/** Tells the page how long the person thinks. @returns what is to be said */
async function prepare({ turns }: RunPlan, tab: LabTab, id: string) {
  const thinkMs = Object.fromEntries(turns.flat().map(({ payee, thinkMs }) => [payee, thinkMs]));
  await tab.tab.evaluate(`lab.allow(${JSON.stringify(thinkMs)})`);
  return turns.map((turn, index) => ({ id, inputId: `${id}-${index}`, text: sentenceFor(turn) }));
}

/** Once more at the end, with everything the remote saw until then: "never" means never. */
function checkEveryKey(lab: Lab, logs: ReadonlyMap<string, Uint8Array>): void {
  const markers = [...logs.values()].flatMap((log) => wholeLog(log)).filter(({ type }) => type === "effect/dispatched");
  const keys = new Set(markers.map(({ data }) => data.effectKey));
  for (const { effectKey, to } of lab.remote.arrivals) {
    check(keys.has(effectKey), `the remote was asked to pay ${to} with key "${effectKey}", which no log holds`);
  }
}

interface KilledRun {
  /** Where the next run goes on. */
  readonly tab: LabTab;
  readonly classes: Partial<Record<TrueClass, number>>;
  /** The log at the end; `null` when the kill came before it. */
  readonly log: Uint8Array | null;
}

/** One run, from the session's making to the verdict. */
async function killOnce(victim: Victim, plan: RunPlan, lab: Lab, tab: LabTab): Promise<KilledRun> {
  const from = tab.reports.length;
  const payments = plan.turns.flat();
  const { id } = await tab.call("create", {});
  const sentences = await prepare(plan, tab, id);
  // Ends with the kill, whatever it is at: the page tells what was answered until then.
  tab.tab.evaluate(`lab.converse(${JSON.stringify(sentences)})`).catch(() => {});

  if (victim === "worker") {
    await tab.tab.evaluate(`lab.terminateAfter(${plan.killAfterMs})`);
    // The browser ends a worker a little later than it is told to; its locks go with it.
    await untilLockIsFree(tab, id);
  } else {
    await new Promise((over) => setTimeout(over, plan.killAfterMs));
    await lab.kill();
  }
  const told = tab.told(id, from);
  await lab.remote.whenQuiet();
  const onDisk = readLogOnDisk(lab.profile, id);
  const arrivals = lab.remote.arrivals.filter(({ to }) => payments.some(({ payee }) => payee === to));

  const next = victim === "worker" ? tab : await restart(lab);
  if (victim === "worker") await tab.start();
  const rows = await next.call("list", {});
  const isListed = rows.some((row) => row.id === id);
  check(onDisk !== null || !isListed, `no log of ${id} lies on the disk, and it is listed`);
  // What is on the disk and not listed never got its name: the judge then lets nobody have been told of it.
  const killed = isListed ? onDisk : null;
  if (killed === null) {
    judgeRun({ killed, repaired: null, told, arrivals, reported: new Map() });
    return { tab: next, classes: { not_proposed: payments.length }, log: null };
  }

  // An input that was durable and not yet told to the model goes on now, so all of its payments are allowed again.
  await prepare(plan, next, id);
  await next.call("attach", { id });
  const { repaired: notice } = await next.untilRole(id, "owner", victim === "worker" ? reportsAtStart(next) : 0);
  const repaired = await next.export(id);
  const reported = new Map(notice?.calls.map((call) => [call.callId, call.class]));
  const judged = judgeRun({ killed, repaired, told, arrivals, reported });

  // The session goes on, and pays whom it is asked to pay.
  const last = `p${plan.seed}end`;
  await next.tab.evaluate(`lab.allow({ ${last}: 0 })`);
  await next.converse(id, `${id}-end`, `pay 1 to ${last}`);
  const paid = lab.remote.arrivals.filter(({ to }) => to === last);
  check(paid.length === 1 && paid[0]!.paidAt !== null, `the turn after the repair paid ${JSON.stringify(paid)}`);
  const log = await next.export(id);
  checkGoesOn(repaired, log);
  await next.call("detach", { id });

  const classes: Partial<Record<TrueClass, number>> = { not_proposed: payments.length - judged.length };
  for (const { class: truth } of judged) classes[truth] = (classes[truth] ?? 0) + 1;
  return { tab: next, classes, log };
}

async function untilLockIsFree(tab: LabTab, id: string): Promise<void> {
  const held = "navigator.locks.query().then(({ held }) => held.map(({ name }) => name))";
  const deadline = performance.now() + LOCK_MS_MAX;
  while ((await tab.tab.evaluate<string[]>(held)).some((name) => name.includes(id))) {
    check(performance.now() < deadline, `a lock of ${id} is held ${LOCK_MS_MAX} ms after its worker was ended`);
    await new Promise((over) => setTimeout(over, 5));
  }
}

async function restart(lab: Lab): Promise<LabTab> {
  await lab.relaunch();
  return await lab.openTab("runs");
}

/** The reports of a page before this count belong to a worker that is dead. */
function reportsAtStart(tab: LabTab): number {
  return tab.reports.findLastIndex(({ kind }) => kind === "terminated") + 1;
}

/** What was there stays as it is. */
function checkGoesOn(before: Uint8Array, after: Uint8Array): void {
  const rows = wholeLog(after);
  wholeLog(before).forEach(({ text }, seq) =>
    check(rows[seq]?.text === text, `seq ${seq} changed to ${rows[seq]?.text}`)
  );
}

/** The report as one line. */
export function killsInWords({ kills, calls, withoutLog, arrivals, seconds }: BrowserKillReport): string {
  const counts = Object.entries(calls).map(([name, count]) => `${count} ${name}`).join(", ");
  return `${kills} kills in ${seconds} s: ${counts}; ${withoutLog} before the log, ${arrivals} requests at the remote`;
}
