/**
 * Logs for tests, written as they would come from a disk.
 *
 * @module
 */
import type {
  ApprovalOutcome,
  EffectClass,
  EventData,
  KnownData,
  SessionEvent,
  SurfaceOp,
} from "../../src/event/mod.ts";
import { foldEvents, logFold, type LogFolds } from "../../src/fold/mod.ts";

/** Fields of an event beside type, seq, time and data. */
export type EventRest = Pick<SessionEvent, "surfaceOp" | "sourceEventSeqs" | "ignorable">;

/** Builds one log event by event. Each method returns the seq it used. */
export class LogBuilder {
  readonly events: SessionEvent[] = [];
  turn = 0;
  step = 0;
  time = 1000;
  readonly callSeqs = new Map<string, number>();

  add<Type extends KnownData>(type: Type, data: EventData[Type], rest: EventRest = {}): number {
    const seq = this.events.length;
    this.events.push({ type, seq, time: this.time++, data, ...rest } as unknown as SessionEvent);
    return seq;
  }

  /** Appends events of another making, such as closers. */
  append(events: readonly SessionEvent[]): void {
    this.events.push(...events);
  }

  folds(): LogFolds {
    return foldEvents(logFold, this.events);
  }

  policy(barriers: EventData["checkpoint/policy"]["barriers"] = ["pre-step", "model", "tool", "question"]): number {
    return this.add("checkpoint/policy", { version: 1, barriers, marker: true }, { ignorable: true });
  }

  endSeed(): number {
    return this.add("session/end-seed", {});
  }

  startTurn(): number {
    this.step = 0;
    return this.add("turn/start", { turn: ++this.turn });
  }

  endTurn(reason: EventData["turn/end"]["reason"] = { kind: "completed" }): number {
    return this.add("turn/end", { turn: this.turn, reason });
  }

  startStep(): number {
    return this.add("step/start", { turn: this.turn, step: ++this.step });
  }

  endStep(): number {
    return this.add("step/end", this.place());
  }

  /** A turn, a step and an assistant message that proposes these calls. Returns the seq of the message. */
  openStep(...callIds: string[]): number {
    this.startTurn();
    this.startStep();
    return this.assistant(callIds);
  }

  system(text: string, surfaceOp: SurfaceOp = "append", sourceEventSeqs?: readonly number[]): number {
    const message = {
      id: `s${this.events.length}`,
      role: "system" as const,
      content: text === "" ? [] : [{ type: "text" as const, text }],
      source: { kind: "plugin", plugin: "holdfast" },
    };
    return this.add("system/message", { ...this.place(), message }, surface(surfaceOp, sourceEventSeqs));
  }

  user(text: string, surfaceOp: SurfaceOp = "append", sourceEventSeqs?: readonly number[]): number {
    const content = [{ type: "text" as const, text }];
    const message = { id: `u${this.events.length}`, role: "user" as const, content, source: { kind: "user" } };
    return this.add("user/message", message, surface(surfaceOp, sourceEventSeqs));
  }

  assistant(callIds: readonly string[], text = "", name = "pay"): number {
    const message = {
      id: `a${this.events.length}`,
      role: "assistant" as const,
      content: [
        ...(text === "" ? [] : [{ type: "text" as const, text }]),
        ...callIds.map((id) => ({ type: "tool-call" as const, id, name, arguments: argumentsOf(id) })),
      ],
      source: { kind: "model", provider: "p", model: "m" },
    };
    return this.add("assistant/message", { ...this.place(), message, stream: [] }, { surfaceOp: "append" });
  }

  call(callId: string, name = "pay"): number {
    const seq = this.add("tool/call", { ...this.place(), callId, name, arguments: argumentsOf(callId) });
    this.callSeqs.set(callId, seq);
    return seq;
  }

  marker(callId: string, change: Partial<EventData["effect/dispatched"]> = {}): number {
    const callSeq = this.callSeqs.get(callId) ?? 0;
    const effect: EffectClass = "opaque";
    const data = { ...this.place(), callId, callSeq, effectKey: effectKeyOf(callSeq), effect, ...change };
    return this.add("effect/dispatched", data, { ignorable: true });
  }

