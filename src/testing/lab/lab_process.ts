/**
 * One process of a run: a store on the simulated medium, an agent, and the session it opens.
 *
 * @module
 */
import {
  type Agent,
  type AgentSession,
  type Approver,
  createAgent,
  type EventPage,
  hasCode,
  type Model,
  type ModelRequest,
  scripted,
  type ScriptStep,
  type SessionStore,
  type StorageFile,
  type StoragePort,
  type Tool,
} from "../../../mod.ts";
import { openStoreOver } from "../../entry/over_storage.ts";
import type { ZstdCodec } from "../../frame/zstd_codec.ts";
import type { SimulatedMedium } from "../media/mod.ts";
import { type Dice, diceOf, seedFrom } from "./dice.ts";
import { type Ended, LabClock } from "./lab_clock.ts";
import { LAB_INLINE_BYTES_MAX } from "./lab_tools.ts";
import { type Letter, REPEATING, repeatStep, stepsOf, traitsOf } from "./letters.ts";
import type { Run } from "./moment.ts";
import type { StageDoor } from "./stage.ts";
import type { Compression } from "./unit.ts";
import { WatchedStore } from "./watched_store.ts";
import type { World } from "./world.ts";

/** The id of the session that every run is about. */
export const LAB_SESSION_ID = "s";

/** What the processes of one thread share. */
export interface Workshop {
  readonly door: StageDoor;
  readonly tools: readonly Tool[];
  readonly codec: ZstdCodec;
  /** Another model than the lab's, made anew for each process. */
  readonly model?: () => Model;
  /** Others than the lab's. */
  readonly approvers?: readonly Approver[];
}

/** How often a lock of the dead is tried for before it counts as never let go: it may be several locks, each refused some times. */
const LOCK_TRIES_MAX = 8;

/** How a process is set up. */
export interface ProcessOptions {
  readonly compression: Compression;
  readonly seed: number;
  /** Whether the medium, the world and the people take their time, and fail to answer now and then. */
  readonly isChancy: boolean;
  /** How often a lock of the dead is refused. Default 0: then the first try has to succeed. */
  readonly lockHeldAfterDeath?: number;
  /** Whether snapshots are written as soon as a log grows, instead of when it pays. Default false: sessions of the lab are short. */
  readonly hasSnapshots?: boolean;
}

/** How opening the session ended. */
export type Opened =
  | { readonly kind: "open"; readonly session: AgentSession }
  /** There is no log: nothing of the session became durable. */
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "stuck" };

/** See the module. */
export class LabProcess {
  readonly name: string;
  readonly clock: LabClock;
  readonly model: LabModel;
  readonly #run: Run;
  readonly #store: SessionStore;
  readonly #agent: Agent;
  readonly #lockTriesMax: number;
  /** What the person who is asked answers now. */
  #answer: "allowed-once" | "rejected" = "allowed-once";

