/**
 * A session with a conversation in it, and a summariser that does what a test says.
 *
 * @module
 */
import { compactSpan, type SpanOptions, type Summarise, type SummaryRequest } from "../../src/compaction/mod.ts";
import type { Block, EventDraft, FinishReason } from "../../src/event/mod.ts";
import { createSession, openSession, type Session } from "../../src/session/mod.ts";
import { FakeStore } from "../support/fake_store.ts";

export const TARGET = { provider: "p", model: "m", maxTokens: 8192 };

/** A new session. `change` stands between every draft and the session, and may throw. */
export async function newSession(store = new FakeStore()): Promise<Session> {
  return await createSession({ store, id: "s1" });
}

/** The session as the next process finds it. */
export async function reopened(store: FakeStore): Promise<{ session: Session; store: FakeStore }> {
  const crashed = store.crash();
  return { session: (await openSession({ store: crashed, id: "s1" })).session, store: crashed };
}

let ids = 0;

/** Says something as a person. Returns its seq. */
export function say(session: Session, text: string): number {
  const content = [{ type: "text" as const, text }];
  const data = { id: `u${ids++}`, role: "user" as const, content, source: { kind: "user" } };
  return session.append({ type: "user/message", data, surfaceOp: "append" }).seq;
}

/** Opens the next turn. */
export function openTurn(session: Session): number {
  const turn = session.folds.brackets.lastTurn + 1;
  session.append({ type: "turn/start", data: { turn } });
  return turn;
}

export function endTurn(session: Session): void {
  const turn = session.folds.brackets.turn!;
  session.append({ type: "turn/end", data: { turn, reason: { kind: "completed" } } });
}

/** A whole step with a call and its result. Returns the seqs of both messages. */
export function callStep(session: Session, callId: string, text = "a result of some length"): [number, number] {
  const { turn, lastStep } = session.folds.brackets;
  const place = { turn: turn!, step: lastStep + 1 };
  session.append({ type: "step/start", data: place });
  const call = { type: "tool-call" as const, id: callId, name: "look", arguments: "{}" };
  const source = { kind: "model", provider: "p", model: "m" };
  const message = { id: `a${ids++}`, role: "assistant" as const, content: [call], source };
  const asked = session.append({
    type: "assistant/message",
    data: { ...place, message, stream: [] },
    surfaceOp: "append",
  });
  const { seq } = session.append({ type: "tool/call", data: { ...place, callId, name: "look", arguments: "{}" } });
  const block = { type: "tool-result" as const, toolCallId: callId, content: [{ type: "text" as const, text }] };
  const result = { id: `r${ids++}`, role: "user" as const, content: [block], source: { kind: "tool", callId } };
  const answered = session.append({
    type: "tool/result",
    data: { ...place, message: result },
    surfaceOp: "append",
    sourceEventSeqs: [seq],
  });
  session.append({ type: "step/end", data: place });
  return [asked.seq, answered.seq];
}

/** Shortens a result, as a pruner does. */
export function shorten(session: Session, seq: number): void {
  const node = session.folds.surface.nodes.toArray().find((node) => node.seq === seq)!;
  const [block] = node.message.content;
  const content = [{ ...block!, content: [{ type: "text" as const, text: "short" }] }];
  session.append({
    type: "tool/result",
    data: { ...node.result!, message: { ...node.message, content } },
    surfaceOp: { op: "replace", startSeq: seq, endSeq: seq },
    sourceEventSeqs: [seq],
  });
}

/** What a summariser answers with a text. */
export function answerOf(text: string, finish: FinishReason = { kind: "stop" }) {
  return { content: [{ type: "text", text }] as readonly Block[], finish, usage: null };
}

/** Compacts. By default between turns, with a summariser that answers at once. */
export function compact(
  session: Session,
  startSeq: number,
  endSeq: number,
  options: Partial<SpanOptions> = {},
): ReturnType<typeof compactSpan> {
  return compactSpan(session, {
    startSeq,
    endSeq,
    owner: "none",
    stability: "span",
    target: TARGET,
    summarise: () => Promise.resolve(answerOf("short")),
    isFlushed: false,
    signal: new AbortController().signal,
    ...options,
  });
}

/** A summariser that waits until it is told. */
export function heldSummariser() {
  const answer = Promise.withResolvers<ReturnType<typeof answerOf>>();
  const called = Promise.withResolvers<SummaryRequest>();
  const requests: SummaryRequest[] = [];
  const summarise: Summarise = (request) => {
    requests.push(request);
    called.resolve(request);
    return answer.promise;
  };
  return { summarise, called: called.promise, requests, answer };
}

/** Lets the session refuse what `refuses` says, as a full buffer would. Returns what ends it. */
export function refusing(session: Session, refuses: (draft: EventDraft) => boolean): () => void {
  const own = session.append.bind(session);
  session.append = (draft) => {
    if (refuses(draft)) throw new RangeError(`refused "${draft.type}"`);
    return own(draft);
  };
  return () => void (session.append = own);
}

export async function typesOf(session: Session): Promise<string[]> {
  const { events } = await session.history({ limit: 100_000 });
  return events.map(({ type }) => type).filter((type) => type !== "checkpoint/policy");
}
