/**
 * The bench of the lab: runs units, tries their states, and counts what it saw.
 *
 * @module
 */
import type { ZstdCodec } from "../../frame/zstd_codec.ts";
import { portableZstd } from "../../entry/over_storage.ts";
import { createJudge, type Files, type Violation } from "../judge/mod.ts";
import { type CrashBounds, type CrashState, type SimulatedMedium, simulatedMedium } from "../media/mod.ts";
import { diceOf, seedFrom } from "./dice.ts";
import { rest } from "./lab_clock.ts";
import { dumpTool, labTools, LEDGER_TOOLS } from "./lab_tools.ts";
import { LabProcess, type Workshop } from "./lab_process.ts";
import { COMPACTING } from "./letters.ts";
import { type Candidate, CrashWatch, KILLED, Run, type StateChoice } from "./moment.ts";
import { remembering } from "./remembering.ts";
import { StageDoor } from "./stage.ts";
import { logName, observe, type TrialOptions, type Tried, tryState } from "./trial.ts";
import { type HarmCounts, SnapshotHarm } from "./snapshot_harm.ts";
import type { Unit } from "./unit.ts";

/** How many states of each life are tried in a `random` unit, and how many of the recovery of each. */
export const RANDOM_STATES_PER_LIFE = 24;
/** How many states that a crash in a recovery leaves are tried of each recovery of a `random` unit. */
export const RANDOM_STATES_PER_RECOVERY = 3;
/** How often what a life leaves at its end is looked at, where states are drawn: a failing call shows there. */
export const END_LOOKS = 8;

/** How many states are tried in one task: then memory that nobody needs is let go, and timers and messages have their turn. */
const TRIALS_PER_TASK = 32;

/** What the bench can be given instead of what it has. */
export interface BenchOptions {
  /** Default: the portable one. */
  readonly codec?: ZstdCodec;
  /** Decodes one whole zstd frame for the judge. Default: the codec's; better one that shares nothing with the code under test. */
  readonly decodeFrame?: (frame: Uint8Array) => Uint8Array;
  /** How far the crash states of a medium are enumerated; default those of the medium. */
  readonly bounds?: Partial<CrashBounds>;
  /** `false`: targets say that a key is closed and take an order under it all the same. To see that this is found. Default `true`. */
  readonly keepsClosed?: boolean;
  /** Whether processes write snapshots whenever they can, and something happens to them between processes. Default false. */
  readonly harmsSnapshots?: boolean;
}

/** One state that was tried. */
export interface Trial {
  readonly unit: Unit;
  /** Its number within the unit. */
  readonly number: number;
  /** When the crash came and what it left, for a person. */
  readonly describe: () => string;
  readonly tried: Tried;
  readonly violations: readonly Violation[];
}

/** How much of a content a judge decodes. */
const CONTENT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Runs units and tries their states. One per thread: it remembers what it has decoded.
 *
 * @example
 * ```ts
 * import { LabBench } from "./bench.ts";
 * import { parseUnit } from "./unit.ts";
 *
 * const bench = new LabBench();
 * for await (const { violations } of bench.run(parseUnit("fault:opfs:zstd:say:3.EIO", 1))) {
 *   if (violations.length > 0) throw new Error(violations[0]!.message);
 * }
 * ```
 */
export class LabBench {
  readonly #workshop: Workshop;
  /** With the tool that the letters of long conversations call. */
  readonly #longWorkshop: Workshop;
  readonly #judge: TrialOptions["judge"];
  readonly #keepsClosed: boolean;
  readonly #bounds: Partial<CrashBounds>;
  readonly #harmsSnapshots: boolean;
  /** What happens to the snapshots of the unit that runs now. */
  #harm: SnapshotHarm | null = null;

  constructor(options: BenchOptions = {}) {
    const codec = options.codec ?? portableZstd();
    const door = new StageDoor();
    this.#workshop = { door, tools: labTools(door), codec: remembering(codec) };
    this.#longWorkshop = { ...this.#workshop, tools: [...this.#workshop.tools, dumpTool(door)] };
    const decodeFrame = options.decodeFrame ?? ((frame: Uint8Array) => codec.decompress(frame, CONTENT_BYTES_MAX));
    this.#judge = createJudge({ decodeFrame });
    this.#bounds = options.bounds ?? {};
    this.#keepsClosed = options.keepsClosed ?? true;
    this.#harmsSnapshots = options.harmsSnapshots ?? false;
  }

