/**
 * The second stage of a migration: version 1 to 2. The chunks of an answer move into its message, so the log gets shorter and
 * everything is renumbered.
 *
 * @see session-format §10.3
 * @module
 */
import type { JsonValue } from "../../event/mod.ts";
import { isRecord, type JsonRecord } from "../../event/checks.ts";
import { renumbered } from "./references.ts";
import { refuse, refuseDamage } from "./refusal.ts";
import { sourcesOf } from "./restored.ts";
import { SeqMap } from "./seq_map.ts";
import { chunkOf, StreamBuilder } from "./stream_builder.ts";
import type { LegacyEvent, LegacyHeader, LegacyRow } from "./types.ts";
import { withData } from "./v0_shapes.ts";

/** The most characters the stream of one answer may hold before it is settled. */
export const ATTEMPT_UNITS_MAX: number = 64 * 1024 * 1024;

/** The most events that may wait behind the last chunk of an answer that is not settled. */
export const ATTEMPT_EVENTS_MAX = 65_536;

/** An answer that is being streamed: chunks of one step up to `finish`, to its message, or to what gives it up. */
interface Attempt {
  readonly turn: number;
  readonly step: number;
  readonly stream: StreamBuilder;
  /** Its chunks, as ascending `[first, last]`. */
  readonly chunks: [first: number, last: number][];
  lastTime: number;
  isFinished: boolean;
}

/** What says that the answer before it came to nothing. */
const GIVES_UP: ReadonlySet<string> = new Set(["turn/end", "step/end", "llm/retry", "llm/retry-started"]);

/**
 * Migrates rows of version 1 to events of version 2.
 *
 * Held meanwhile: the stream of one answer, the events behind its last chunk, and the places where seqs moved.
 */
export class V1ToV2 {
  readonly header: LegacyHeader;
  readonly #seqs = new SeqMap();
  #nextSeq = 0;
  /** How many events went in. */
  #count = 0;
  #lastTime: number;
  #attempt: Attempt | null = null;
  /** Events behind the last chunk of `#attempt`: only what comes next says whether they stay behind it. Empty without one. */
  #held: LegacyEvent[] = [];
  /** Where the inherited events end, until that was said; `null` afterwards and without any. */
  #cut: number | null;
  #openTurn: number | null = null;
  #isStepOpen = false;
  /** Whether the event that came out last put something into the next turn's inbox. */
  #isTurnRequested = false;
  #out: LegacyEvent[] = [];

  constructor(header: LegacyHeader) {
    this.header = { ...header, version: 2, seedLength: null };
    this.#cut = header.seedLength;
    this.#lastTime = header.createdAt;
  }

  push(row: LegacyRow): readonly LegacyEvent[] {
    this.#out = [];
    const isMarked = this.#passCut(row);
    this.#count += row.count;
    if (row.kind === "run") this.#takeRun(row);
    else if (!isMarked) this.#take(row.event);
    return this.#out;
  }

  end(): readonly LegacyEvent[] {
    this.#out = [];
    this.#giveUp();
    if (this.#cut === this.#count) this.#addSeedEnd(this.#lastTime);
    if (this.#cut !== null) {
      // Its own version loads such a log: the copy of a parent that was not finished.
      const found = `the header says that ${this.#cut} events were inherited, and there are ${this.#count}`;
      refuse({ seq: this.#count }, found);
    }
    return this.#out;
  }

  /**
   * Marks the end of the inherited events where it lies. Returns whether the row itself became the mark.
   *
   * The specification does not say which time a mark gets that was not there. It is that of the event before it, or the
   * session's where nothing was inherited: known in both places where it is needed.
   */
  #passCut(row: LegacyRow): boolean {
    const cut = this.#cut;
    if (cut === null || cut >= row.firstSeq + row.count) return false;
    if (cut > row.firstSeq || this.#attempt !== null) {
      refuse({ seq: row.firstSeq }, `the inherited events end at seq ${cut}, in the middle of an answer`);
    }
    if (row.kind === "event" && row.event.type === "session/end-seed") {
      this.#cut = null;
      this.#emit(withData(row.event, { inherited: true }));
      return true;
    }
    this.#addSeedEnd(this.#lastTime);
    return false;
  }

  #addSeedEnd(time: number): void {
    this.#cut = null;
    this.#add({ type: "session/end-seed", seq: this.#nextSeq, time, data: { inherited: true } });
  }

  #takeRun({ firstSeq, count, turn, step, record }: Extract<LegacyRow, { kind: "run" }>): void {
    const attempt = this.#attemptOf(turn, step);
    attempt.stream.addRun(record);
    const lastTime = record.dt.reduce((time, gap) => time + gap, record.time0);
    this.#addedChunks(attempt, firstSeq, firstSeq + count - 1, lastTime);
  }

  #take(event: LegacyEvent): void {
    if (event.type === "assistant/chunk") return this.#takeChunk(event);
    if (event.type === "assistant/message") return this.#settle(event);
    if (GIVES_UP.has(event.type)) this.#giveUp();
    if (this.#attempt === null) return this.#emit(event);
    if (this.#held.length >= ATTEMPT_EVENTS_MAX) refuse(event, `more than ${ATTEMPT_EVENTS_MAX} events in one answer`);
    this.#held.push(event);
  }

  #takeChunk(event: LegacyEvent): void {
    const found = chunkOf(event.data);
    if (found === null) return refuse(event, "no chunk of a step");
    const { turn, step, chunk } = found;
    const attempt = this.#attemptOf(turn, step);
    attempt.stream.addChunk(chunk, event.time);
    attempt.isFinished = chunk.type === "finish";
    this.#addedChunks(attempt, event.seq, event.seq, event.time);
  }

