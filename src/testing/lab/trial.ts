/**
 * One crash state, tried: the session is opened and repaired, opened again, and goes on; then the judge has a look.
 *
 * @module
 */
import type { AgentSession } from "../../../mod.ts";
import type { SimulatedMedium } from "../media/mod.ts";
import type { Files, Judge, LabTrace, Violation } from "../judge/mod.ts";
import { LAB_SESSION_ID, LabProcess, type Opened, type ProcessOptions, type Workshop } from "./lab_process.ts";
import type { Letter } from "./letters.ts";
import type { Candidate, CrashWatch, Run } from "./moment.ts";
import { reportsOf, unresolvedOf } from "./reports.ts";
import { salvageRefused } from "./salvage_refused.ts";
import type { SnapshotHarm } from "./snapshot_harm.ts";
import type { Compression, MediumKind } from "./unit.ts";

/** What a trial needs beside its state. */
export interface TrialOptions extends ProcessOptions {
  readonly workshop: Workshop;
  readonly judge: Judge;
  readonly medium: MediumKind;
  /** The full name of the session's log. */
  readonly log: string;
  /** Tools whose success means that the ledger has an entry. */
  readonly ledgerTools: readonly string[];
  /** How often a lock of the dead process is refused. */
  readonly lockHeldAfterDeath: number;
  /** What the process after the crash does when it goes on. Always a `say` behind it. */
  readonly letters: readonly Letter[];
  /** Whether the process after the crash must be able to compact. */
  readonly mustCompact?: boolean;
  /** What is done instead of that, under the model of the workshop. */
  readonly afterwards?: (session: AgentSession) => Promise<unknown>;
  /** Watches the recovery and what follows for states of further crashes; `null` where nobody wants them. */
  /** What happens to the snapshots before each process; default nothing. */
  readonly harm?: SnapshotHarm;
  readonly watch: ((run: Run, medium: SimulatedMedium) => CrashWatch) | null;
}

/** What came of a trial. */
export interface Tried {
  readonly violations: readonly Violation[];
  /** The code the session was refused with; `null` when it went on. */
  readonly refused: string | null;
  /** States of further crashes, those inside of the recovery and those after it. */
  readonly next: readonly Candidate[];
  /** The files after the recovery. */
  readonly recovered: Files;
  readonly trace: LabTrace;
  /** What the public interface said, for the tally. */
  readonly classes: readonly string[];
  readonly verdicts: readonly string[];
}

/**
 * Tries one state.
 *
 * The first process after the crash opens the session and is killed when it has; the second opens it again, which must add
 * nothing, and runs a turn. Requests that were under way arrive when their fate says.
 */
