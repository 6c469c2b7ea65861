/**
 * Random sessions in which everything happens that changes what a model sees, and what must hold after every step of them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { requestOf } from "../../src/agent/mod.ts";
import { pruneSession, spillContent } from "../../src/compaction/mod.ts";
import { encodeRow, type Message, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import {
  addToTotal,
  balancedCuts,
  foldEvents,
  logFold,
  type LogFolds,
  measure,
  pairingProblem,
  priceOfNode,
  RUNNING_TOTAL_ZERO,
  type SurfaceNode,
} from "../../src/fold/mod.ts";
import { createSession, openSession, type Session } from "../../src/session/mod.ts";
import { transcriptProblem } from "../agent/transcripts.ts";
import { plain } from "../fold/log_builder.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import { answerOf, compact } from "./bracket_support.ts";
import { randomText } from "./random_text.ts";

/** How often each thing happened. */
export type Tally = Record<string, number>;

/** So many requests of a session are remembered, and made again from the log at its end. */
const REMEMBERED = 12;
/** What a person says next where the model had the last word. */
const WORD: Message = { id: "w", role: "user", content: [{ type: "text", text: "go on" }], source: { kind: "user" } };
const HEADER = { config: { provider: "p", model: "m" } } as const;

/** Runs one session for so many steps. */
export async function runSession(seed: number, steps: number, tally: Tally): Promise<void> {
  const world = await World.create(seed, tally);
  for (let step = 0; step < steps; step++) {
    await world.step();
    world.check();
  }
  await world.finish();
}

class World {
  readonly #random: SeededRandom;
  readonly #tally: Tally;
  #store = new FakeStore();
  #session: Session;
  #ids = 0;
  /** Requests that were possible, by the seq they were made at. */
  readonly #requests = new Map<number, string>();

  private constructor(random: SeededRandom, tally: Tally, store: FakeStore, session: Session) {
    this.#random = random;
    this.#tally = tally;
    this.#store = store;
    this.#session = session;
  }

  static async create(seed: number, tally: Tally): Promise<World> {
    const random = seededRandom(seed);
    const store = new FakeStore();
    return new World(random, tally, store, await createSession({ store, id: "s1" }));
  }

