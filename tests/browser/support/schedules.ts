/**
 * Random schedules of what happens to up to three tabs with one session: opened, frozen, woken, reloaded, closed, crashed, their
 * worker ended, typed into, asked to approve. Afterwards everything that was typed is confirmed, and the session is judged.
 *
 * @module
 */
import { check } from "../../kill/judge.ts";
import { type SeededRandom, seededRandom } from "../../support/seeded_random.ts";
import { judgeLog } from "./judge_log.ts";
import { wholeLog } from "./judge.ts";
import type { Told } from "./judge.ts";
import { firstRole, Lab, type LabTab, Refused } from "./lab.ts";
import type { Role } from "../../../web/protocol.ts";
import type { RemoteDelays } from "./remote.ts";
import { verifyLogs } from "./verify.ts";

/** Bound of the 99th percentile: from the release by one tab until another one owns the session. */
export const TAKEOVER_MS_MAX = 3_000;
/** Bound of each: until a session is owned, or its viewers say why it is not. Beyond it somebody is stuck. */
export const ANY_TAKEOVER_MS_MAX = 10_000;

const SLOTS = 3;
const STEPS = 9;
/** How many schedules run at the same time, each with its own session. */
const AT_ONCE = 3;
/** The longest between two steps. */
const PAUSE_MS_MAX = 160;
/** How often an input is sent again until it is confirmed. */
const SENDS_MAX = 8;

/** What the schedules came to. */
export interface ScheduleReport {
  readonly schedules: number;
  readonly steps: Readonly<Record<string, number>>;
  readonly inputs: number;
  readonly calls: Readonly<Record<string, number>>;
  /** From each release until somebody else owned the session, sorted. */
  readonly takeoverMs: readonly number[];
  /** Owners that were frozen before they could let go: from the freeze until a viewer said why nobody writes, sorted. */
  readonly reasonMs: readonly number[];
  /** And from their wake or end until no viewer said so any more, sorted. */
  readonly recoveryMs: readonly number[];
  readonly seconds: number;
}

/**
 * Runs a schedule for every seed.
 *
 * @param reasonMsMax until a viewer says why nobody writes, and until none says so any more: a time to be held on a quiet machine,
 * ANY_TAKEOVER_MS_MAX beside other work
 * @throws {Error} naming the seed of the first that was judged wrong
 */
export async function runSchedules(seeds: readonly number[], reasonMsMax: number): Promise<ScheduleReport> {
  const beganMs = performance.now();
  const delays = new Map<string, RemoteDelays>();
  await using lab = await Lab.open({ delays });
  const report: Totals = {
    steps: {},
    inputs: 0,
    calls: {},
    takeoverMs: [],
    reasonMs: [],
    recoveryMs: [],
    logs: new Map(),
    reasonMsMax,
  };
  const waiting = [...seeds];
  const worker = async () => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      try {
        await new Schedule(seed, lab, delays, report).run();
      } catch (error) {
        waiting.length = 0;
        const found = error instanceof Error ? error.stack : error;
        throw new Error(`seed ${seed} (again with HOLDFAST_KILL_SEEDS=${seed}): ${found}`);
      }
    }
  };
  for (const ended of await Promise.allSettled(Array.from({ length: AT_ONCE }, worker))) {
    if (ended.status === "rejected") throw ended.reason;
  }
  for (const { id, open } of await verifyLogs(report.logs)) check(open === null, `verify finds a turn open in ${id}`);
  const ascending = (left: number, right: number) => left - right;
  return {
    ...report,
    schedules: seeds.length,
    takeoverMs: report.takeoverMs.sort(ascending),
    reasonMs: report.reasonMs.sort(ascending),
    recoveryMs: report.recoveryMs.sort(ascending),
    seconds: Math.round((performance.now() - beganMs) / 1000),
  };
}

interface Totals {
  readonly steps: Record<string, number>;
  inputs: number;
  readonly calls: Record<string, number>;
  readonly takeoverMs: number[];
  readonly reasonMs: number[];
  readonly recoveryMs: number[];
  readonly logs: Map<string, Uint8Array>;
  readonly reasonMsMax: number;
}