export async function tryState(candidate: Candidate, options: TrialOptions): Promise<Tried> {
  const { log, workshop } = options;
  let run = candidate.run.fork();
  const crashedAtStep = run.steps.take();
  const crashed = run.incarnation;
  run.record.turn(`p${crashed}`, "left");
  const appended = [...run.record.batches];
  const acknowledgedThroughSeq = run.record.acknowledgedThroughSeq;
  const calls = run.record.calls();
  run.lostNames = [...run.lostNames, ...candidate.state.lostNames()];
  const medium = candidate.state.medium({ lockHeldAfterDeath: options.lockHeldAfterDeath });
  const image = medium.snapshot();
  options.harm?.harm(medium);
  const { lostNames } = run;

  const flying = [...run.world.flying];
  run.world.drop();
  const withFate = (fate: string) => flying.filter((_, index) => candidate.fates[index] === fate);
  run.world.land(withFate("early"));
  let effects: LabTrace["effects"] = run.world.ledger;
  // A medium that defers names forgot the session as a whole, which it may: nothing that comes is about the old one.
  if (!candidate.isNameDurable && !image.has(log)) {
    run.world.land(withFate("late"));
    effects = [...run.world.ledger];
    run = run.anew();
  }

  const watch = options.watch?.(run, medium) ?? null;
  observe(medium, run, log, watch);
  run.incarnation++;
  const first = new LabProcess(workshop, run, medium, options);
  watch?.open();
  const opened = await first.resume();
  if (opened.kind === "open") {
    options.harm?.opened(opened.session.session.snapshots);
    run.record.promised(opened.session.session.durableSeq);
    // A kill left what was written, durable or not, and the recovery built on it: a power cut now must take none of that. Bytes
    // that a failed sync has dropped before nobody can see, once the process that was told so is dead.
    if (!candidate.isDurable && !medium.isInDoubt(log)) watch?.look("after the recovery", (left) => left.crashStates());
  }
  watch?.close();
  const recovered = medium.snapshot();
  const reports = opened.kind === "open" ? reportsOf(opened.session, run.steps.take()) : [];
  const unresolved = opened.kind === "open" ? unresolvedOf(opened.session) : undefined;
  const inRecovery = watch?.candidates ?? [];
  medium.kill(first.name);
  run.record.turn(first.name, "left");
  // Nearly simultaneous requests overtake each other.
  if (effects === run.world.ledger) run.world.land(withFate("late").reverse());

  const after = await goOn(run, medium, opened, options);
  run.world.drop();
  const isDamaged = typeof after.liveness === "object" && after.liveness.refused.startsWith("CORRUPT_");
  const salvaged = isDamaged && image.has(log) ? await salvageRefused(run, image, options) : undefined;

  const trace: LabTrace = {
    ...{ log, medium: options.medium, compression: options.compression, incarnation: crashed, crashedAtStep },
    ...{ image, recovered, acknowledgedThroughSeq, calls, reports, ledgerTools: options.ledgerTools },
    ...(unresolved === undefined ? {} : { unresolved }),
    recoveredAgain: after.reopened === null ? [] : [after.reopened],
    appended,
    effects,
    isNameDurable: candidate.isNameDurable,
    lostNames,
    requests: after.requests,
    writers: run.record.writers(),
    liveness: after.liveness,
    ...(salvaged === undefined ? {} : { salvaged }),
  };
  const refused = typeof after.liveness === "object" ? after.liveness.refused : null;
  return {
    violations: [...judged(options.judge, trace), ...after.found],
    ...{ refused, recovered, trace, next: [...inRecovery, ...after.next] },
    classes: reports.map((report) => report.class),
    verdicts: reports.flatMap(({ verdict }) => verdict === undefined ? [] : [verdict]),
  };
}

/** A trace that contradicts itself comes of a store that acknowledges what it was not handed, or keeps what nobody appended. */
function judged(judge: Judge, trace: LabTrace): readonly Violation[] {
  try {
    return judge(trace);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ checker: "nothing-invented", message: error.message }];
  }
}

/** Where the journal keeps the log of the lab's session. */
export function logName(compression: Compression): string {
  return `_no-cwd/${LAB_SESSION_ID}/session.v3.jsonl${compression === "zstd" ? ".zstd" : ""}`;
}

/**
 * Lets the medium and the world tell the record, and the watch, what happens.
 *
 * @param options.settlesNames whether the medium makes the session's name durable by itself before anything is appended to the
 * first batch. A medium that defers names may forget it until then, and each later state would be tried with it and without
 */
export function observe(
  medium: SimulatedMedium,
  run: Run,
  log: string,
  watch: CrashWatch | null,
  { settlesNames = false } = {},
): void {
  let owesNames = settlesNames;
  medium.observer = ({ operation, kind, name, process }) => {
    run.steps.take();
    watch?.look(`before operation ${operation} (${kind} ${name})`);
    if (owesNames && name === log && run.record.acknowledgedThroughSeq >= 0) {
      medium.writeBack(); // Everything else is durable at this moment.
      owesNames = false;
    }
    if (name === log && (kind === "write" || kind === "truncate")) run.record.turn(process, "wrote");
    if (name === log && kind === "sync") run.record.synced();
  };
  run.world.observer = watch === null ? null : () => watch.look(`step ${run.steps.now} of the world`);
}

interface After {
  readonly liveness: LabTrace["liveness"];
  readonly reopened: NonNullable<LabTrace["recoveredAgain"]>[number] | null;
  readonly requests: LabTrace["requests"];
  readonly next: readonly Candidate[];
  readonly found: readonly Violation[];
}

const NOTHING_AFTER = { reopened: null, requests: [], next: [], found: [] } as const;

