/**
 * The crash lab for an agent of one's own: its tools, its model, what a person says to it, under every crash.
 *
 * @module
 */
import type { AgentSession, Approver, Model, Tool } from "../../../mod.ts";
import { portableZstd } from "../../entry/over_storage.ts";
import type { KeyedTarget, KeyState, OrderAnswer } from "../../tools/pack/keyed_target.ts";
import { createJudge, type Violation } from "../judge/mod.ts";
import { type SimulatedMedium, simulatedMedium } from "../media/mod.ts";
import { digestOf } from "./digest_of.ts";
import { LabProcess, type Workshop } from "./lab_process.ts";
import { keepsName, Run } from "./moment.ts";
import { withQuickDigests } from "./quick_digest.ts";
import { remembering } from "./remembering.ts";
import { StageDoor } from "./stage.ts";
import { logName, observe, type Tried, tryState } from "./trial.ts";
import { type Compression, MEDIA, type MediumKind } from "./unit.ts";

/** How many crash states are tried unless the caller says otherwise; they are spread over all there are. */
export const CRASH_LAB_STATES_DEFAULT = 400;

/** How much of a content is decoded. */
const CONTENT_BYTES_MAX = 64 * 1024 * 1024;

/** The world of one run: what took effect in it is what everything said about an effect is held against. */
export interface CrashWorld {
  /**
   * A target that keeps keys, as a bank that was built for it: it does a thing at most once for each key, and it can close a key.
   *
   * @param tool the name of the tool that uses it
   */
  target<Order>(tool: string): KeyedTarget<Order>;
  /**
   * For a target of one's own: the effect of a call happened, now.
   *
   * @param tool the name of the tool whose body asked for it
   */
  happened(tool: string, effectKey: string, callId: string): void;
}

/** What {@linkcode crashLab} runs. */
export interface CrashLabOptions {
  /** The agent's tools, made anew for each run. They wait for nothing but each other and their world: no timers, no network. */
  readonly tools: (world: CrashWorld) => readonly Tool[];
  /** The agent's model, made anew for each process. */
  readonly model: () => Model;
  /** What a person does, in a new session. */
  readonly script: (session: AgentSession) => Promise<unknown>;
  /** What a person does in the session after a crash, under the model, made anew. Default: says something, and gets an answer. */
  readonly afterwards?: (session: AgentSession) => Promise<unknown>;
  /** Default: everything is allowed once. */
  readonly approvers?: readonly Approver[];
  /** Default: both. */
  readonly media?: readonly MediumKind[];
  /** Default `"zstd"`. */
  readonly compression?: Compression;
  /** Default 1. */
  readonly seed?: number;
  /** Default {@linkcode CRASH_LAB_STATES_DEFAULT}; `Infinity` tries all there are. */
  readonly statesMax?: number;
}

/** What {@linkcode crashLab} saw. */
export interface CrashLabReport {
  /** How many states were tried, and how many there are. */
  readonly states: number;
  readonly possibleStates: number;
  /** How many of them the format calls damage: such a log is read, and not written any more. */
  readonly refused: number;
  /** How often each class was said about a call, and each verdict of a lookup. */
  readonly said: Readonly<Record<string, number>>;
  /** Broken promises: none, unless a tool or Holdfast is wrong. */
  readonly violations: readonly CrashLabViolation[];
}

/** A broken promise, and after which crash. */
export interface CrashLabViolation extends Violation {
  readonly medium: MediumKind;
  /** The call of the medium before which the crash came, from 0. */
  readonly operation: number;
  /** What the crash left. */
  readonly state: string;
}

/**
 * Runs an agent again and again, crashes it before each call it makes to its disk, and tries what the crash can leave: the session
 * is opened and repaired, the tools are asked about what is unknown, it is opened again and goes on. A judge that shares no code
 * with any of this holds what was said against the bytes and the world.
 *
 * @throws what the script throws when nothing crashes
 *
 * @example
 * ```ts
 * import { scripted } from "../../../mod.ts";
 * import { payTool } from "../../tools/pack/payment.ts";
 * import { crashLab } from "./crash_lab.ts";
 *
 * const report = await crashLab({
 *   tools: (world) => [payTool(world.target("pay"))],
 *   model: () => scripted([[{ call: { name: "pay", arguments: { to: "alice", amount: 10 } } }], [{ text: "Paid." }]]),
 *   script: (session) => session.send("pay alice"),
 *   statesMax: 60,
 * });
 * if (report.violations.length > 0) throw new Error(JSON.stringify(report.violations, null, 2));
 * ```
 */
