/**
 * Drafts for tests of sessions, and the steps of a small turn.
 *
 * @module
 */
import type { EffectClass, EventData, EventDraft, KnownData, SessionEvent } from "../../src/event/mod.ts";
import type { Session } from "../../src/session/mod.ts";

/** A draft whose data is checked by the compiler. */
export function draft<Type extends KnownData>(
  type: Type,
  data: EventData[Type],
  rest: Pick<EventDraft, "ignorable" | "surfaceOp" | "sourceEventSeqs"> = {},
): EventDraft<Type, EventData[Type]> {
  return { type, data, ...rest };
}

/** A custom event that needs no place: allowed anywhere, as often as wanted. */
export function note(text: string): EventDraft {
  return { type: "test/note", data: { text }, ignorable: true };
}

export const turnStart = (turn = 1) => draft("turn/start", { turn });
export const turnEnd = (turn = 1) => draft("turn/end", { turn, reason: { kind: "completed" } });
export const stepStart = (turn = 1, step = 1) => draft("step/start", { turn, step });
export const stepEnd = (turn = 1, step = 1) => draft("step/end", { turn, step });

export function userMessage(text: string): EventDraft {
  const message = {
    id: `u-${text}`,
    role: "user",
    content: [{ type: "text", text }],
    source: { kind: "user" },
  } as const;
  return draft("user/message", message, { surfaceOp: "append" });
}

/** A whole small turn. */
export function appendTurn(session: Session, turn: number): void {
  session.append(turnStart(turn));
  session.append(stepStart(turn));
  session.append(userMessage(`question ${turn}`));
  session.append(stepEnd(turn));
  session.append(turnEnd(turn));
}

/** How far one call gets before the test crashes. */
export type CallProgress = "proposed" | "recorded" | "dispatched";

/** A turn that breaks off inside of its calls, each as far as it says. Returns the seqs of their `tool/call`s. */
export function appendOpenTurn(
  session: Session,
  calls: Readonly<Record<string, CallProgress>>,
  effect: EffectClass = "opaque",
): Record<string, number> {
  const turn = session.folds.brackets.lastTurn + 1;
  const place = { turn, step: 1 };
  session.append(turnStart(turn));
  session.append(stepStart(turn));
  const message = {
    id: `a-${turn}`,
    role: "assistant" as const,
    content: Object.keys(calls).map((id) => ({ type: "tool-call" as const, id, name: "pay", arguments: "{}" })),
    source: { kind: "model", provider: "p", model: "m" },
  };
  session.append(draft("assistant/message", { ...place, message, stream: [] }, { surfaceOp: "append" }));
  const seqs: Record<string, number> = {};
  for (const [callId, progress] of Object.entries(calls)) {
    if (progress === "proposed") continue;
    const callSeq = session.append(draft("tool/call", { ...place, callId, name: "pay", arguments: "{}" })).seq;
    seqs[callId] = callSeq;
    if (progress === "recorded") continue;
    const effectKey = callSeq.toString(16).padStart(32, "0");
    session.append(
      draft("effect/dispatched", { ...place, callId, callSeq, effectKey, effect }, { ignorable: true }),
    );
  }
  return seqs;
}

/** The types of some events, for comparing. */
export const typesOf = (events: readonly SessionEvent[]): string[] => events.map((event) => event.type);

/** The seqs of some events, for comparing. */
export const seqsOf = (events: readonly SessionEvent[]): number[] => events.map((event) => event.seq);

/** 0 … count − 1. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, seq) => seq);