  /** Runs one unit: every state it tries, in an order that is always the same. */
  async *run(unit: Unit): AsyncGenerator<Trial> {
    let number = 0;
    await rest();
    this.#harm = this.#harmsSnapshots ? await this.#harmOf(unit) : null;
    for await (const { candidate, tried, rejudged } of this.#states(unit)) {
      if (number % TRIALS_PER_TASK === 0) await rest();
      yield {
        unit,
        number: number++,
        describe: () => `${candidate.at} [${candidate.fates}]: ${candidate.state.describe()}`,
        tried,
        violations: [...tried.violations, ...rejudged],
      };
    }
  }

  /** How many operations of the medium the life of a unit takes, when none fails. */
  async countOperations(unit: Unit): Promise<number> {
    const { medium } = await this.#firstLife({ ...unit, kind: "all" }, () => []);
    return medium.operations;
  }

  /** How many states of its first life a unit tries: of an `all` unit, all its states. */
  async countStates(unit: Unit): Promise<number> {
    await rest();
    return (await this.#firstLife(unit, this.#choice(unit, 0))).watch.candidates.length;
  }

  async *#states(unit: Unit): AsyncGenerator<State> {
    const log = logName(unit.compression);
    const { watch } = await this.#firstLife(unit, this.#choice(unit, 0));
    yield* this.#tryAll(unit, log, watch.candidates, 0);
  }