export function crashLab(options: CrashLabOptions): Promise<CrashLabReport> {
  return withQuickDigests(async () => {
    const { media = MEDIA, statesMax = CRASH_LAB_STATES_DEFAULT } = options;
    const report = { states: 0, possibleStates: 0, refused: 0, said: {} as Record<string, number> };
    const violations: CrashLabViolation[] = [];
    const parts = new Parts(options);
    for (const medium of media) {
      const counts = await parts.rehearse(medium);
      const possible = counts.reduce((sum, count) => sum + count, 0);
      report.possibleStates += possible;
      const wanted = Math.min(possible, Math.ceil(statesMax / media.length));
      for (let index = 0; index < wanted; index++) {
        let number = Math.floor((index + 0.5) * possible / wanted);
        let operation = 0;
        while (number >= counts[operation]!) number -= counts[operation++]!;
        const { tried, state } = await parts.crash(medium, operation, number);
        report.states++;
        if (tried.refused !== null) report.refused++;
        for (const said of [...tried.classes, ...tried.verdicts]) report.said[said] = (report.said[said] ?? 0) + 1;
        for (const found of tried.violations) violations.push({ ...found, medium, operation, state });
      }
    }
    return { ...report, violations };
  });
}

/** What all runs share. */
class Parts {
  readonly #options: CrashLabOptions;
  readonly #compression: Compression;
  readonly #codec = remembering(portableZstd());
  readonly #judge: ReturnType<typeof createJudge>;

  constructor(options: CrashLabOptions) {
    this.#options = options;
    this.#compression = options.compression ?? "zstd";
    this.#judge = createJudge({ decodeFrame: (frame) => this.#codec.decompress(frame, CONTENT_BYTES_MAX) });
  }

  /** How many states a crash before each call of the medium can leave; the last is a crash after all of them. */
  async rehearse(kind: MediumKind): Promise<readonly number[]> {
    const counts: number[] = [];
    const { medium, ended } = await this.#live(kind, (medium) => {
      medium.observer = () => counts.push(medium.countCrashStates());
    });
    if (ended.kind === "failed") throw ended.error;
    if (ended.kind === "stuck") throw new Error("Cannot run the script: it waits for something that nobody does");
    counts.push(medium.countCrashStates());
    return counts;
  }

  /** Runs until a crash, and tries one of the states it can leave. */
  async crash(kind: MediumKind, operation: number, number: number): Promise<{ tried: Tried; state: string }> {
    const { medium, run, workshop, ledgerTools } = await this.#live(kind, (medium, run) => {
      observe(medium, run, this.#log, null);
      medium.failAt({ operation, kind: "crash" });
    });
    if (!medium.isDead) medium.crash();
    const state = medium.crashStateAt(number);
    const isNameDurable = keepsName(run, medium, this.#log);
    const tried = await tryState({ run, state, isNameDurable, isDurable: true, fates: [], at: "" }, {
      ...{ workshop, judge: this.#judge, medium: kind, log: this.#log, ledgerTools: [...ledgerTools] },
      ...{ lockHeldAfterDeath: 0, letters: [], watch: null, isChancy: false },
      ...{ compression: this.#compression, seed: this.#seed },
      afterwards: this.#options.afterwards,
    });
    return { tried, state: state.describe() };
  }

  get #seed(): number {
    return this.#options.seed ?? 1;
  }

  get #log(): string {
    return logName(this.#compression);
  }

  /** One run of the script, from the beginning, in a world of its own. */
  async #live(kind: MediumKind, prepare: (medium: SimulatedMedium, run: Run) => void) {
    const { tools, model, script, approvers } = this.#options;
    const door = new StageDoor();
    const ledgerTools = new Set<string>();
    const workshop: Workshop = {
      ...{ door, codec: this.#codec, tools: tools(worldBehind(door, ledgerTools)), model },
      approvers: approvers ?? [() => "allowed-once"],
    };
    const medium = simulatedMedium({ kind, seed: this.#seed });
    const run = new Run();
    prepare(medium, run);
    const life = new LabProcess(workshop, run, medium, {
      ...{ compression: this.#compression, seed: this.#seed, isChancy: false },
    });
    const opened = await life.create();
    const ended = opened.kind === "open" ? await life.clock.run(script(opened.session), PATIENCE_TASKS) : NEVER_OPENED;
    return { medium, run, workshop, ledgerTools, ended };
  }
}

const NEVER_OPENED = { kind: "stuck" } as const;

/** Tools of strangers may take a detour through the task queue: so many tasks are waited for before they count as stuck. */
const PATIENCE_TASKS = 100;

/** The world of whoever runs, as tools see it. */
function worldBehind(door: StageDoor, ledgerTools: Set<string>): CrashWorld {
  const arrive = (tool: string, effectKey: string, callId: string, argsDigest: string) => {
    const { world, incarnation } = door.stage;
    return world.arrive({ ...{ effectKey, tool, callId, incarnation, argsDigest }, dedupe: "by-key" });
  };
  return {
    target<Order>(tool: string): KeyedTarget<Order> {
      ledgerTools.add(tool);
      return {
        perform: (key, order): Promise<OrderAnswer> =>
          Promise.resolve(arrive(tool, key, door.stage.record.callOf(key), digestOf(JSON.stringify(order)))),
        close: (key): Promise<KeyState> => Promise.resolve(door.stage.world.close(key)),
      };
    },
    happened(tool, effectKey, callId) {
      ledgerTools.add(tool);
      const { world, incarnation } = door.stage;
      world.arrive({ ...{ effectKey, tool, callId, incarnation, argsDigest: "" }, dedupe: "never" });
    },
  };
}
