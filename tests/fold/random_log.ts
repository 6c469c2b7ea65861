/**
 * Random logs as programs would write them: ours, with markers and barriers, and others, without.
 *
 * Written from the specification, without the folds, so that it can judge them. It also knows what the folds must find out:
 * from which event on a call's body may have run.
 *
 * @module
 */
import fc from "fast-check";
import type { SessionEvent } from "../../src/event/mod.ts";
import { LogBuilder } from "./log_builder.ts";

/** A log and the truth about it. */
export interface RandomLog {
  readonly events: readonly SessionEvent[];
  /** By the seq of the assistant message and the call's id: the seq of the event that lets its body run. */
  readonly mayRunFrom: ReadonlyMap<string, number>;
  /** Lifecycles with a marker before every body, from their first seq to (not including) the first of the next one. */
  readonly ours: readonly { readonly from: number; readonly to: number }[];
}

/** Draws random legal logs; shrinks to short ones. */
export function randomLogs(): fc.Arbitrary<RandomLog> {
  return fc.array(fc.nat({ max: 9999 }), { minLength: 5, maxLength: 160, size: "max" }).map((choices) =>
    new Program(choices).run()
  );
}

class Program {
  readonly #choices: readonly number[];
  readonly #log = new LogBuilder();
  readonly #mayRunFrom = new Map<string, number>();
  readonly #ours: { from: number; to: number }[] = [];
  /** The surface as the specification says, to choose spans from. */
  #surface: number[] = [];
  #next = 0;
  #hasMarkers = false;
  #inboxLength = 0;
  #compactions = 0;

  constructor(choices: readonly number[]) {
    this.#choices = choices;
  }

  run(): RandomLog {
    this.#startLifecycle(false);
    while (!this.#isOver()) {
      const kind = this.#below(8);
      if (kind === 0) this.#startLifecycle(true);
      else if (kind === 1) this.#splice();
      else if (kind === 2) this.#log.add("approval/policy", { policy: this.#flip() ? "ask" : "never" });
      else if (kind === 3) this.#compact(null);
      else this.#turn();
    }
    this.#closeOurs();
    return { events: this.#log.events, mayRunFrom: this.#mayRunFrom, ours: this.#ours };
  }

  #startLifecycle(hasSeed: boolean): void {
    this.#closeOurs();
    if (hasSeed) this.#log.endSeed();
    this.#hasMarkers = this.#flip();
    if (!this.#hasMarkers) return;
    this.#ours.push({ from: this.#log.events.length, to: Infinity });
    this.#log.policy();
  }

  #closeOurs(): void {
    const last = this.#ours.at(-1);
    if (last !== undefined && last.to === Infinity) last.to = this.#log.events.length;
  }

  #turn(): void {
    this.#log.startTurn();
    const steps = this.#below(4);
    for (let step = 0; step < steps && !this.#isOver(); step++) this.#step();
    this.#log.endTurn();
  }

  #step(): void {
    const log = this.#log;
    log.startStep();
    if (this.#surface.length === 0) this.#surface.push(log.system(this.#flip() ? "be kind" : ""));
    if (this.#flip()) this.#surface.push(log.user("hi"));
    if (this.#below(6) === 0) this.#compact(log.turn);
    if (this.#flip()) {
      log.add("request/header", { header: { config: { provider: "p", model: "m" } }, reason: "initial" });
    }
    const ids = Array.from({ length: this.#below(4) }, (_, index) => this.#callId(index));
    const messageSeq = log.assistant(ids, this.#flip() ? "text" : "");
    this.#surface.push(messageSeq);
    if (this.#hasMarkers || this.#flip()) {
      for (const id of ids) this.#call(messageSeq, id);
    } else {
      // Another program may record a batch in one go and settle it in the model's order.
      for (const id of ids.toReversed()) this.#mayRunFrom.set(`${messageSeq} ${id}`, log.call(id));
      for (const id of ids) this.#surface.push(log.result(id));
    }
    log.endStep();
  }

  /** Some providers start to count anew in each message. */
  #callId(index: number): string {
    return this.#flip() ? `call_${index}` : `c${this.#log.events.length}_${index}`;
  }

  #call(messageSeq: number, id: string): void {
    const log = this.#log;
    const key = `${messageSeq} ${id}`;
    const callSeq = log.call(id);
    if (this.#below(12) === 0) this.#takeOver();
    if (!this.#hasMarkers && !this.#mayRunFrom.has(key)) this.#mayRunFrom.set(key, log.events.length - 1);
    if (this.#below(3) === 0) {
      const question = `q${log.events.length}`;
      log.asked(question, this.#flip() ? id : undefined);
      if (this.#hasMarkers && this.#flip()) {
        log.add("approval/bound", { id: question, callSeq, argumentsDigest: "0".repeat(64) }, { ignorable: true });
      }
      log.decided(question, this.#flip() ? "allowed-once" : "rejected");
    }
    if (this.#hasMarkers && this.#below(5) > 0) {
      this.#mayRunFrom.set(key, log.marker(id, { effect: this.#flip() ? "keyed" : "none" }));
      if (this.#below(4) === 0) this.#nested(id);
    }
    const codes = [undefined, undefined, "TOOL_TIMEOUT", "ABORTED", "SOME_ERROR"];
    this.#surface.push(log.result(id, codes[this.#below(codes.length)]));
  }

  #nested(rootCallId: string): void {
    const subCallId = `${rootCallId}:ptc:1`;
    this.#log.nested(rootCallId, subCallId);
    if (this.#flip()) this.#log.marker(subCallId);
    this.#log.nestedResult(rootCallId, subCallId);
  }

  /** Another program goes on in the middle of our turn: what was recorded may run from here on, without a marker. */
  #takeOver(): void {
    this.#closeOurs();
    this.#hasMarkers = false;
    this.#log.endSeed();
  }

  #splice(): void {
    const removedCount = this.#below(this.#inboxLength + 1);
    const count = this.#below(3);
    const seq = this.#log.events.length;
    const inserted = Array.from({ length: count }, (_, index) => ({
      id: `i${seq}_${index}`,
      role: "user" as const,
      content: [],
      source: { kind: "user" },
    }));
    this.#inboxLength += count - removedCount;
    this.#log.add("agent/inbox/spliced", { target: "next-turn", start: 0, removedCount, inserted });
  }

  #compact(turn: number | null): void {
    const log = this.#log;
    // The head is a system message and stays.
    if (this.#surface.length < 3) return;
    const first = 1 + this.#below(this.#surface.length - 2);
    const last = first + this.#below(this.#surface.length - first);
    const shadowed = this.#surface.slice(first, last + 1);
    const [start, end] = [shadowed[0]!, shadowed.at(-1)!];
    const id = `k${this.#compactions++}`;
    const startSeq = log.compaction(turn, id);
    if (this.#below(4) === 0) {
      log.compactionEnd(turn, "the summariser failed", id);
      return;
    }
    const summarySeq = log.summary(start, end, shadowed, id);
    this.#surface.splice(first, shadowed.length, log.checkpoint(start, end, [startSeq, summarySeq, ...shadowed], id));
    log.compactionEnd(turn, undefined, id);
  }

  #isOver(): boolean {
    return this.#next >= this.#choices.length;
  }

  #below(limit: number): number {
    return (this.#choices[this.#next++] ?? 0) % limit;
  }

  #flip(): boolean {
    return this.#below(2) === 1;
  }
}
