/**
 * The events of a session, out of messages of another program.
 *
 * What comes out is well-formed whatever goes in: turns and steps are numbered and closed, every call has exactly one result, and
 * ids of calls are unique. A call without a result gets the closer that says that nobody knows.
 *
 * @see session-format §3.6, §9
 * @module
 */
import {
  type Block,
  checkAppendable,
  type EventDraft,
  type Message,
  type MessageSource,
  OUTCOME_UNKNOWN_ERROR,
  OUTCOME_UNKNOWN_TEXT,
  type SessionEvent,
  SOURCE_SEQS_MAX,
  type TurnEndReason,
  type Usage,
} from "../event/mod.ts";
import { priceOfMessage } from "../fold/mod.ts";
import type { Losses } from "./losses.ts";

/** Where something stands in the source. */
export interface ForeignPlace {
  /** Index of its line, counted from 0. */
  readonly line: number;
  /** Milliseconds since the epoch; `null` when the line does not say. */
  readonly time: number | null;
}

/** A result of a call. */
export interface ForeignResult extends ForeignPlace {
  readonly content: readonly Block[];
  readonly isError: boolean;
}

/** An answer of the model. */
export interface ForeignAnswer extends ForeignPlace {
  readonly content: readonly Block[];
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage | null;
  /** How the turn ends when nothing follows. Default: completed when the answer calls nothing. */
  readonly ending?: TurnEndReason;
}

/** A file that another program imported is not known to be finished: how such a turn ends in the format. */
const CUT_OFF: TurnEndReason = { kind: "aborted", reason: { kind: "legacy" } };

const UNKNOWN_BLOCKS: readonly Block[] = [{ type: "text", text: OUTCOME_UNKNOWN_TEXT }];

/** Builds events. Those that are ready are taken with {@linkcode SessionBuilder.take}. */
export class SessionBuilder {
  readonly #losses: Losses;
  #ready: SessionEvent[] = [];
  #nextSeq = 0;
  #time: number;
  #turn = 0;
  #step = 0;
  #isTurnOpen = false;
  #isStepOpen = false;
  #ending: TurnEndReason = CUT_OFF;
  /** The surface: seq and tokens of each message on it. */
  #surface: { readonly seq: number; readonly tokens: number }[] = [];
  /** Ids of calls, each with the number that its next namesake gets. */
  readonly #callIds = new Map<string, number>();
  #messages = 0;
  #provider = "unknown";
  #model = "unknown";

  /** `time` is that of whatever comes before the first line that has one. */
  constructor(losses: Losses, time: number) {
    this.#losses = losses;
    this.#time = time;
  }

  /** How many messages there are so far. */
  get messageCount(): number {
    return this.#messages;
  }

  /** The seq of the next event. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** The events since the last call. */
  take(): SessionEvent[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Somebody says something to the model. Returns the seq of the message. */
  say(content: readonly Block[], source: MessageSource, place: ForeignPlace): number {
    this.#tick(place);
    // What is said behind an answer begins a turn; what is said before one belongs to the same.
    if (this.#isTurnOpen && !this.#isStepOpen) this.endTurn();
    this.#openStep();
    return this.#surfaceEvent("user/message", this.#message("user", content, source, place), null);
  }

  /** The model answers. `resultOf` is asked once per call, in order. Returns the seq of the answer. */
  answer(answer: ForeignAnswer, resultOf: (callId: string) => ForeignResult | null): number {
    this.#tick(answer);
    this.#openStep();
    this.#provider = answer.provider;
    this.#model = answer.model;
    const calls: { readonly id: string; readonly foreignId: string; readonly name: string; readonly text: string }[] =
      [];
    const content = answer.content.map((block): Block => {
      if (block.type !== "tool-call") return block;
      const id = this.#uniqueCallId(block.id);
      calls.push({ id, foreignId: block.id, name: block.name, text: block.arguments });
      return { ...block, id };
    });
    const place = { turn: this.#turn, step: this.#step };
    const source = { kind: "model", provider: answer.provider, model: answer.model };
    const message = this.#message("assistant", content, source, answer);
    const usage = answer.usage === null ? {} : { usage: answer.usage };
    const seq = this.#surfaceEvent("assistant/message", { ...place, message, stream: [], ...usage }, message);
    const callSeqs = calls.map(({ id, name, text }) =>
      this.#add({ type: "tool/call", data: { ...place, callId: id, name, arguments: text } })
    );
    calls.forEach((call, index) => this.#result(call, callSeqs[index]!, resultOf(call.foreignId), answer));
    this.#add({ type: "step/end", data: place });
    this.#isStepOpen = false;
    this.#ending = answer.ending ?? (calls.length === 0 ? { kind: "completed" } : CUT_OFF);
    return seq;
  }

  /**
   * Everything the model has seen so far, or what stands before the message `keptFrom`, is replaced by a summary.
   *
   * @param keptFrom seq of a message on the surface that stays; `null` for none
   */
  compact(summary: readonly Block[], keptFrom: number | null, place: ForeignPlace): void {
    this.#tick(place);
    this.endTurn();
    const cut = keptFrom === null ? this.#surface.length : this.#surface.findIndex(({ seq }) => seq === keptFrom);
    if (cut < 0) this.#losses.part("where a summary's kept part begins", place.line);
    const covered = this.#surface.slice(0, cut < 0 ? this.#surface.length : cut);
    if (covered.length === 0 || covered.length > SOURCE_SEQS_MAX - 2) {
      this.say(summary, { kind: "plugin", plugin: "compact" }, place);
      this.endTurn();
      return;
    }
    const compactionId = `import-${place.line + 1}`;
    const seqs = covered.map(({ seq }) => seq);
    const [startSeq, endSeq] = [seqs[0]!, seqs.at(-1)!];
    const startEvent = this.#add({ type: "compaction/start", data: { compactionId, turn: null } });
    const summaryEvent = this.#add({
      type: "compaction/summary",
      data: {
        compactionId,
        summary,
        shadowedRange: { start: startSeq, end: endSeq },
        shadowedSeqs: seqs,
        shadowedTokenCount: covered.reduce((sum, { tokens }) => sum + tokens, 0),
        provider: this.#provider,
        model: this.#model,
      },
    });
    const source = { kind: "plugin", plugin: "compact", compactionId };
    const message = this.#message("user", summary, source, place);
    const seq = this.#add({
      type: "user/message",
      data: message,
      surfaceOp: { op: "replace", startSeq, endSeq },
      sourceEventSeqs: [startEvent, summaryEvent, ...seqs].sort((a, b) => a - b),
    });
    this.#surface.splice(0, covered.length, { seq, tokens: priceOfMessage(message) });
    this.#add({ type: "compaction/end", data: { compactionId, turn: null } });
  }