  /** The answer that a chunk of this step belongs to. What waited behind its last chunk stands before the new one. */
  #attemptOf(turn: number, step: number): Attempt {
    const current = this.#attempt;
    if (current !== null && !current.isFinished && current.turn === turn && current.step === step) {
      this.#release();
      return current;
    }
    this.#giveUp();
    const stream = new StreamBuilder();
    const attempt = { turn, step, stream, chunks: [], lastTime: this.#lastTime, isFinished: false };
    this.#attempt = attempt;
    return attempt;
  }

  #addedChunks(attempt: Attempt, first: number, last: number, lastTime: number): void {
    const previous = attempt.chunks.at(-1);
    if (previous !== undefined && previous[1] + 1 === first) previous[1] = last;
    else attempt.chunks.push([first, last]);
    attempt.lastTime = this.#lastTime = lastTime;
    if (attempt.stream.sizeUnits <= ATTEMPT_UNITS_MAX) return;
    refuse({ seq: last, type: "assistant/chunk" }, `an answer of more than ${ATTEMPT_UNITS_MAX} characters`);
  }

  /** The message of an answer takes its chunks in. */
  #settle(event: LegacyEvent): void {
    const sources = sourcesOf(event, 1);
    if (typeof sources === "string") return refuseDamage(event, sources);
    const { turn, step } = event.data as JsonRecord;
    const attempt = this.#attempt;
    const isOfStep = attempt !== null && attempt.turn === turn && attempt.step === step;
    if (sources === undefined && isOfStep) {
      return refuse(event, "chunks of its step before it, and nothing says whether they are its own");
    }
    if (sources === undefined || sources.length === 0) {
      this.#giveUp();
      return this.#emit(withStream(event, []));
    }
    if (!isOfStep || !areExactly(sources, attempt.chunks)) {
      return refuse(event, "sourceEventSeqs that are not the chunks of its answer");
    }
    const stream = attempt.stream.finish();
    this.#attempt = null;
    this.#release();
    this.#emit(withStream(event, stream));
  }

  /** Keeps an answer that was not settled as an attempt, where its last chunk stood. */
  #giveUp(): void {
    const attempt = this.#attempt;
    if (attempt === null) return;
    this.#attempt = null;
    const { turn, step, lastTime } = attempt;
    const data = { turn, step, stream: attempt.stream.finish() };
    this.#add({ type: "assistant/attempt", seq: this.#nextSeq, time: lastTime, data });
    this.#release();
  }

  #release(): void {
    const held = this.#held;
    this.#held = [];
    for (const event of held) this.#emit(event);
  }

  /** Gives out an event of the source. */
  #emit(event: LegacyEvent): void {
    this.#followTurns(event);
    const goal = goalOf(event);
    if (goal !== null) this.#add({ type: "goal/change", seq: this.#nextSeq, time: event.time, data: goal.change });
    const moved = renumbered(goal === null ? event : goal.message, this.#seqs);
    this.#seqs.add(event.seq, this.#nextSeq);
    this.#lastTime = event.time;
    this.#add({ ...moved, seq: this.#nextSeq });
  }

  #add(event: LegacyEvent): void {
    this.#out.push(event);
    this.#nextSeq += 1;
    this.#isTurnRequested = requestsTurn(event);
  }

  /** A turn that a dying process left open ends where the next one, taken from the inbox by the next process, begins. */
  #followTurns(event: LegacyEvent): void {
    const { type, data, time } = event;
    switch (type) {
      case "turn/start": {
        const turn = isRecord(data) ? data.turn : null;
        if (this.#openTurn !== null) {
          const isRestart = !this.#isStepOpen && this.#isTurnRequested && turn === this.#openTurn + 1;
          if (!isRestart) refuse(event, `turn ${this.#openTurn} has no end`);
          const end = { turn: this.#openTurn, reason: { kind: "interrupted" } };
          this.#add({ type: "turn/end", seq: this.#nextSeq, time, data: end });
        }
        this.#openTurn = typeof turn === "number" ? turn : null;
        this.#isStepOpen = false;
        return;
      }
      case "turn/end":
        this.#openTurn = null;
        this.#isStepOpen = false;
        return;
      case "step/start":
        this.#isStepOpen = true;
        return;
      case "step/end":
        this.#isStepOpen = false;
    }
  }
}

/** Data with the stream behind its other members; the message does not name its chunks any more. */
function withStream(event: LegacyEvent, stream: readonly JsonValue[]): LegacyEvent {
  const { sourceEventSeqs: _chunks, ...rest } = event;
  return { ...rest, data: { ...event.data as JsonRecord, stream } as JsonValue } as LegacyEvent;
}

function areExactly(seqs: readonly number[], ranges: readonly (readonly [number, number])[]): boolean {
  let at = 0;
  for (const [first, last] of ranges) {
    for (let seq = first; seq <= last; seq++) if (seqs[at++] !== seq) return false;
  }
  return at === seqs.length;
}

/** A message that changes the goal becomes the change and a message without it. */
function goalOf(event: LegacyEvent): { change: JsonValue; message: LegacyEvent } | null {
  if (event.type !== "user/message" || !isRecord(event.data)) return null;
  const { source } = event.data;
  if (!isRecord(source) || source.kind !== "goal" || source.change === undefined) return null;
  const message = withData(event, { ...event.data, source: { kind: "plugin", plugin: "goal" } });
  return { change: source.change as JsonValue, message };
}

function requestsTurn({ type, data }: LegacyEvent): boolean {
  if (type !== "agent/inbox/spliced" || !isRecord(data)) return false;
  return data.target === "next-turn" && Array.isArray(data.inserted) && data.inserted.length > 0;
}