  result(callId: string, code?: string, isError = code !== undefined): number {
    const callSeq = this.callSeqs.get(callId);
    const block = { type: "tool-result" as const, toolCallId: callId, content: [], isError };
    const source = { kind: "tool", callId };
    const message = { id: `r${this.events.length}`, role: "user" as const, source, content: [block] };
    const error = code === undefined ? {} : { error: { name: "Error", code } };
    const rest = surface("append", callSeq === undefined ? undefined : [callSeq]);
    return this.add("tool/result", { ...this.place(), message, ...error }, rest);
  }

  nested(rootCallId: string, subCallId: string): number {
    const data = { rootCallId, parentCallId: rootCallId, subCallId, name: "inner", arguments: "{}" };
    const seq = this.add("tool/ptc-dispatch-start", data);
    this.callSeqs.set(subCallId, seq);
    return seq;
  }

  nestedResult(rootCallId: string, subCallId: string): number {
    const seq = this.events.length;
    const data = { rootCallId, parentCallId: rootCallId, subCallId, name: "inner", isError: false, content: [] };
    this.events.push({ type: "tool/ptc-dispatch", seq, time: this.time++, data });
    return seq;
  }

  asked(id: string, callId?: string): number {
    return this.add("approval/asked", { id, toolName: "pay", ...(callId === undefined ? {} : { callId }) });
  }

  decided(id: string, outcome: ApprovalOutcome = "allowed-once"): number {
    return this.add("approval/decided", { id, outcome });
  }

  verdict(
    callId: string,
    verdict: EventData["effect/reconciled"]["verdict"],
    text?: string,
    by: "lookup" | "person" = "person",
  ): number {
    const callSeq = this.callSeqs.get(callId) ?? 0;
    const content = text === undefined ? {} : { content: [{ type: "text" as const, text }] };
    const data = { ...this.place(), callId, callSeq, effectKey: effectKeyOf(callSeq), verdict, by, ...content };
    return this.add("effect/reconciled", data, { ignorable: true });
  }

  salvaged(): number {
    const source = { name: "x", sizeBytes: 1, sha256: "0".repeat(64) };
    const data = { version: 1, source, kept: [], dropped: [], inferred: [] };
    return this.add("log/salvaged", data, { ignorable: true });
  }

  compaction(turn: number | null, id = "k1"): number {
    return this.add("compaction/start", { compactionId: id, turn });
  }

  summary(first: number, last: number, shadowedSeqs: readonly number[], id = "k1"): number {
    return this.add("compaction/summary", {
      compactionId: id,
      summary: [{ type: "text", text: "short" }],
      shadowedRange: { start: first, end: last },
      shadowedSeqs,
      shadowedTokenCount: 9,
      provider: "p",
      model: "m",
    });
  }

  checkpoint(first: number, last: number, sources: readonly number[], id = "k1"): number {
    const source = { kind: "plugin", plugin: "compact", compactionId: id };
    const content = [{ type: "text" as const, text: "short" }];
    const message = { id: `k${this.events.length}`, role: "user" as const, content, source };
    return this.add("user/message", message, surface({ op: "replace", startSeq: first, endSeq: last }, sources));
  }

  compactionEnd(turn: number | null, error?: string, id = "k1"): number {
    return this.add("compaction/end", { compactionId: id, turn, ...(error === undefined ? {} : { error }) });
  }

  place(): { turn: number; step: number } {
    return { turn: this.turn, step: this.step };
  }
}

/** The arguments the builder gives to a call. */
export function argumentsOf(callId: string): string {
  return `{"id":${JSON.stringify(callId)}}`;
}

/** The effect key the builder gives to a call. */
export function effectKeyOf(callSeq: number): string {
  return callSeq.toString(16).padStart(32, "0");
}

function surface(surfaceOp: SurfaceOp, sourceEventSeqs: readonly number[] | undefined): EventRest {
  return sourceEventSeqs === undefined ? { surfaceOp } : { surfaceOp, sourceEventSeqs };
}

/** A state as plain data, for comparing: lists that share memory become arrays. */
export function plain(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state));
}
