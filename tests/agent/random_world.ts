/**
 * A process with an agent in which everything that can go wrong does, now and then, decided by one seed.
 *
 * Models fail and hang, tools fail, wait and add contexts, approvers refuse and hang, every hook throws, hangs, answers nonsense,
 * steers and cancels, the disk is full, and the process dies.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import {
  type AgentHooks,
  type AgentSession,
  createAgent,
  installRetryPolicy,
  type LoopAgent,
} from "../../src/agent/mod.ts";
import { BufferFullError, LockLostError, StorageFullError } from "../../src/errors.ts";
import type { AbortCause, EffectClass, SessionEvent, StreamChunk } from "../../src/event/mod.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import { defineTool, type Tool, type ToolCall, type ToolDefinition } from "../../src/tool/mod.ts";
import { FakeStore } from "../support/fake_store.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import { checkLog } from "./log_checker.ts";
import { QuickClock, ticks } from "./quick_clock.ts";
import { transcriptProblem } from "./transcripts.ts";

/** How long one run may take in real time before it counts as hung, in milliseconds. */
const PATIENCE_MS = 20_000;

/**
 * Digests without the thread pool, whose speed would decide what happens when: with this, a seed always gives the same run.
 * For the whole module that is running, which must have nothing else in it.
 */
export function useQuickDigests(): void {
  const digest = (_: string, bytes: Uint8Array) => Promise.resolve(createHash("sha256").update(bytes).digest());
  Object.defineProperty(crypto.subtle, "digest", { value: digest });
}

/** What happened in all runs, to show that it happened at all. */
export interface Tally {
  runs: number;
  turns: number;
  calls: number;
  bodies: number;
  overlaps: number;
  attempts: number;
  cancels: number;
  hookFaults: number;
  diskFaults: number;
  refusals: number;
  crashes: number;
  classes: Record<string, number>;
  reasons: Record<string, number>;
}

/** An empty tally. */
export function emptyTally(): Tally {
  const none = { runs: 0, turns: 0, calls: 0, bodies: 0, overlaps: 0, attempts: 0, cancels: 0 };
  return { ...none, hookFaults: 0, diskFaults: 0, refusals: 0, crashes: 0, classes: {}, reasons: {} };
}

/** What the disk held at one instant, and which bodies had begun by then. */
interface Crash {
  readonly store: FakeStore;
  readonly begun: ReadonlySet<string>;
}

/** Runs one schedule, with up to two crashes and resumes, and checks everything about it. */
export async function runSchedule(seed: number, tally: Tally): Promise<void> {
  const dice = seededRandom(seed);
  const troubles = dice.below(4);
  let store = new FakeStore({ clock: new QuickClock(), random: seededRandom(seed + 0x4000_0000) });
  let crash: Crash | null = null;
  for (let lifecycle = 0; lifecycle < 3; lifecycle++) {
    const world = new World(dice, store, troubles, tally);
    crash = await world.live(crash);
    if (crash === null) break;
    tally.crashes++;
    store = crash.store;
  }
  if (crash !== null) await new World(dice, store, 0, tally).live(crash);
  tally.runs++;
}

/** Names of the tools, and what each may do to the world. */
const TOOLS: Readonly<Record<string, EffectClass>> = {
  look: "none",
  peek: "none",
  send: "idempotent",
  pay: "opaque",
  book: "keyed",
  compose: "none",
};

/** Those that never run beside others. */
const ALONE: readonly string[] = ["peek", "pay"];

const CALL_IDS = ["", "c1", "c1", "c2", "call-1-1-0", null, null, null, null] as const;
const ARGUMENTS = ["", "{}", '{"n":1}', '{"n":2}', '{ "n": 1 }', "{oops", '{"n":-0}'] as const;

class World {
  readonly #dice: SeededRandom;
  readonly #store: FakeStore;
  /** How often things go wrong, 0 to 3. */
  readonly #troubles: number;
  readonly #tally: Tally;
  readonly #hooks: Hooks<AgentHooks>;
  /** Keys of the effects whose bodies have begun. */
  readonly #begun = new Set<string>();
  readonly #requests: string[] = [];
  readonly #statuses: string[] = [];
  readonly #inbox = { inserted: 0, claimed: 0, discarded: 0 };
  #session: AgentSession | null = null;
  #crash: Crash | null = null;
  /** Bodies that run, those of calls that bodies make left out. */
  #inFlight = 0;
  #parallelMax = 0;
  #idNumber = 0;
  #isLost = false;
  /** Requests of which the log was not allowed to tell. */
  #refusedAnswers = 0;
  /** No trouble is made any more. */
  #isSettled = false;
  /** Everything that was let loose and must end before the world does. */
  readonly #loose: Promise<unknown>[] = [];