/** A tab with the session, and whether it is frozen. */
interface Slot {
  readonly tab: LabTab;
  isFrozen: boolean;
  /** Whether it was frozen before it could let go of the session. */
  isHolding: boolean;
  /** Reports before this one belong to a page or a worker that is gone. */
  from: number;
}

interface Input {
  readonly text: string;
  readonly inputId: string;
  isConfirmed: boolean;
}

type Step = "open" | "type" | "approve" | "freeze" | "wake" | "reload" | "crash" | "close" | "terminate";

/** How often each step is drawn, where it is possible. */
const WEIGHTS: Readonly<Record<Step, number>> = {
  open: 6,
  type: 6,
  approve: 14,
  freeze: 3,
  wake: 3,
  reload: 2,
  crash: 1,
  close: 2,
  terminate: 1,
};

class Schedule {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #lab: Lab;
  readonly #delays: Map<string, RemoteDelays>;
  readonly #totals: Totals;
  readonly #slots: (Slot | null)[] = Array.from({ length: SLOTS }, () => null);
  readonly #inputs: Input[] = [];
  /** Of tabs that are gone. */
  readonly #told: Told[] = [];
  readonly #done: string[] = [];
  #id = "";

  constructor(seed: number, lab: Lab, delays: Map<string, RemoteDelays>, totals: Totals) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    this.#lab = lab;
    this.#delays = delays;
    this.#totals = totals;
  }

  async run(): Promise<void> {
    try {
      const first = await this.#open(0);
      this.#id = (await first.tab.call("create", {})).id;
      // The session is on the disk with its first message; before that there is nothing to share.
      await this.#confirm(this.#newInput(), first);
      for (let index = 0; index < STEPS; index++) {
        await this.#step();
        await new Promise((over) => setTimeout(over, this.#random.below(PAUSE_MS_MAX)));
      }
      await this.#finish();
    } catch (error) {
      throw new Error(`after ${this.#done.join(", ")}: ${error instanceof Error ? error.stack : error}`, {
        cause: error,
      });
    } finally {
      await Promise.all(this.#live().map(({ tab }) => tab.tab.close().catch(() => {})));
    }
  }

  #live(): Slot[] {
    return this.#slots.filter((slot) => slot !== null);
  }

  #awake(): Slot[] {
    return this.#live().filter(({ isFrozen }) => !isFrozen);
  }

  async #step(): Promise<void> {
    const possible = (Object.keys(WEIGHTS) as Step[]).filter((step) => this.#targets(step).length > 0);
    const step = this.#random.pick(possible.flatMap((step) => Array.from({ length: WEIGHTS[step] }, () => step)));
    const index = this.#random.pick(this.#targets(step));
    this.#done.push(`${step} ${index}`);
    this.#totals.steps[step] = (this.#totals.steps[step] ?? 0) + 1;
    if (step === "open") {
      const slot = await this.#open(index);
      await slot.tab.call("attach", { id: this.#id });
      return;
    }
    const slot = this.#slots[index]!;
    if (step === "type") return this.#type(slot);
    if (step === "approve") return await this.#approve(slot);
    if (step === "wake") return await this.#wake(slot);
    await this.#release(step, index, slot);
  }

  /** Which slots a step can be done to. */
  #targets(step: Step): number[] {
    return [...this.#slots.keys()].filter((index) => {
      const slot = this.#slots[index]!;
      if (step === "open") return slot === null;
      if (slot === null) return false;
      if (step === "wake") return slot.isFrozen;
      if (step === "close" || step === "crash") return true;
      if (step === "approve") return !slot.isFrozen && (this.#viewOf(slot)?.questions.length ?? 0) > 0;
      return !slot.isFrozen;
    });
  }

  async #open(index: number): Promise<Slot> {
    const tab = await this.#lab.openTab(`tab ${this.#seed}/${index}`, { isWindow: true });
    const slot: Slot = { tab, isFrozen: false, isHolding: false, from: 0 };
    this.#slots[index] = slot;
    return slot;
  }

  #viewOf({ tab, from }: Slot) {
    return tab.view(this.#id, from);
  }

  #newInput(): Input {
    const payee = `s${this.#seed}n${this.#inputs.length}e`;
    const between = (low: number, high: number) => low + this.#random.below(high - low + 1);
    this.#delays.set(payee, { beforeMs: between(0, 300), afterMs: between(0, 300) });
    const input: Input = { text: `pay 1 to ${payee}`, inputId: `input-${payee}`, isConfirmed: false };
    this.#inputs.push(input);
    return input;
  }

  /** Types, and goes on: the answer may come late, or never. */
  #type(slot: Slot): void {
    const input = this.#newInput();
    this.#send(input, slot).catch(() => {});
  }

  async #send(input: Input, { tab }: Slot): Promise<void> {
    await tab.call("send", { id: this.#id, inputId: input.inputId, text: input.text });
    input.isConfirmed = true;
  }

  async #approve(slot: Slot): Promise<void> {
    const { question } = this.#viewOf(slot)!.questions[0]!;
    // Whoever is asked may be too late, or speak to an owner who dies.
    await slot.tab.call("answer", { id: this.#id, question, decision: "allowed-once" }).catch(onlyRefused);
  }

  async #wake(slot: Slot): Promise<void> {
    const wokenAt = Date.now();
    await slot.tab.tab.wake();
    slot.isFrozen = false;
    if (slot.isHolding) await this.#awaitRecovery("wake", slot, wokenAt);
  }

  /** Takes a tab away, for a while or for ever; whoever stands in line must have the session soon. */
  async #release(step: Step, index: number, slot: Slot): Promise<void> {
    const view = this.#viewOf(slot);
    // A tab that has just been woken may not have said yet that another one took over while it slept.
    const isOwnedElsewhere = this.#awake().some((other) =>
      other !== slot && this.#viewOf(other)?.role.kind === "owner"
    );
    const wasOwner = view?.role.kind === "owner" && !slot.isFrozen && !isOwnedElsewhere;
    const from = new Map(this.#live().map(({ tab }) => [tab, tab.reports.length]));
    const releasedAt = Date.now();
    switch (step) {
      case "freeze":
        await slot.tab.tab.freeze();
        slot.isFrozen = true;
        break;
      case "close":
      case "crash":
        this.#slots[index] = null;
        this.#told.push(...slot.tab.toldByEachWorker(this.#id));
        await slot.tab.tab[step]();
        break;
      case "reload":
        slot.from = slot.tab.reports.length;
        await slot.tab.tab.reload();
        break;
      case "terminate":
        slot.from = slot.tab.reports.length;
        await slot.tab.tab.evaluate("lab.terminateAfter(0)");
        break;
    }
    if (step === "reload" || step === "terminate") {
      await slot.tab.start();
      await slot.tab.call("attach", { id: this.#id });
    }
    if (slot.isHolding) await this.#awaitRecovery(step, slot, releasedAt);
    if (!wasOwner || this.#awake().length === 0) return;
    await this.#awaitTakeover(step, slot, releasedAt, from);
  }

  async #awaitTakeover(
    step: Step,
    slot: Slot,
    releasedAt: number,
    from: ReadonlyMap<LabTab, number>,
  ): Promise<void> {
    // A worker that is in the middle of something, or gets no processor, has not let go when the browser stops it.
    const ends: readonly Role["kind"][] = step === "freeze" ? ["owner", "stuck"] : ["owner"];
    const tabs = this.#awake().map(({ tab }) => tab);
    const found = await firstRole(tabs, this.#id, ends, (tab) => from.get(tab) ?? 0);
    const tookMs = Math.max(0, found.at - releasedAt);
    check(tookMs <= ANY_TAKEOVER_MS_MAX, `${step}: ${found.view.role.kind} only after ${tookMs} ms`);
    if (found.view.role.kind === "owner") return void this.#totals.takeoverMs.push(tookMs);
    check(tookMs <= this.#totals.reasonMsMax, `${step}: the reason only after ${tookMs} ms`);
    this.#totals.reasonMs.push(tookMs);
    slot.isHolding = true;
  }

  /** After a frozen owner was woken or is gone, no other tab is stuck any more. */
  async #awaitRecovery(step: Step, holder: Slot, endedAt: number): Promise<void> {
    holder.isHolding = false;
    for (const slot of this.#awake().filter((slot) => slot !== holder)) {
      const { at } = await slot.tab.until(`no frozen owner after ${step}`, () => {
        const newest = slot.tab.views(this.#id, slot.from).at(-1);
        return newest !== undefined && newest.view.role.kind !== "stuck" ? newest : null;
      });
      const tookMs = Math.max(0, at - endedAt);
      check(tookMs <= this.#totals.reasonMsMax, `${step} of a frozen owner: stuck for ${tookMs} ms more`);
      this.#totals.recoveryMs.push(tookMs);
    }
  }

  /** Wakes everybody, confirms every input, lets every call end, and has the session judged. */
  async #finish(): Promise<void> {
    this.#done.push("finish");
    for (const slot of this.#live()) if (slot.isFrozen) await this.#wake(slot);
    if (this.#live().length === 0) {
      const slot = await this.#open(0);
      await slot.tab.call("attach", { id: this.#id });
    }
    const allowAll = Object.fromEntries(this.#inputs.map(({ text }) => [text.split(" ").at(-1)!, 0]));
    for (const { tab } of this.#live()) await tab.tab.evaluate(`lab.allow(${JSON.stringify(allowAll)})`);
    const [slot] = this.#live();
    for (const input of this.#inputs) await this.#confirm(input, slot!);
    const inputs = this.#inputs.map(({ text }) => text);
    let told: Told[] = [];
    // What was told is taken before the log is read, so that it cannot be newer.
    const log = await slot!.tab.untilRest(this.#id, inputs, () => {
      told = [...this.#told, ...this.#live().flatMap(({ tab }) => tab.toldByEachWorker(this.#id))];
    });
    await this.#lab.remote.whenQuiet();
    const arrivals = this.#lab.remote.arrivals.filter(({ to }) => to.startsWith(`s${this.#seed}n`));
    const calls = judgeLog({ rows: wholeLog(log), told, arrivals, inputs });
    for (const [kind, count] of Object.entries(calls)) {
      this.#totals.calls[kind] = (this.#totals.calls[kind] ?? 0) + count;
    }
    this.#totals.inputs += this.#inputs.length;
    this.#totals.logs.set(`seed ${this.#seed}`, log);
  }

  /** Sends an input until it is confirmed: a repeat with the same id is the same input. */
  async #confirm(input: Input, slot: Slot): Promise<void> {
    for (let sends = 1; !input.isConfirmed; sends++) {
      try {
        await this.#send(input, slot);
      } catch (error) {
        if (sends === SENDS_MAX) throw error;
        onlyRefused(error);
        await new Promise((over) => setTimeout(over, 250));
      }
    }
  }
}

/** A refusal is an answer; anything else is a failure of the test. */
function onlyRefused(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
}

/** The report in a few lines. */
export function schedulesInWords(report: ScheduleReport): string {
  const { schedules, steps, inputs, calls, takeoverMs, reasonMs, recoveryMs, seconds } = report;
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of).map(([name, count]) => `${count} ${name}`).join(", ");
  return `${schedules} schedules in ${seconds} s: ${counts(steps)}; ${inputs} inputs; calls: ${counts(calls)}; ` +
    `${takeoverMs.length} takeovers, p50 ${percentile(takeoverMs, 0.5)} ms, p99 ${percentile(takeoverMs, 0.99)} ms; ` +
    `${reasonMs.length} frozen before they let go: reason after at most ${reasonMs.at(-1) ?? 0} ms, ` +
    `over at most ${recoveryMs.at(-1) ?? 0} ms after the wake`;
}

/** Of ascending values, by nearest rank. */
export function percentile(values: readonly number[], part: number): number {
  return values[Math.max(0, Math.ceil(values.length * part) - 1)] ?? 0;
}
