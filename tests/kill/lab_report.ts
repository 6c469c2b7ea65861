/**
 * What runs of the lab came to, counted and as text.
 *
 * @module
 */
import type { TrueClass } from "./judge.ts";
import type { JudgedLabCall } from "./lab_judge.ts";
import { BARRIER_SIDES, LAB_TOOLS, type LabTool, OPEN_BARRIERS, TURN_BARRIERS } from "./lab_plan.ts";
import type { LabRequest } from "./lab_world.ts";

/** What became of the unknowns of one tool. */
export interface SettledCounts {
  unknowns: number;
  happened: number;
  absent: number;
  undecidable: number;
  /** Of the undecidable ones: those of which no lookup was cut off. */
  undecidableWhole: number;
  /** Lookups that found nothing out, those of unknowns that were settled later included. */
  undecidedLookups: number;
}

/** The counts. */
export class LabReport {
  runs = 0;
  kills = 0;
  /** By the point, `held` (a request was held back) or `over` (the turn was over). */
  readonly points = new Map<string, number>();
  readonly kinds = new Map<string, number>();
  readonly classes: Record<TrueClass, number> = {
    not_proposed: 0,
    not_started: 0,
    not_dispatched: 0,
    outcome_unknown: 0,
    done: 0,
  };
  readonly tools = new Map<LabTool, SettledCounts>();
  /** Why lookups found nothing out. */
  readonly notes = new Map<string, number>();
  torn = 0;
  salvaged = 0;
  withoutLog = 0;
  effects = 0;
  requests = 0;
  requestsLate = 0;
  requestsAfterAsk = 0;
  heldCommands = 0;
  seconds = 0;

  /** Counts a judged run. */
  add(judged: readonly JudgedLabCall[]): void {
    this.runs += 1;
    for (const { call, class: truth, settled, undecided, isCutOff } of judged) {
      this.classes[truth] += 1;
      if (truth !== "outcome_unknown") continue;
      const counts = this.tools.get(call.tool) ??
        { unknowns: 0, happened: 0, absent: 0, undecidable: 0, undecidableWhole: 0, undecidedLookups: 0 };
      counts.unknowns += 1;
      counts[settled ?? "undecidable"] += 1;
      counts.undecidableWhole += Number(settled === null && !isCutOff);
      counts.undecidedLookups += undecided.length;
      for (const note of undecided) count(this.notes, `${call.tool}: ${note}`);
      this.tools.set(call.tool, counts);
    }
  }

  addKill(point: string, kind: string): void {
    this.kills += 1;
    count(this.points, point);
    count(this.kinds, kind);
  }

  addRequests(requests: readonly LabRequest[]): void {
    this.requests += requests.length;
    this.requestsLate += requests.filter(({ landedLate }) => landedLate).length;
    this.requestsAfterAsk += requests.filter(({ landedAfterAsk }) => landedAfterAsk).length;
  }

  /** The part of the unknowns that lookups settled. */
  get settledPart(): number {
    const { unknowns, undecidable } = this.total();
    return unknowns === 0 ? 1 : (unknowns - undecidable) / unknowns;
  }

  /** The part of the unknowns that lookups settled, of those whose lookups were not cut off by a kill or a lost answer. */
  get settledPartWhole(): number {
    const { unknowns, undecidable, undecidableWhole } = this.total();
    const whole = unknowns - (undecidable - undecidableWhole);
    return whole === 0 ? 1 : (whole - undecidableWhole) / whole;
  }

  /**
   * The part of the unknowns that lookups settled, of those whose targets keep keys. Another target cannot tell any more when the
   * lookup that closed a call was cut off before its verdict was written down.
   */
  get settledPartKeyed(): number {
    const keyed = [...this.tools].filter(([tool]) => tool !== "http_put").map(([, counts]) => counts);
    const unknowns = keyed.reduce((sum, counts) => sum + counts.unknowns, 0);
    const undecidable = keyed.reduce((sum, counts) => sum + counts.undecidable, 0);
    return unknowns === 0 ? 1 : (unknowns - undecidable) / unknowns;
  }

  /** The part of the requests that landed when their sender was dead. */
  get latePart(): number {
    return this.requests === 0 ? 0 : this.requestsLate / this.requests;
  }

  total(): SettledCounts {
    const sum = { unknowns: 0, happened: 0, absent: 0, undecidable: 0, undecidableWhole: 0, undecidedLookups: 0 };
    for (const counts of this.tools.values()) {
      for (const name of Object.keys(sum) as (keyof SettledCounts)[]) sum[name] += counts[name];
    }
    return sum;
  }

  /** The sides of barriers at which nothing was killed. */
  missedSides(): string[] {
    return BARRIERS.flatMap((barrier) => BARRIER_SIDES.map((side) => `${barrier}/${side}`))
      .filter((point) => !this.points.has(point));
  }

  /** The report as a few lines and tables. */
  inWords(): string {
    const { classes, torn, salvaged, withoutLog, points } = this;
    const percent = (part: number) => `${(part * 100).toFixed(1)} %`;
    const pairs = (map: ReadonlyMap<string, number>) =>
      [...map].sort(([a], [b]) => a < b ? -1 : 1).map(([name, times]) => `${times} ${name}`).join(", ");
    const others = new Map([...points].filter(([name]) => !BARRIERS.some((barrier) => name.startsWith(`${barrier}/`))));
    return [
      `${this.kills} kills (${pairs(this.kinds)}) of ${this.runs} sessions in ${this.seconds} s: ` +
      Object.entries(classes).map(([name, times]) => `${times} ${name}`).join(", ") +
      `; ${torn} torn tails, ${salvaged} with rows that could be salvaged, ${withoutLog} before the log`,
      `${this.requests} requests, ${this.requestsLate} landed after the kill (${percent(this.latePart)}), ` +
      `${this.requestsAfterAsk} of them after the lookup; ${this.heldCommands} git commands held back; ` +
      `${this.effects} effects, each once`,
      `killed at a barrier${BARRIER_SIDES.map((side) => side.padStart(15)).join("")}`,
      ...BARRIERS.map((barrier) => {
        const cells = BARRIER_SIDES.map((side) => String(points.get(`${barrier}/${side}`) ?? 0).padStart(15));
        return `  ${barrier.padEnd(17)}${cells.join("")}`;
      }),
      `killed elsewhere: ${pairs(others)}`,
      "tool         unknowns  happened    absent  undecidable  without a lookup cut off  lookups that found nothing out",
      ...LAB_TOOLS.flatMap((tool) => this.tools.has(tool) ? [rowOf(tool, this.tools.get(tool)!)] : []),
      rowOf("all", this.total()),
      `settled: ${percent(this.settledPart)}; where no lookup was cut off: ${percent(this.settledPartWhole)}; ` +
      `where the target keeps keys, lookups cut off or not: ${percent(this.settledPartKeyed)}`,
      ...[...this.notes].map(([note, times]) => `  undecided ${times} times: ${note}`),
    ].join("\n  ");
  }
}

const BARRIERS: readonly string[] = [
  ...TURN_BARRIERS.map((barrier) => `turn.${barrier}`),
  ...OPEN_BARRIERS.map((barrier) => `open.${barrier}`),
];

function rowOf(
  name: string,
  { unknowns, happened, absent, undecidable, undecidableWhole, undecidedLookups }: SettledCounts,
): string {
  const cell = (value: number, width: number) => String(value).padStart(width);
  return name.padEnd(11) + cell(unknowns, 10) + cell(happened, 10) + cell(absent, 10) + cell(undecidable, 13) +
    cell(undecidableWhole, 26) + cell(undecidedLookups, 32);
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