  /** Tries states, and in a `random` unit the states that follow from them. */
  async *#tryAll(unit: Unit, log: string, candidates: readonly Candidate[], life: number): AsyncGenerator<State> {
    for (const candidate of candidates) {
      const isRandom = unit.kind === "random";
      const letters = unit.lives[life + 1] ?? [];
      const dice = diceOf(seedFrom(unit.seed, life, candidate.run.steps.now));
      const tried = await tryState(candidate, {
        ...this.#options(unit, log),
        letters,
        lockHeldAfterDeath: isRandom ? dice.below(3) : 0,
        watch: this.#watchOf(unit, log, candidate, life),
      });
      yield { candidate, tried, rejudged: [] };
      const next = sample(tried.next, RANDOM_STATES_PER_RECOVERY, dice);
      for (const inner of next) {
        const isInRecovery = inner.run.incarnation === candidate.run.incarnation + 1 &&
          (candidate.isDurable || holdsAll(inner.state.files(), tried.trace.image, log));
        for await (const state of this.#tryAll(unit, log, [inner], life + 1)) {
          // The crash before this one: whatever died on the way, the log says the same in the end.
          // One that left damage behind says so itself.
          const rejudged = isInRecovery && state.candidate === inner && state.tried.refused === null
            ? this.#judge({
              ...tried.trace,
              recoveredAgain: [{
                ...{ kind: "crashed" as const, how: `recovery crashed ${inner.at}` },
                ...{ files: state.tried.recovered, lostNames: inner.state.lostNames() },
              }],
            })
            : [];
          yield { ...state, rejudged: [...state.rejudged, ...rejudged] };
        }
      }
    }
  }

  /** What is watched for further crashes: in a `random` unit each life but the last, and elsewhere what follows a kill. */
  #watchOf(unit: Unit, log: string, { isDurable }: Candidate, life: number): TrialOptions["watch"] {
    if (unit.kind === "random" && life < unit.lives.length - 1) {
      return (run, medium) => new CrashWatch(run, medium, log, this.#choice(unit, life + 1));
    }
    return isDurable ? null : (run, medium) => new CrashWatch(run, medium, log, () => []);
  }

  /** Harm that knows the snapshots of other lives: the same letters and fewer of them, with other dice, under the same header. */
  async #harmOf(unit: Unit): Promise<SnapshotHarm> {
    const harm = new SnapshotHarm(logName(unit.compression), seedFrom(unit.seed, 55));
    const [first = []] = unit.lives;
    for (let count = 1; count <= first.length; count++) {
      const { fault: _, ...sound } = unit;
      const other = { ...sound, kind: "random" as const, seed: seedFrom(unit.seed, 56 + count) };
      harm.remember((await this.#firstLife({ ...other, lives: [first.slice(0, count)] }, () => [])).medium);
    }
    return harm;
  }

  /** How often what was done to the snapshots of the unit that ran last; `null` where nothing was. */
  get harmCounts(): HarmCounts | null {
    return this.#harm?.counts ?? null;
  }

  /** The life before the first crash, and the states it can leave. */
  async #firstLife(
    unit: Unit,
    choose: StateChoice,
  ): Promise<{ readonly watch: { readonly candidates: readonly Candidate[] }; readonly medium: SimulatedMedium }> {
    const log = logName(unit.compression);
    const medium = simulatedMedium({ kind: unit.medium, seed: unit.seed + 1, bounds: this.#bounds });
    const run = new Run();
    run.world.keepsClosed = this.#keepsClosed;
    run.hasRemover = unit.fault?.kind === "vanished";
    const watch = new CrashWatch(run, medium, log, choose);
    observe(medium, run, log, watch, {
      settlesNames: unit.medium === "opfs" && (unit.kind !== "random" || unit.seed % 4 !== 0),
    });
    if (unit.fault !== undefined) {
      const { operation, kind, isSticky } = unit.fault;
      medium.failAt({ operation, kind, sticky: isSticky });
    }
    const options = this.#options(unit, log);
    const life = new LabProcess(options.workshop, run, medium, options);
    const letters = unit.lives[0]!;
    const opened = await life.create();
    if (opened.kind !== "open") {
      if (unit.fault === undefined) throw new Error(`Cannot begin a life: the session is ${opened.kind}`);
      return { watch, medium };
    }
    if (unit.kind !== "all" || letters.length < 2) watch.open({ withNow: unit.kind !== "all" });
    for (const [index, letter] of letters.entries()) {
      if (unit.kind === "all" && index > 0 && index === letters.length - 1) watch.open();
      const ended = await life.play(opened.session, letter, `0${letter[0]}${index}`);
      // A call of the medium that fails may fail a turn. It must not hang it.
      if (ended.kind === "stuck" || (unit.fault === undefined && ended.kind !== "done")) {
        throw new Error(`Cannot live through "${letter}": it ${ended.kind}`, { cause: ended });
      }
    }
    medium.heal();
    const looks = unit.kind === "all" ? 1 : END_LOOKS;
    for (let look = 0; look < looks; look++) watch.look("at the end");
    if (unit.kind === "fault") {
      // The page cache lives on: a kill, not a power cut.
      const state = killedNow(medium);
      watch.add({
        isNameDurable: !run.hasRemover, // No power cut: the cache has every name.
        isDurable: false,
        ...{ run: run.fork(), fates: [], at: "killed at the end" },
        state,
      });
    }
    watch.close();
    await life.close(opened.session);
    medium.kill(life.name);
    if (unit.kind !== "random") return { watch, medium };
    const dice = diceOf(seedFrom(unit.seed, 77));
    return { watch: { candidates: sample(watch.candidates, RANDOM_STATES_PER_LIFE, dice) }, medium };
  }

  /** Which of the states of one moment are looked at: all, or now and then one that is drawn. */
  #choice(unit: Unit, life: number): StateChoice {
    if (unit.kind === "all") return (medium) => medium.crashStates();
    const dice = diceOf(seedFrom(unit.seed, 1 + life));
    const outOf = unit.kind === "fault" ? 4 : life === 0 ? 2 : 6;
    return (medium) => {
      if (!dice.oneIn(outOf)) return [];
      return [unit.kind === "random" && dice.oneIn(3) ? killedNow(medium) : medium.randomCrashState(dice)];
    };
  }

  #options(unit: Unit, log: string): TrialOptions {
    const { medium, compression, seed, kind } = unit;
    const isLong = unit.lives.flat().some((letter) => COMPACTING.includes(letter));
    return {
      ...{ mustCompact: isLong, workshop: isLong ? this.#longWorkshop : this.#workshop },
      ...{ judge: this.#judge, medium, compression, seed, log, ledgerTools: LEDGER_TOOLS },
      ...{ lockHeldAfterDeath: 0, letters: [], watch: null, isChancy: kind === "random" },
      ...(this.#harmsSnapshots ? { hasSnapshots: true, harm: this.#harm ?? undefined } : {}),
    };
  }
}

interface State {
  readonly candidate: Candidate;
  readonly tried: Tried;
  readonly rejudged: readonly Violation[];
}

/** Whether a power cut after a kill took nothing of what the kill had left of a log and the copies of its torn ends. */
function holdsAll(left: Files, killed: Files, log: string): boolean {
  for (const [name, bytes] of killed) {
    if (!name.startsWith(log)) continue;
    const now = left.get(name);
    if (now === undefined || now.length < bytes.length || !bytes.every((byte, index) => now[index] === byte)) {
      return false;
    }
  }
  return true;
}

/** What a kill of all processes leaves: everything that was written, and what waited for a sync waits on. No power cut leaves it. */
function killedNow(medium: SimulatedMedium): CrashState {
  const killed = medium.afterKill();
  return {
    key: `${KILLED} before operation ${medium.operations}`,
    describe: () => "killed: everything written",
    lostNames: () => [],
    files: () => killed.snapshot(),
    medium: (restart) => killed.afterKill(restart),
  };
}

/** At most `count` of some items, drawn, in their order. */
function sample<Item>(items: readonly Item[], count: number, dice: { below(limit: number): number }): readonly Item[] {
  if (items.length <= count) return items;
  const chosen = new Set<number>();
  while (chosen.size < count) chosen.add(dice.below(items.length));
  return items.filter((_, index) => chosen.has(index));
}