  constructor(workshop: Workshop, run: Run, medium: SimulatedMedium, options: ProcessOptions) {
    const { incarnation, record, world } = run;
    const seed = seedFrom(options.seed, incarnation);
    const chance = options.isChancy ? diceOf(seed + 1) : null;
    this.name = `p${incarnation}`;
    this.#lockTriesMax = (options.lockHeldAfterDeath ?? 0) > 0 ? LOCK_TRIES_MAX : 1;
    this.#run = run;
    this.clock = new LabClock(chance);
    this.model = new LabModel(workshop.model?.() ?? null);
    const storage = watched(medium.open(this.name), (what) => record.turn(this.name, what));
    if (chance !== null) slowDown(storage, this.clock, chance);
    const runtime = { clock: this.clock, random: diceOf(seed) };
    const limits = options.hasSnapshots === true ? { snapshotGrowthEvents: 1 } : undefined;
    const store = openStoreOver({
      ...{ storage, codec: workshop.codec, compression: options.compression, runtime, limits },
    });
    this.#store = new WatchedStore(store, record, incarnation);
    this.#agent = createAgent({
      store: this.#store,
      model: this.model,
      tools: workshop.tools,
      spill: { maxInlineBytes: LAB_INLINE_BYTES_MAX },
      approvers: (workshop.approvers ?? [async () => {
        if (chance !== null) await this.clock.pause(chance.below(400));
        return this.#answer;
      }]).map((approver) => remembered(approver, world)),
    });
    workshop.door.enter({ incarnation, world, clock: this.clock, chance, record });
  }

  /** Starts the session. */
  async create(): Promise<Opened> {
    return openedBy(await this.clock.run(this.#agent.create({ id: LAB_SESSION_ID })));
  }

  /** Goes on with the session; waits for a lock that a dead process seems to have. */
  async resume(): Promise<Opened> {
    for (let tries = 1;; tries++) {
      const opened = openedBy(await this.clock.run(this.#agent.resume(LAB_SESSION_ID)));
      const isHeld = opened.kind === "refused" && opened.code === "LOCK_HELD";
      if (!isHeld || tries >= this.#lockTriesMax) return opened;
    }
  }

  /**
   * Lives through the batch of one letter.
   *
   * @param mark tells it apart from every other batch of the run
   */
  async play(session: AgentSession, letter: Letter, mark: string): Promise<Ended<unknown>> {
    const { answer, isCancelled, isCompacted = false } = traitsOf(letter);
    this.#answer = answer;
    const unknown = session.session.folds.unresolved.effects.findLast(({ isClosed }) => isClosed);
    const isRepeated = REPEATING.includes(letter) && unknown !== undefined;
    this.model.play(isRepeated ? [repeatStep(mark, unknown)] : stepsOf(letter, mark));
    const { world } = this.#run;
    const look = world.observer;
    if (isCancelled) {
      world.observer = () => {
        look?.();
        if (world.flying.length > 0) queueMicrotask(() => session.cancel());
      };
    }
    const ended = await this.clock.run(session.send(letter));
    world.observer = look;
    return isCompacted && ended.kind === "done" ? await this.compact(session) : ended;
  }

  /** Compacts as a person does, between turns. That there is nothing to compact is fine. */
  async compact(session: AgentSession): Promise<Ended<unknown>> {
    return await this.clock.run(session.compact());
  }

  /** The last seq that reading gives; −1 when there is no event or no log that can be read. */
  async readThrough(): Promise<number> {
    const read = async () => {
      const log = await this.#store.open(LAB_SESSION_ID, "read");
      let last = -1;
      for (let from: number | null = 0; from !== null;) {
        const page: EventPage = await log.read({ from });
        last = page.events.at(-1)?.seq ?? last;
        from = page.nextFrom;
      }
      return last;
    };
    const ended = await this.clock.run(read());
    return ended.kind === "done" ? ended.value : -1;
  }

  /** Ends the session as one does who leaves in peace. */
  async close(session: AgentSession): Promise<Ended<void>> {
    return await this.clock.run(session.close());
  }
}

function openedBy(ended: Ended<AgentSession>): Opened {
  switch (ended.kind) {
    case "done":
      return { kind: "open", session: ended.value };
    case "failed": {
      if (hasCode(ended.error, "NOT_FOUND")) return { kind: "absent" };
      const code = (ended.error as { readonly code?: unknown } | null)?.code;
      // Whatever is no refusal of ours is a fault of ours.
      if (typeof code !== "string") throw ended.error;
      return { kind: "refused", code };
    }
    default:
      return { kind: "stuck" };
  }
}

/** A model that plays one script after the other and keeps what it was asked. Where a script is over it has nothing more to do. */
export class LabModel implements Model {
  readonly provider = "lab";
  readonly id = "m";
  readonly requests: ModelRequest[] = [];
  /** What it was asked to summarise. */
  readonly summaries: ModelRequest[] = [];
  /** Answers until a script is played. */
  #first: Model | null;
  #steps: readonly ScriptStep[] = [];
  #next = 0;

  constructor(first: Model | null = null) {
    this.#first = first;
  }

  /** What it answers from now on. */
  play(steps: readonly ScriptStep[]): void {
    this.#first = null;
    this.#steps = steps;
    this.#next = 0;
  }

  async *stream(
    request: ModelRequest,
    signal: AbortSignal,
  ): ReturnType<Model["stream"]> extends infer Stream
    ? Stream extends AsyncIterable<infer Chunk> ? AsyncGenerator<Chunk> : never
    : never {
    if (request.purpose === "compaction") {
      this.summaries.push(request);
      return yield* scripted([SUMMARY]).stream(request, signal);
    }
    this.requests.push(request);
    if (this.#first !== null) return yield* this.#first.stream(request, signal);
    yield* scripted([this.#steps[this.#next++] ?? IDLE]).stream(request, signal);
  }
}

const IDLE: ScriptStep = [{ text: "ok" }];
/** The shortest there is: where anything can be compacted at all, this is smaller. */
const SUMMARY: ScriptStep = [{ text: "." }];

/** An approver of whom the world remembers what was allowed. */
function remembered(approver: Approver, { granted }: World): Approver {
  return async (request, signal) => {
    const answer = await approver(request, signal);
    if (answer === "allowed-once" && request.callId !== undefined) granted.add(request.callId);
    return answer;
  };
}

/** Says when the process has its lock and when it has it no more. */
function watched(storage: StoragePort, tell: (what: "took" | "left") => void): StoragePort {
  const lock = storage.lock.bind(storage);
  const close = storage.close.bind(storage);
  let held = 0;
  const left = () => {
    if (held > 0) tell("left");
    held = 0;
  };
  storage.lock = async (name) => {
    const taken = await lock(name);
    held++;
    tell("took");
    const release = taken.release.bind(taken);
    taken.release = async () => {
      await release();
      left();
    };
    return taken;
  };
  storage.close = async () => {
    await close();
    left();
  };
  return storage;
}

/** A medium whose writes and syncs take a while, so that other things happen meanwhile. */
function slowDown(storage: StoragePort, clock: LabClock, chance: Dice): void {
  const open = storage.open.bind(storage);
  const stage = storage.stage.bind(storage);
  const pause = () => clock.pause(chance.below(3) === 0 ? chance.below(300) : chance.below(8));
  const slow = (file: StorageFile): StorageFile => {
    const append = file.append.bind(file);
    const sync = file.sync.bind(file);
    file.append = async (bytes) => {
      await pause();
      await append(bytes);
    };
    file.sync = async () => {
      await pause();
      await sync();
    };
    return file;
  };
  storage.open = async (name, lock) => slow(await open(name, lock));
  storage.stage = async (name, lock) => {
    const staged = await stage(name, lock);
    const publish = staged.publish.bind(staged);
    staged.publish = async () => slow(await publish());
    return staged;
  };
}