  /** Names the session. */
  title(title: string): void {
    this.#add({ type: "session/title", data: { title, messageSeqs: [], source: { kind: "user" } } });
  }

  /** Ends the open turn, as `ending` or as its last answer says. */
  endTurn(ending?: TurnEndReason): void {
    if (!this.#isTurnOpen) return;
    if (this.#isStepOpen) {
      this.#add({ type: "step/end", data: { turn: this.#turn, step: this.#step } });
      this.#isStepOpen = false;
    }
    this.#add({ type: "turn/end", data: { turn: this.#turn, reason: ending ?? this.#ending } });
    this.#isTurnOpen = false;
  }

  /** Appends an event that stands outside of turns. Returns its seq. */
  note(draft: EventDraft): number {
    this.endTurn();
    return this.#add(draft);
  }

  #openStep(): void {
    if (!this.#isTurnOpen) {
      this.#turn++;
      this.#step = 0;
      this.#add({ type: "turn/start", data: { turn: this.#turn } });
      this.#isTurnOpen = true;
      this.#ending = CUT_OFF;
    }
    if (this.#isStepOpen) return;
    this.#step++;
    this.#add({ type: "step/start", data: { turn: this.#turn, step: this.#step } });
    this.#isStepOpen = true;
  }

  #result(
    { id: callId }: { readonly id: string },
    callSeq: number,
    result: ForeignResult | null,
    answer: ForeignPlace,
  ): void {
    if (result === null) this.#losses.infer("a call without a result was closed: nobody knows what became of it");
    const { content, isError } = result ?? { content: UNKNOWN_BLOCKS, isError: true };
    if (result !== null) this.#tick(result);
    const block: Block = { type: "tool-result", toolCallId: callId, isError, content };
    const message = this.#message("user", [block], { kind: "tool", callId }, result ?? answer);
    const data = { turn: this.#turn, step: this.#step, message };
    this.#surfaceEvent("tool/result", result === null ? { ...data, error: OUTCOME_UNKNOWN_ERROR } : data, message, [
      callSeq,
    ]);
  }

  #surfaceEvent(type: string, data: unknown, message: Message | null, sourceEventSeqs?: readonly number[]): number {
    const seq = this.#add({ type, data, surfaceOp: "append", sourceEventSeqs });
    this.#surface.push({ seq, tokens: priceOfMessage(message ?? data as Message) });
    return seq;
  }

  #message(
    role: "user" | "assistant",
    content: readonly Block[],
    source: MessageSource,
    { line }: ForeignPlace,
  ): Message {
    this.#messages++;
    return { id: `import-${line + 1}-${this.#nextSeq}`, role, content, source };
  }

  /** An id of its own: a provider may use one twice, and pairs go by id alone. */
  #uniqueCallId(foreignId: string): string {
    const id = foreignId === "" ? "call" : foreignId;
    let unique = id;
    for (let count = this.#callIds.get(id); count !== undefined && this.#callIds.has(unique); count++) {
      unique = `${id}~${count}`;
      this.#callIds.set(id, count + 1);
    }
    if (unique !== foreignId) this.#losses.infer("an empty or repeated call id was replaced by one of its own");
    this.#callIds.set(unique, 2);
    return unique;
  }

  #tick({ time }: ForeignPlace): void {
    if (time !== null) this.#time = time;
  }

  #add(draft: EventDraft): number {
    const event = checkAppendable(draft, this.#nextSeq, this.#time);
    this.#ready.push(event);
    this.#nextSeq++;
    return event.seq;
  }
}