  async step(): Promise<void> {
    const { turn } = this.#session.folds.brackets;
    if (turn === null) {
      return await this.#oneOf({
        turn: () => this.#startTurn(),
        say: () => this.#say(),
        compact: () => this.#compact("none"),
        replace: () => this.#replace(),
        flush: () => this.#flush(),
        crash: () => this.#crash(),
      }, [6, 2, 3, 1, 1, 1]);
    }
    await this.#oneOf({
      batch: () => this.#batch(),
      say: () => this.#say(),
      prune: () => this.#prune(),
      compact: () => this.#compact("turn"),
      replace: () => this.#replace(),
      system: () => this.#system(),
      end: () => this.#session.append({ type: "turn/end", data: { turn, reason: { kind: "completed" } } }),
      flush: () => this.#flush(),
      crash: () => this.#crash(),
    }, [10, 3, 3, 3, 1, 1, 2, 2, 1]);
  }

  /** What holds after every step, whatever it was. */
  check(): void {
    const { surface, meter } = this.#session.folds;
    const nodes = surface.nodes.toArray();
    assertEquals(surface.fault, null);
    assertEquals(pairingProblem(nodes), null);
    const prices = meter.nodes.toArray();
    assert(nodes.length === prices.length, "the meter has other nodes than the surface");
    let sum = 0;
    for (const [index, node] of nodes.entries()) {
      assert(
        prices[index]!.seq === node.seq && prices[index]!.tokens === priceOfNode(node),
        "a node has another price",
      );
      sum += priceOfNode(node);
    }
    assert(meter.surfaceTokens === sum, "the sum of the meter is not the sum of its prices");
    assert(measure({ meter }).totalTokens >= 0);
    this.#checkRequest();
  }

  /** The whole log again: every fold, every request that was remembered, and the total that is fed by events alone. */
  async finish(): Promise<void> {
    const events = await this.#events();
    const reread = events.map((event) => parseRow(encodeRow(event)));
    const folds = foldEvents(logFold, reread);
    assertEquals(plain(folds.surface), plain(this.#session.folds.surface));
    assertEquals(plain(folds.meter), plain(this.#session.folds.meter));
    const replaces = reread.filter(({ surfaceOp }) => typeof surfaceOp === "object");
    assertEquals(folds.surface.replaceGeneration, replaces.length);
    let prefix: LogFolds = logFold.initial();
    let total = RUNNING_TOTAL_ZERO;
    let isPriced = true;
    for (const event of reread) {
      const request = this.#requests.get(event.seq);
      if (request !== undefined) assertEquals(JSON.stringify(requestOf("s1", prefix)), request);
      prefix = logFold.apply(prefix, event);
      // A replacement of the host's has no price before it, and the total does not follow it.
      isPriced &&= typeof event.surfaceOp !== "object" || total.shadowed !== null;
      total = addToTotal(total, event);
      if (isPriced) assert(total.tokens === measure(prefix).surfaceTokens, `the total is wrong at seq ${event.seq}`);
    }
    await this.#session.close();
  }

  async #events(): Promise<readonly SessionEvent[]> {
    return (await this.#session.history({ limit: 1_000_000 })).events;
  }

  /** Where a step may begin, the request is what all three kinds of provider take. */
  #checkRequest(): void {
    const { folds, nextSeq } = this.#session;
    if (folds.route.header === null || folds.brackets.step !== null || folds.surface.nodes.length === 0) return;
    const request = requestOf("s1", folds);
    const { messages } = request;
    const last = messages.at(-1);
    if (last === undefined || messages.every(({ role }) => role === "system")) return;
    const problem = transcriptProblem(last.role === "assistant" ? [...messages, WORD] : messages);
    assertEquals(problem, null);
    if (this.#requests.size < REMEMBERED || this.#random.below(20) === 0) {
      this.#requests.set(nextSeq, JSON.stringify(request));
    }
  }

  async #oneOf(actions: Record<string, () => unknown>, weights: readonly number[]): Promise<void> {
    let draw = this.#random.below(weights.reduce((sum, weight) => sum + weight, 0));
    for (const [index, [name, act]] of Object.entries(actions).entries()) {
      draw -= weights[index]!;
      if (draw >= 0) continue;
      this.#count(name);
      await act();
      return;
    }
  }

  #count(name: string): void {
    this.#tally[name] = (this.#tally[name] ?? 0) + 1;
  }

  #startTurn(): void {
    const { lastTurn } = this.#session.folds.brackets;
    this.#session.append({ type: "turn/start", data: { turn: lastTurn + 1 } });
    this.#say();
    if (this.#random.below(3) === 0 || this.#session.folds.route.header === null) {
      this.#session.append({ type: "request/header", data: { header: HEADER, reason: "initial" } });
    }
  }

  #say(): void {
    this.#session.append({ type: "user/message", data: this.#message("user"), surfaceOp: "append" });
  }

  #message(kind: "user" | "plugin"): Message {
    const text = `said ${randomText(this.#random, 1 + this.#random.below(20))}`;
    const source = kind === "user" ? { kind } : { kind, plugin: "host" };
    return { id: `u${this.#ids++}`, role: "user", content: [{ type: "text", text }], source };
  }

  /** A step: some calls, their results, or only some of them because it is aborted. */
  async #batch(): Promise<void> {
    const session = this.#session;
    const { turn, lastStep } = session.folds.brackets;
    const place = { turn: turn!, step: lastStep + 1 };
    session.append({ type: "step/start", data: place });
    const ids = Array.from({ length: this.#random.below(4) }, () => this.#callId());
    const calls = [...new Set(ids)].map((id) => ({ type: "tool-call" as const, id, name: "look", arguments: "{}" }));
    const said = this.#random.below(4) === 0 && calls.length > 0 ? [] : [{ type: "text" as const, text: "thinking" }];
    const source = { kind: "model", provider: "p", model: "m" };
    const message = { id: `a${this.#ids++}`, role: "assistant" as const, content: [...said, ...calls], source };
    const usage = this.#random.below(2) === 0
      ? {}
      : { usage: { inputTokens: this.#random.below(9000), outputTokens: 7 } };
    session.append({
      type: "assistant/message",
      data: { ...place, message, stream: [], ...usage },
      surfaceOp: "append",
    });
    const isAborted = calls.length > 0 && this.#random.below(6) === 0;
    if (isAborted && this.#random.below(2) === 0) await session.flush();
    const answered = isAborted ? this.#random.below(calls.length) : calls.length;
    for (const { id } of calls.slice(0, answered)) await this.#answer(place, id);
    if (isAborted) {
      this.#count("aborted");
      // The machine dies in the middle of the step; what was durable of it is closed at the next start.
      return await this.#crash();
    }
    session.append({ type: "step/end", data: place });
  }

  async #answer(place: { readonly turn: number; readonly step: number }, callId: string): Promise<void> {
    const session = this.#session;
    const { seq } = session.append({ type: "tool/call", data: { ...place, callId, name: "look", arguments: "{}" } });
    const text = randomText(this.#random, 1 + this.#random.below(80));
    const content = [{ type: "text" as const, text }];
    const spilled = await spillContent(session, { callId, callSeq: seq }, content, { maxInlineBytes: 600 });
    if (spilled !== null) this.#count("spilled");
    const block = { type: "tool-result" as const, toolCallId: callId, content: spilled ?? content };
    const message = {
      id: `r${this.#ids++}`,
      role: "user" as const,
      content: [block],
      source: { kind: "tool", callId },
    };
    session.append({ type: "tool/result", data: { ...place, message }, surfaceOp: "append", sourceEventSeqs: [seq] });
  }

  /** Providers use ids again; on the surface each stands once. */
  #callId(): string {
    const taken = new Set(
      this.#nodes().flatMap(({ message: { content } }) =>
        content.flatMap((block) => block.type === "tool-call" ? [block.id] : [])
      ),
    );
    for (;;) {
      const id = `c${this.#random.below(60)}`;
      if (!taken.has(id)) return id;
    }
  }

  #nodes(): readonly SurfaceNode[] {
    return this.#session.folds.surface.nodes.toArray();
  }

  #prune(): void {
    const { pruned } = pruneSession(this.#session, {
      thresholdChars: 200,
      headChars: 20 + this.#random.below(60),
      tailChars: this.#random.below(60),
      protectRecent: this.#random.below(3),
    });
    if (pruned.length > 0) this.#count("pruned");
  }

  /** Two cuts that part nothing, behind a system message. `null` when there are none. */
  #span(): readonly [first: number, last: number] | null {
    const nodes = this.#nodes();
    const from = nodes[0]?.type === "system/message" ? 1 : 0;
    const cuts = balancedCuts(nodes).flatMap((isBalanced, index) => isBalanced && index >= from ? [index] : []);
    if (cuts.length < 2) return null;
    const first = this.#random.below(cuts.length - 1);
    const last = first + 1 + this.#random.below(cuts.length - first - 1);
    return [nodes[cuts[first]!]!.seq, nodes[cuts[last]! - 1]!.seq];
  }

  /** Another program replaces a run of messages by one of its own; one that would part a call from its result is refused. */
  #replace(): void {
    const session = this.#session;
    const nodes = this.#nodes();
    if (nodes.length < 2) return;
    const span = this.#random.below(4) === 0
      ? [this.#random.pick(nodes).seq, this.#random.pick(nodes).seq] as const
      : this.#span();
    if (span === null) return;
    const [start, end] = span.map((seq) => nodes.findIndex((node) => node.seq === seq)) as [number, number];
    const { nextSeq } = session;
    const { replaceGeneration } = session.folds.surface;
    try {
      session.append({
        type: "user/message",
        data: this.#message("plugin"),
        surfaceOp: { op: "replace", startSeq: span[0], endSeq: span[1] },
        sourceEventSeqs: nodes.slice(Math.min(start, end), Math.max(start, end) + 1).map(({ seq }) => seq),
      });
      this.#count("replaced");
      assertEquals(session.folds.surface.replaceGeneration, replaceGeneration + 1);
    } catch (error) {
      assert(error instanceof TypeError, String(error));
      this.#count("refused");
      assertEquals([session.nextSeq, session.folds.surface.replaceGeneration], [nextSeq, replaceGeneration]);
    }
  }

  #system(): void {
    const session = this.#session;
    const [head] = this.#nodes();
    const { turn, lastStep } = session.folds.brackets;
    const place = { turn: turn!, step: lastStep + 1 };
    if (head !== undefined && head.type !== "system/message") return;
    const message = { ...this.#message("plugin"), role: "system" as const };
    session.append({ type: "step/start", data: place });
    session.append({
      type: "system/message",
      data: { ...place, message },
      ...(head === undefined
        ? { surfaceOp: "append" }
        : { surfaceOp: { op: "replace", startSeq: head.seq, endSeq: head.seq }, sourceEventSeqs: [head.seq] }),
    });
    session.append({ type: "step/end", data: place });
  }

  /** A summariser that answers, fails, says too much, is overtaken, is given up, or outlives its process. */
  async #compact(owner: "turn" | "none"): Promise<void> {
    const session = this.#session;
    const span = this.#span();
    if (span === null) return;
    const { replaceGeneration } = session.folds.surface;
    const controller = new AbortController();
    const kind = this.#random.pick(
      ["short", "short", "short", "long", "fails", "overtaken", "aborted", "killed"] as const,
    );
    const asked = Promise.withResolvers<void>();
    const summarise = async () => {
      asked.resolve();
      if (kind === "fails") throw new Error("no connection");
      if (kind === "overtaken") this.#say();
      if (kind === "aborted") controller.abort(new Error("given up"));
      if (kind === "aborted" || kind === "killed") await new Promise<never>(() => {});
      return answerOf(kind === "long" ? "much ".repeat(20_000) : "so far");
    };
    const stability = this.#random.pick(["span", "surface"] as const);
    const compaction = compact(session, ...span, { owner, stability, summarise, signal: controller.signal });
    if (kind === "killed") {
      compaction.catch(() => {});
      await asked.promise;
      this.#count("killed");
      return await this.#crash();
    }
    const outcome = await compaction.then(() => "compacted", () => "failed");
    this.#count(outcome);
    const isReplaced = session.folds.surface.replaceGeneration === replaceGeneration + 1;
    assertEquals(isReplaced, outcome === "compacted");
    assertEquals(session.folds.brackets.compaction, null);
  }

  async #flush(): Promise<void> {
    await this.#session.flush();
  }

  /** The process dies: what was not durable is gone, and so are the requests that were made from it. */
  async #crash(): Promise<void> {
    // Some of the time everything was durable by then.
    if (this.#random.below(3) > 0) await this.#session.flush();
    this.#store = this.#store.crash();
    const durable = this.#store.logs.get("s1")?.rows.length ?? 0;
    for (const seq of this.#requests.keys()) if (seq > durable) this.#requests.delete(seq);
    const isThere = this.#store.logs.has("s1");
    this.#session = isThere
      ? (await openSession({ store: this.#store, id: "s1" })).session
      : await createSession({ store: this.#store, id: "s1" });
    await settle();
    this.#count("resumed");
    assertEquals([this.#session.folds.brackets.turn, this.#session.folds.brackets.compaction], [null, null]);
  }
}
