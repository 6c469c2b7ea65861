/**
 * One run up to some moment, and the moments at which a crash can come.
 *
 * @module
 */
import type { CrashState, SimulatedMedium } from "../media/mod.ts";
import { Record } from "./record.ts";
import { LATE_FATES, type LateFate, type Order, Steps, World } from "./world.ts";

/** A run: what happened in it so far, apart from the medium. */
export class Run {
  readonly steps: Steps;
  readonly record: Record;
  readonly world: World;
  /** The process that runs now, counted from 0. */
  incarnation: number;
  /** Whether somebody who is no process of ours may remove files in this run. */
  hasRemover: boolean;
  /** Names that crashes took, because the medium had not made them durable. */
  lostNames: readonly string[];

  /** A fresh one, or a copy. */
  constructor(other?: Run) {
    this.steps = new Steps(other?.steps.now);
    this.record = other === undefined ? new Record(this.steps) : other.record.fork(this.steps);
    this.world = other === undefined ? new World(this.steps) : other.world.fork(this.steps);
    this.incarnation = other?.incarnation ?? 0;
    this.hasRemover = other?.hasRemover ?? false;
    this.lostNames = other?.lostNames ?? [];
  }

  /** The same run at the same moment, to go on by itself. */
  fork(): Run {
    return new Run(this);
  }

  /** The run that begins where the medium forgot everything: the same clock, the next process, and nothing that was promised. */
  anew(): Run {
    const run = new Run();
    run.steps.now = this.steps.now;
    run.incarnation = this.incarnation;
    run.hasRemover = this.hasRemover;
    return run;
  }
}

/** A state that a crash can leave: what the disk holds, what the world is like, what anybody was promised. */
export interface Candidate {
  readonly run: Run;
  readonly state: CrashState;
  /** Whether everything in it is durable. After a kill it need not be, and a later power cut may take it. */
  readonly isDurable: boolean;
  /** See {@linkcode keepsName}. */
  readonly isNameDurable: boolean;
  /** What becomes of each request that is under way. */
  readonly fates: readonly LateFate[];
  /** When it is, for a person. */
  readonly at: string;
}

/**
 * Whether nothing excuses that a log is gone. A medium of browsers makes names durable in its own time; on any other, whoever says
 * that an event is durable says so of the name, too. What a person removed is gone, whatever was promised.
 */
export function keepsName(run: Run, medium: SimulatedMedium, log: string): boolean {
  return (medium.kind === "posix" && !run.hasRemover) || medium.isNameDurable(log);
}

/** How the key of a state begins that a kill leaves, and no power cut. */
export const KILLED = "killed";

/** How many requests under way have all their fates tried; of more, the others are lost. */
const FATES_MAX = 2;

/** Of the states that are possible at one moment, those that are looked at. */
export type StateChoice = (medium: SimulatedMedium) => Iterable<CrashState>;

/** Collects the states that crashes can leave while a process runs. */
export class CrashWatch {
  readonly #run: Run;
  readonly #medium: SimulatedMedium;
  readonly #log: string;
  readonly #choose: StateChoice;
  readonly #found = new Map<string, Candidate>();
  readonly #known = new Set<string>();
  #isOpen = false;

  /** @param log the full name of the session's log */
  constructor(run: Run, medium: SimulatedMedium, log: string, choose: StateChoice) {
    this.#run = run;
    this.#medium = medium;
    this.#log = log;
    this.#choose = choose;
  }

  /** From now on; what is possible at this very moment was possible before, and is left out. */
  open({ withNow = false } = {}): void {
    this.#isOpen = true;
    if (withNow) return;
    this.look("");
    for (const key of this.#found.keys()) this.#known.add(key);
    this.#found.clear();
  }

  close(): void {
    this.#isOpen = false;
  }

  /**
   * Something is about to happen, or has happened: everything a crash could leave now.
   *
   * @param choose which of it is looked at; default what the watch was made with
   */
  look(at: string, choose: StateChoice = this.#choose): void {
    if (!this.#isOpen) return;
    const { world, record } = this.#run;
    const around = `${world.ledger.length}.${
      world.flying.map(({ callId }) => callId)
    }.${record.acknowledgedThroughSeq}`;
    let run: Run | null = null;
    let number = 0;
    for (const state of choose(this.#medium)) {
      const place = `${at}, state ${number++}`;
      const key = `${state.key} ${around}`;
      if (this.#known.has(key)) continue;
      this.#known.add(key);
      run ??= this.#run.fork();
      const isDurable = !state.key.startsWith(KILLED);
      const found = { run, state, isDurable, isNameDurable: keepsName(this.#run, this.#medium, this.#log), at: place };
      for (const fates of fatesOf(world.flying)) this.#found.set(`${key} ${fates}`, { ...found, fates });
    }
  }

  /** Collects a state that no power cut leaves, such as what a kill does. */
  add(candidate: Candidate): void {
    this.#found.set(`+${this.#found.size}`, candidate);
  }

  /** What was collected, in the order in which it became possible. */
  get candidates(): readonly Candidate[] {
    return [...this.#found.values()];
  }
}

/** Every combination of what can become of the requests that are under way. */
function* fatesOf(flying: readonly Order[], from = 0): Generator<readonly LateFate[]> {
  if (from === flying.length) return yield [];
  for (const rest of fatesOf(flying, from + 1)) {
    for (const fate of from < FATES_MAX ? LATE_FATES : ["lost" as const]) yield [fate, ...rest];
  }
}