  constructor(dice: SeededRandom, store: FakeStore, troubles: number, tally: Tally) {
    this.#dice = dice;
    this.#store = store;
    this.#troubles = troubles;
    this.#tally = tally;
    this.#hooks = new Hooks<AgentHooks>();
  }

  /** One process, from its start to its end. Returns what a crash in it left, if there was one. */
  async live(before: Crash | null): Promise<Crash | null> {
    this.#parallelMax = this.#dice.pick([1, 2, 10]);
    const agent = createAgent({
      store: this.#store,
      hooks: this.#hooks,
      model: this.#model(),
      tools: this.#tools(),
      approvers: [(_, signal) => this.#approve(signal)],
      systemPrompt: this.#dice.pick(["", "be kind"]),
      approvalPolicy: this.#chance(1, 12) ? "never" : "ask",
      maxParallelToolCalls: this.#parallelMax,
      stepsPerTurnMax: 6,
    });
    if (this.#chance(1, 2)) installRetryPolicy(this.#hooks, { maxRetries: 2 });
    const isThere = this.#store.logs.has("s1");
    const session = this.#session = isThere ? await agent.resume("s1") : await agent.create({ id: "s1" });
    this.#checkClasses(before);
    this.#listen(session);

    const patience = Promise.withResolvers<never>();
    const timer = setTimeout(() => patience.reject(new Error(`it hangs, ${session.status}`)), PATIENCE_MS);
    try {
      await Promise.race([this.#converse(session), patience.promise]);
      await Promise.race([this.#settle(session), patience.promise]);
    } finally {
      clearTimeout(timer);
    }
    await this.#check(session);
    await session.close().catch((error) => assert(this.#isLost, String(error)));
    assertEquals(this.#inbox.inserted - this.#inbox.claimed - this.#inbox.discarded, this.#waiting(session));
    return this.#crash;
  }

  /** Some messages, some of them at once. */
  async #converse(session: AgentSession): Promise<void> {
    const sent: Promise<unknown>[] = [];
    for (let n = 1 + this.#dice.below(3); n > 0; n--) {
      const verb = this.#dice.pick(["send", "send", "send", "followup", "steer", "inject"] as const);
      if (verb === "send") {
        const outcome = session.send(`message ${n}`).then(
          ({ reason }) => this.#count(this.#tally.reasons, reason.kind),
          (error) => assert(this.#isLost || this.#isRefusal(error), `send() rejected: ${error}`),
        );
        sent.push(outcome);
        if (this.#chance(2, 3)) await outcome;
      } else {
        this.#say(session, verb);
      }
      await ticks(this.#dice.below(40));
    }
    await Promise.all(sent);
  }

  /** Lets everything end that was begun. Faults that no write has met are met now. */
  async #settle(session: AgentSession): Promise<void> {
    await session.whenIdle();
    for (let n = 0; n < this.#loose.length; n++) await this.#loose[n];
    await session.whenIdle();
    this.#isSettled = true;
    // A turn whose end the log refused is closed when the loop wakes.
    if (session.session.folds.brackets.turn !== null && !this.#isLost) await session.send("go on");
    for (let n = 0; n < 20 && !this.#isLost; n++) {
      if (await session.session.flush().then(() => true, () => false)) break;
      this.#store.failure = null;
    }
  }

  async #check({ session, status }: AgentSession): Promise<void> {
    assertEquals(status, "idle");
    assertEquals(this.#statuses.filter((_, index) => index % 2 === 0).every((each) => each === "running"), true);
    assertEquals(this.#statuses.length % 2, 0, `statuses: ${this.#statuses}`);
    const { events } = await session.history({ limit: 100_000 });
    const found = checkLog("s1", events, !this.#isLost);
    assertEquals(found.problems, []);
    let from = 0;
    for (const request of this.#requests) {
      const at = found.requests.indexOf(request, from);
      // What was on its way when the log was lost is not in it.
      if (at === -1 && this.#isLost) break;
      if (at === -1 && this.#refusedAnswers-- > 0) continue;
      assert(at !== -1, `a request cannot be made again: ${request.slice(0, 200)}`);
      from = at + 1;
    }
    for (const { type, data } of events) {
      if (type === "tool/call") assert((data as { callId: string }).callId !== "half", "half a call was made one");
      if (type === "turn/start") this.#tally.turns++;
      if (type === "tool/call") this.#tally.calls++;
      if (type === "assistant/attempt") this.#tally.attempts++;
    }
  }

  /** No body that had begun may be called "did not happen". */
  #checkClasses(before: Crash | null): void {
    const { resumed, session } = this.#session!;
    if (resumed === null || before === null) return;
    const stored = before.store.events("s1");
    for (const call of resumed.calls) {
      this.#count(this.#tally.classes, call.class);
      const key = stored.findLast((event) =>
        event.type === "effect/dispatched" && (event.data as { callSeq: number }).callSeq === call.callSeq
      )?.data as { effectKey: string } | undefined;
      const mayHaveRun = key !== undefined && before.begun.has(key.effectKey);
      if (call.class !== "outcome_unknown") assert(!mayHaveRun, `${call.callId} is ${call.class} and had begun`);
    }
    assertEquals(session.folds.brackets.turn, null);
  }

  // The model

  #model(): Model {
    return {
      provider: "random",
      id: "random",
      stream: (request, signal) => this.#stream(request, signal),
    };
  }

  async *#stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<StreamChunk> {
    const { session } = this.#session!;
    this.#requests.push(JSON.stringify(request));
    assertEquals(transcriptProblem(request.messages), null);
    assert(session.folds.surface.nodes.at(-1)!.seq <= session.durableSeq, "a request left before it was durable");
    await ticks(this.#dice.below(4));
    const kind = this.#dice.below(this.#troubles === 0 ? 6 : 14);
    if (this.#chance(1, 2)) yield { type: "text-delta", index: 0, text: this.#dice.pick(["", " ", "some words"]) };
    if (kind <= 4) yield* this.#calls(1 + this.#dice.below(4));
    if (kind === 6) throw new Error("the line broke");
    if (kind === 7) return yield this.#failed(this.#dice.pick(["SERVER", "RATE_LIMIT", "UNKNOWN"]));
    if (kind === 8) return yield { type: "finish", reason: { kind: "max-tokens" } };
    if (kind === 9) return yield { type: "tool-call-delta", index: 9, id: "half", name: "pay", argumentsDelta: '{"n"' };
    if (kind === 10) await this.#hang(signal);
    if (kind === 11) yield { type: "nonsense" } as never;
    if (kind === 12) yield* this.#calls(2);
    if (this.#chance(1, 8)) return;
    yield { type: "finish", reason: { kind: "stop" } };
  }

  *#calls(count: number): Generator<StreamChunk> {
    for (let index = 1; index <= count; index++) {
      const id = this.#dice.pick(CALL_IDS) ?? `c-${this.#idNumber++}`;
      const name = this.#dice.pick([...Object.keys(TOOLS), "gone"]);
      const block = { type: "tool-call" as const, id, name, arguments: this.#dice.pick(ARGUMENTS) };
      if (this.#chance(1, 2)) yield { type: "tool-call-delta", index, id, name, argumentsDelta: block.arguments };
      yield { type: "block-end", index, block };
    }
  }

  #failed(code: string): StreamChunk {
    return { type: "finish", reason: { kind: "error", failure: { message: "no answer", code } } };
  }

  // Tools and people

  #tools(): Tool[] {
    return Object.entries(TOOLS).map(([name, effect]) => {
      const definition: ToolDefinition = {
        name,
        description: name,
        parameters: {},
        effect,
        isConcurrencySafe: () => !ALONE.includes(name),
        permission: () => this.#permission(name),
        execute: (_, call) => this.#body(name, call),
      };
      return defineTool(definition);
    });
  }

  #permission(name: string) {
    if (this.#goesWrong(30)) throw new Error("no policy");
    return { decision: name === "pay" || this.#chance(1, 6) ? "ask" : "allow" } as const;
  }

  async #body(name: string, call: ToolCall): Promise<string> {
    const { session } = this.#session!;
    this.#checkMarked(call);
    this.#begun.add(call.effectKey);
    this.#tally.bodies++;
    const place = call.rootCallId === call.callId ? 1 : 0;
    this.#inFlight += place;
    if (this.#inFlight > 1) this.#tally.overlaps++;
    assert(this.#inFlight <= this.#parallelMax && (this.#inFlight === 1 || !ALONE.includes(name)), "too many at once");
    try {
      await ticks(this.#dice.below(30));
      if (name === "compose" && place === 1) {
        await Promise.all([call.dispatch("look", { n: 1 }), call.dispatch("send", { n: 2 })]);
      }
      if (this.#chance(1, 12)) call.deferContext("by the way");
      if (this.#chance(1, 20)) call.concludeTurn();
      if (this.#goesWrong(20)) throw new Error(`${name} failed`);
      if (this.#goesWrong(20)) this.#cancel(this.#session!);
      // Some heed the cancel, some do not.
      if (call.signal.aborted && this.#chance(1, 2)) throw call.signal.reason;
      return `${name} in ${session.id}`;
    } finally {
      this.#inFlight -= place;
    }
  }

  /** What runs has a durable marker. */
  #checkMarked({ callId, effectKey, effect, rootCallId }: ToolCall): void {
    const { folds, durableSeq } = this.#session!.session;
    const nested = folds.pendingCalls.nested.find((call) => call.callId === callId);
    if (rootCallId !== callId && effect === "none") return;
    const marker = (nested ?? folds.pendingCalls.calls.find((call) => call.callId === callId))?.marker;
    assertEquals(marker?.effectKey, effectKey);
    assert(marker!.seq <= durableSeq, "a body began before its marker was durable");
  }

  async #approve(signal: AbortSignal): Promise<"allowed-once" | "rejected" | "cancelled" | undefined> {
    await ticks(this.#dice.below(10));
    if (this.#goesWrong(12)) throw new Error("no terminal");
    if (this.#goesWrong(12)) await this.#hang(signal);
    return this.#dice.pick(["allowed-once", "allowed-once", "allowed-once", "rejected", "cancelled", undefined]);
  }

  // Trouble

  /** The log refuses an event now and then, as a full buffer does. */
  #refuse({ session }: AgentSession): void {
    const append = session.append.bind(session);
    session.append = (draft) => {
      if (this.#isSettled || !this.#goesWrong(120)) return append(draft);
      this.#tally.refusals++;
      if (draft.type.startsWith("assistant/")) this.#refusedAnswers++;
      const isFull = this.#chance(1, 2);
      throw isFull ? new BufferFullError("Cannot append: the buffer is full") : new Error("the log takes no events");
    };
  }

  #listen(session: AgentSession): void {
    this.#refuse(session);
    this.#inbox.inserted = this.#waiting(session);
    session.subscribe((live) => live.kind === "status" && this.#statuses.push(live.status));
    for (const kind of ["inserted", "claimed", "discarded"] as const) {
      this.#hooks.on(`agent/inbox/${kind}`, () => void this.#inbox[kind]++);
    }
    if (this.#troubles === 0) return;
    session.session.subscribe((event) => this.#meddle(session, event));
    const meddle = async (next: () => unknown, signal?: AbortSignal): Promise<never> =>
      await this.#hookTrouble(session, next, signal) as never;
    this.#hooks.on("system-prompt/assemble", ({ signal }, next) => meddle(next, signal));
    this.#hooks.on("agent/pre-step", ({ signal }, next) => meddle(next, signal));
    this.#hooks.on("agent/request", ({ signal }, next) => meddle(next, signal));
    this.#hooks.on("agent/request-error", ({ signal }, next) => meddle(next, signal));
    this.#hooks.on("agent/turn-stopping", ({ signal }) => meddle(() => undefined, signal));
    this.#hooks.on("llm/stream", ({ signal }, next) => this.#streamTrouble(session, next, signal));
    this.#hooks.on("tools/pre-execute", ({ signal }, next) => meddle(next, signal));
    this.#hooks.on("tools/execute", ({ signal }, next) => meddle(next, signal));
    this.#hooks.on("tools/post-execute", ({ signal }, _, next) => meddle(next, signal));
    this.#hooks.on("approval/request", (_, signal, next) => meddle(next, signal));
    for (const hook of ["agent/status", "agent/error", "tools/result", "agent/inbox/claimed"] as const) {
      this.#hooks.on(hook, () => {
        if (this.#goesWrong(10)) throw new Error("a notified listener");
        if (this.#goesWrong(30)) this.#cancel(session);
      });
    }
  }

  /** What a listener may do beside passing on. */
  async #hookTrouble(session: AgentSession, next: () => unknown, signal?: AbortSignal): Promise<unknown> {
    if (!this.#goesWrong(8)) return await next();
    this.#tally.hookFaults++;
    switch (this.#dice.below(8)) {
      case 0:
        throw new Error("a listener failed");
      case 1:
        return undefined;
      case 2:
        await this.#hang(signal);
        return await next();
      case 3:
        this.#say(session);
        return await next();
      case 4:
        this.#cancel(session);
        return await next();
      case 5:
        await ticks(this.#dice.below(20));
        return await next();
      case 6: {
        const answer = await next();
        await ticks(this.#dice.below(20));
        return answer;
      }
      default:
        return { kind: "reject", decision: "maybe" };
    }
  }

  #streamTrouble(
    session: AgentSession,
    next: () => AsyncIterable<StreamChunk>,
    signal: AbortSignal,
  ): AsyncIterable<StreamChunk> {
    if (!this.#goesWrong(8)) return next();
    this.#tally.hookFaults++;
    const hang = () => this.#hang(signal);
    const cancel = () => this.#cancel(session);
    switch (this.#dice.below(5)) {
      case 0:
        throw new Error("a listener failed");
      case 1:
        return (async function* () {
          await hang();
          yield* next();
        })();
      case 2:
        return (async function* () {
          for await (const chunk of next()) {
            yield chunk;
            throw new Error("in the middle");
          }
        })();
      case 3:
        return (async function* () {
          for await (const chunk of next()) {
            cancel();
            yield chunk;
          }
        })();
      default:
        return undefined as never;
    }
  }

  /** Something happens in the moment an event is committed. */
  #meddle(session: AgentSession, event: SessionEvent): void {
    if (this.#crash === null && this.#dice.below(45) === 0) this.#die();
    if (!this.#goesWrong(25)) return;
    switch (this.#dice.below(6)) {
      case 0:
        return this.#cancel(session);
      case 1:
        return queueMicrotask(() => this.#say(session));
      case 2:
        this.#tally.diskFaults++;
        return this.#store.inject({ fail: new StorageFullError("no room") });
      case 3:
        this.#tally.diskFaults++;
        return this.#holdDisk(session);
      case 4:
        if (event.type !== "tool/call" || !this.#goesWrong(2)) return;
        this.#isLost = true;
        return this.#store.inject({ fail: new LockLostError("another writer has it") });
      default:
        throw new Error("an observer");
    }
  }

  /** The disk hangs until the turn is cancelled, and a while longer. */
  #holdDisk(session: AgentSession): void {
    const release = this.#store.hold();
    this.#loose.push((async () => {
      await ticks(this.#dice.below(40));
      this.#cancel(session);
      await ticks(this.#dice.below(40));
      release();
    })());
  }

  /** Hangs until the turn is cancelled, which somebody does soon; then it comes back, or never. */
  #hang(signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const session = this.#session!;
    this.#loose.push((async () => {
      await ticks(5 + this.#dice.below(40));
      session.cancel({ kind: "user" }, { keepInbox: this.#chance(1, 2) });
      await ticks(this.#dice.below(10));
      const way = this.#dice.below(3);
      if (way === 0) resolve();
      if (way === 1) reject(signal?.reason ?? new Error("late"));
    })());
    return promise;
  }

  #cancel(agent: LoopAgent): void {
    this.#tally.cancels++;
    const causes: AbortCause[] = [{ kind: "user" }, { kind: "parent" }, { kind: "hook", reason: "trouble" }];
    agent.cancel(this.#dice.pick(causes), { keepInbox: this.#chance(1, 2) });
  }

  #say(agent: LoopAgent, verb = this.#dice.pick(["followup", "steer", "inject"] as const)): void {
    try {
      agent[verb]("and then");
    } catch (error) {
      // In the middle of an append, after the end, or refused.
      assert(error instanceof Error);
    }
  }

  #isRefusal(error: unknown): boolean {
    return error instanceof BufferFullError || (error instanceof Error && error.message === "the log takes no events");
  }

  #die(): void {
    this.#crash = { store: this.#store.crash(), begun: new Set(this.#begun) };
    if (!this.#crash.store.logs.has("s1")) this.#crash = null;
  }

  #waiting({ session: { folds: { inbox } } }: AgentSession): number {
    return inbox.nextTurn.length + inbox.nextStep.length;
  }

  #count(counts: Record<string, number>, key: string): void {
    counts[key] = (counts[key] ?? 0) + 1;
  }

  #chance(wanted: number, of: number): boolean {
    return this.#dice.below(of) < wanted;
  }

  /** More often the more trouble there is. */
  #goesWrong(seldom: number): boolean {
    return this.#troubles > 0 && !this.#isSettled && this.#dice.below(seldom * (4 - this.#troubles)) === 0;
  }
}