/** The second process after the crash. */
async function goOn(run: Run, medium: SimulatedMedium, first: Opened, options: TrialOptions): Promise<After> {
  if (first.kind === "stuck") return { ...NOTHING_AFTER, liveness: "stuck" };
  run.incarnation++;
  options.harm?.harm(medium);
  const life = new LabProcess(options.workshop, run, medium, options);
  const again = first.kind === "absent" ? await life.create() : await life.resume();
  if (again.kind === "open" && first.kind !== "absent") options.harm?.opened(again.session.session.snapshots);
  const reopened = first.kind === "absent" ? null : {
    ...{ kind: "reopened" as const, how: "opened a second time" },
    files: again.kind === "open" ? medium.snapshot() : null,
  };
  if (again.kind === "stuck" || again.kind === "absent") return { ...NOTHING_AFTER, liveness: "stuck" };
  if (again.kind === "refused") {
    const code = first.kind === "refused" ? first.code : again.code;
    return { ...NOTHING_AFTER, reopened, liveness: { refused: code }, found: await readable(run, medium, options) };
  }
  if (first.kind === "refused") {
    // Nothing stood in the way of the first one but what stands in the way of nobody.
    medium.kill(life.name);
    return { ...NOTHING_AFTER, reopened, liveness: { refused: first.code } };
  }
  const { wentOn, next } = await live(run, medium, life, again.session, options);
  const requests = [...life.model.requests, ...life.model.summaries];
  medium.kill(life.name);
  run.record.turn(life.name, "left");
  return { liveness: wentOn ? "went-on" : "stuck", reopened, requests, next, found: [] };
}

/** The letters, and then one that must go through whatever came before. */
async function live(
  run: Run,
  medium: SimulatedMedium,
  life: LabProcess,
  session: AgentSession,
  options: TrialOptions,
): Promise<{ readonly wentOn: boolean; readonly next: readonly Candidate[] }> {
  const watch = options.letters.length === 0 ? null : options.watch?.(run, medium) ?? null;
  observe(medium, run, options.log, watch);
  watch?.open();
  for (const [index, letter] of options.letters.entries()) {
    const ended = await life.play(session, letter, `${run.incarnation}${letter[0]}${index}`);
    const isExcused = ended.kind === "failed" && options.lockHeldAfterDeath > 0;
    if (ended.kind !== "done" && !isExcused) return { wentOn: false, next: watch?.candidates ?? [] };
  }
  watch?.close();
  if (options.afterwards !== undefined) {
    const ended = await life.clock.run(options.afterwards(session));
    if (ended.kind !== "done") return { wentOn: false, next: [] };
  }
  if (options.mustCompact === true && options.lockHeldAfterDeath === 0) {
    // The first request tells what the recovery wrote, before anything of it is summarised.
    for (const act of [() => life.play(session, "say", `${run.incarnation}y`), () => life.compact(session)]) {
      if ((await act()).kind !== "done") return { wentOn: false, next: watch?.candidates ?? [] };
    }
  }
  // A lock of the dead is refused so many times, also to whoever starts the session anew.
  for (let tries = 0; tries <= options.lockHeldAfterDeath; tries++) {
    const ended = await life.play(session, "say", `${run.incarnation}z${tries}`);
    const outcome = ended.kind === "done" ? ended.value as { readonly reason: { readonly kind: string } } : null;
    if (outcome?.reason.kind === "completed") return { wentOn: true, next: watch?.candidates ?? [] };
  }
  return { wentOn: false, next: watch?.candidates ?? [] };
}

/** What is damaged cannot be written; what was acknowledged can be read all the same, through the public interface. */
async function readable(run: Run, medium: SimulatedMedium, options: TrialOptions): Promise<readonly Violation[]> {
  const life = new LabProcess(options.workshop, run, medium, options);
  const { acknowledgedThroughSeq } = run.record;
  const found = await life.readThrough();
  medium.kill(life.name);
  if (found >= acknowledgedThroughSeq) return [];
  const message =
    `the damaged session can be read through seq ${found}, and seq ${acknowledgedThroughSeq} was acknowledged`;
  return [{ checker: "acknowledged-kept", message }];
}
