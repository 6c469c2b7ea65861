/**
 * Checks a log that our loop wrote against the specification, and makes its requests again. Uses none of our code but types.
 *
 * @see execution §1; session-format §3.6, §4
 * @module
 */
import type { EventData, Message, SessionEvent } from "../../src/event/mod.ts";

/** What was found. */
export interface LogFindings {
  /** What is wrong, each with its seq. Empty for a good log. */
  readonly problems: readonly string[];
  /** The JSON of every request the log tells of, in order. */
  readonly requests: readonly string[];
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  callSeq: number | null;
  hasMarker: boolean;
  isAnswered: boolean;
}

/** Reads a whole log. `isLive` = nothing crashed at its end, so that a turn without an end is wrong. */
export function checkLog(sessionId: string, events: readonly SessionEvent[], isLive = true): LogFindings {
  const checker = new Checker(sessionId);
  events.forEach((event, index) => checker.take(event, index, events));
  if (isLive) checker.end(events.length);
  return checker;
}

class Checker implements LogFindings {
  readonly problems: string[] = [];
  readonly requests: string[] = [];
  readonly #sessionId: string;
  readonly #surface: { seq: number; message: Message }[] = [];
  readonly #messageIds = new Set<string>();
  readonly #inbox: Record<"next-turn" | "next-step", Message[]> = { "next-turn": [], "next-step": [] };
  readonly #claimed = new Set<string>();
  readonly #questions = new Set<string>();
  readonly #retries = new Set<string>();
  readonly #effectKeys = new Set<string>();
  #header: unknown = null;
  #hasHeaderNow = false;
  #turn: number | null = null;
  #lastTurn = 0;
  #step: number | null = null;
  #lastStep = 0;
  #isInterrupted = false;
  /** Whether the last turn that ended was cut off by a crash or a shutdown. */
  #wasCutOff = false;
  #hasAnswer = false;
  #calls: Call[] = [];
  /** Calls that bodies made, by their id. */
  #nested = new Map<string, Call>();

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  take(event: SessionEvent, index: number, events: readonly SessionEvent[]): void {
    const bad = (what: string) => void this.problems.push(`${event.seq} ${event.type}: ${what}`);
    const want = (isTrue: boolean, what: string) => isTrue || bad(what);
    const is = <Type extends keyof EventData>(type: Type) => event.type === type;
    const data = event.data as never;

    want(event.seq === index, `is event ${index}`);
    want(Number.isSafeInteger(event.time), `has time ${event.time}`);
    if (this.#isInterrupted) want(is("session/end-seed"), "follows an interrupted turn");
    this.#isInterrupted = false;

    if (is("turn/start")) this.#startTurn(data, want);
    else if (is("turn/end")) this.#endTurn(data, want);
    else if (is("step/start")) this.#startStep(data, want);
    else if (is("step/end")) this.#endStep(data, want);
    else if (is("session/end-seed")) {
      want(this.#turn === null, "comes inside of a turn");
      this.#hasHeaderNow = false;
    } else if (is("agent/inbox/spliced")) this.#splice(data, want);
    else if (is("system/message")) {
      const { turn, step, message } = data as EventData["system/message"];
      want(turn === this.#turn && step === this.#step, "is outside of its step");
      if (event.surfaceOp === "append") {
        want(this.#surface.length === 0, "is not at the head");
        this.#surface.push({ seq: event.seq, message });
      } else {
        want(this.#surface[0]?.message.role === "system", "replaces no system message");
        this.#surface[0] = { seq: event.seq, message };
      }
      this.#takeId(message, want);
    } else if (is("user/message")) {
      want(this.#step !== null && !this.#hasAnswer, "is not at the start of a step");
      const { id, source } = data as Message;
      want(source.kind !== "user" || this.#claimed.has(id), "was never claimed");
      this.#append(event, data, want);
    } else if (is("request/header")) {
      const { header, reason } = data as EventData["request/header"];
      want(this.#step !== null, "is outside of a step");
      const isFirst = !this.#hasHeaderNow;
      want(isFirst === (reason === "initial" || reason === "resume"), `has the reason ${reason}`);
      want((reason === "initial") <= (this.#header === null), "is initial a second time");
      if (reason === "series") want(JSON.stringify(header) === JSON.stringify(this.#header), "changes in a series");
      if (reason === "change") want(JSON.stringify(header) !== JSON.stringify(this.#header), "changes nothing");
      this.#header = header;
      this.#hasHeaderNow = true;
    } else if (is("assistant/attempt")) {
      this.#answer(data, want);
    } else if (is("assistant/message")) {
      this.#answer(data, want);
      const { message, interrupted } = data as EventData["assistant/message"];
      want(!this.#hasAnswer, "is a second answer");
      this.#hasAnswer = true;
      this.#append(event, message, want);
      for (const block of message.content) {
        if (block.type !== "tool-call") continue;
        want(interrupted !== true, "was interrupted and calls");
        want(block.id !== "" && !this.#surfaceCallIds(event.seq).has(block.id), `uses the id "${block.id}" again`);
        const { id, name, arguments: text } = block;
        want(!this.#calls.some((call) => call.id === id), `uses the id "${id}" twice`);
        this.#calls.push({ id, name, arguments: text, callSeq: null, hasMarker: false, isAnswered: false });
      }
    } else if (is("call/renamed")) {
      const before = events[index - 1]?.type;
      want(before === "assistant/message" || before === "call/renamed", "is not behind its message");
    } else if (is("tool/call")) {
      const { callId, name, arguments: text } = data as EventData["tool/call"];
      const next = this.#calls.find(({ callSeq }) => callSeq === null);
      want(next?.id === callId, `is "${callId}", and the next call is "${next?.id}"`);
      want(next?.name === name && next.arguments === text, "is not the call that was proposed");
      if (next !== undefined) next.callSeq = event.seq;
    } else if (is("effect/dispatched")) {
      const { callId, callSeq, effectKey, retryOf } = data as EventData["effect/dispatched"];
      const call = this.#calls.find(({ id }) => id === callId) ?? this.#nested.get(callId);
      want(call?.callSeq === callSeq && !call.isAnswered && !call.hasMarker, `marks "${callId}"`);
      if (call !== undefined) call.hasMarker = true;
      want(/^[0-9a-f]{32}$/.test(effectKey), `has the key "${effectKey}"`);
      want(retryOf !== undefined || !this.#effectKeys.has(effectKey), "uses a key again");
      this.#effectKeys.add(effectKey);
    } else if (is("tool/result")) {
      const { message, error } = data as EventData["tool/result"];
      const next = this.#calls.find(({ isAnswered }) => !isAnswered);
      want(next?.id === message.source.callId, `answers "${message.source.callId}", and next is "${next?.id}"`);
      const isNotStarted = error?.code === "TOOL_NOT_STARTED";
      want(next?.callSeq != null || isNotStarted, "answers what was not recorded");
      if (next?.callSeq != null) want(event.sourceEventSeqs?.join() === `${next.callSeq}`, "does not cite its call");
      if (next !== undefined) next.isAnswered = true;
      this.#append(event, message, want);
    } else if (is("tool/ptc-dispatch-start")) {
      const { rootCallId, parentCallId, subCallId, name, arguments: text } =
        data as EventData["tool/ptc-dispatch-start"];
      const root = this.#calls.find(({ id }) => id === rootCallId);
      want(root?.hasMarker === true && !root.isAnswered, `lies under "${rootCallId}", which does not run`);
      want(parentCallId === rootCallId || this.#nested.get(parentCallId)?.isAnswered === false, "has no parent");
      want(!this.#nested.has(subCallId), `uses the id "${subCallId}" again`);
      const call = { id: subCallId, name, arguments: text, callSeq: event.seq, hasMarker: false, isAnswered: false };
      this.#nested.set(subCallId, call);
    } else if (event.type === "tool/ptc-dispatch") {
      const call = this.#nested.get((data as { subCallId: string }).subCallId);
      want(call?.isAnswered === false, "answers nothing");
      if (call !== undefined) call.isAnswered = true;
    } else if (is("approval/asked")) {
      const { id } = data as EventData["approval/asked"];
      want(this.#turn !== null && !this.#questions.has(id), "is asked out of place");
      this.#questions.add(id);
    } else if (is("approval/decided")) {
      want(this.#questions.delete((data as EventData["approval/decided"]).id), "answers nothing");
    } else if (event.type === "llm/retry") {
      this.#retries.add((data as { retryId: string }).retryId);
    } else if (event.type === "llm/retry-started") {
      want(this.#retries.delete((data as { retryId: string }).retryId), "starts nothing");
    }
  }

  end(seq: number): void {
    if (this.#turn !== null) this.problems.push(`${seq}: turn ${this.#turn} is open`);
  }

  #startTurn({ turn }: EventData["turn/start"], want: Want): void {
    want(this.#turn === null, `opens while turn ${this.#turn} is open`);
    want(turn === this.#lastTurn + 1, `is not turn ${this.#lastTurn + 1}`);
    this.#turn = this.#lastTurn = turn;
    this.#lastStep = 0;
  }

  #endTurn({ turn, reason }: EventData["turn/end"], want: Want): void {
    want(turn === this.#turn && this.#step === null, "closes another turn, or an open step");
    want(this.#questions.size === 0, "leaves a question open");
    const isCut = ["aborted", "error", "interrupted", "blocked"].includes(reason.kind);
    want(isCut || this.#lastStep === 0 || this.#hasAnswer, `is ${reason.kind}, and nothing was answered`);
    this.#turn = null;
    this.#retries.clear();
    this.#isInterrupted = reason.kind === "interrupted";
    this.#wasCutOff = this.#isInterrupted || (reason.kind === "aborted" && reason.reason.kind === "disposed");
  }

  #startStep({ turn, step }: EventData["step/start"], want: Want): void {
    want(turn === this.#turn && this.#step === null && step === this.#lastStep + 1, "opens out of place");
    want(this.#lastStep === 0 || this.#hasAnswer, "follows a step without an answer");
    this.#step = this.#lastStep = step;
    this.#hasAnswer = false;
    this.#calls = [];
    this.#nested = new Map();
  }

  #endStep({ turn, step }: EventData["step/end"], want: Want): void {
    want(turn === this.#turn && step === this.#step, "closes another step");
    for (const call of this.#calls) want(call.isAnswered, `leaves "${call.id}" unanswered`);
    this.#step = null;
  }

  #splice({ target, start, removedCount = 0, inserted, outcome }: EventData["agent/inbox/spliced"], want: Want): void {
    const list = this.#inbox[target];
    want(start + removedCount <= list.length, "reaches outside of its list");
    const removed = list.splice(start, removedCount, ...inserted);
    const all = [...this.#inbox["next-turn"], ...this.#inbox["next-step"]].map(({ id }) => id);
    want(new Set(all).size === all.length, "lets a message wait twice");
    for (const { id } of inserted) {
      if (!this.#claimed.delete(id)) continue;
      want(
        this.#wasCutOff && !this.#messageIds.has(id),
        `puts "${id}" back, and no crash had cut off its turn untold`,
      );
    }
    if (removed.length === 0 || outcome === "canceled") return;
    want(this.#turn !== null && this.#step === null, "claims outside of a turn, or within a step");
    if (target === "next-turn") want(removed.length === 1 && this.#lastStep === 0, "claims more than one message");
    for (const { id } of removed) {
      want(!this.#claimed.has(id), `claims "${id}" again`);
      this.#claimed.add(id);
    }
  }

  /** Whatever came for a request. */
  #answer({ turn, step }: { readonly turn: number; readonly step: number }, want: Want): void {
    want(turn === this.#turn && step === this.#step, "is outside of its step");
    want(this.#hasHeaderNow, "has no header in this lifecycle");
    const messages = this.#surface.map(({ message }) => message).filter(({ role, content }) =>
      role === "user" || content.length > 0
    );
    this.requests.push(JSON.stringify({ sessionId: this.#sessionId, header: this.#header, messages }));
  }

  #append({ seq, surfaceOp }: SessionEvent, message: Message, want: Want): void {
    want(surfaceOp === "append", "replaces something");
    this.#surface.push({ seq, message });
    this.#takeId(message, want);
  }

  #takeId({ id }: Message, want: Want): void {
    want(!this.#messageIds.has(id), `uses the message id "${id}" again`);
    this.#messageIds.add(id);
  }

  #surfaceCallIds(beforeSeq: number): Set<string> {
    const before = this.#surface.filter(({ seq }) => seq < beforeSeq);
    const blocks = before.flatMap(({ message }) => message.content);
    return new Set(blocks.flatMap((block) => block.type === "tool-call" ? [block.id] : []));
  }
}

type Want = (isTrue: boolean, what: string) => unknown;
