/**
 * What the conversation shows, from the events of the log alone: messages, and every call with its trail of evidence.
 *
 * Pure. It may begin anywhere in a log; what refers to events before the beginning is shown as far as it goes.
 *
 * @module
 */
import type { ApprovalOutcome, EffectClass, EventData, SessionEvent, TurnEndReason } from "../../mod.ts";
import { type CompactionItem, CompactionItems } from "./compaction_item.ts";
import { textOf } from "./event_line.ts";
import { isEvent } from "./is_event.ts";
import { type WaitingInput, WaitingInputs } from "./waiting_inputs.ts";

/** One call, and the seqs that prove how far it came. `null`: not in the log. */
export interface CallItem {
  readonly kind: "call";
  /** seq of the message that proposed it. */
  readonly seq: number;
  readonly callId: string;
  readonly name: string;
  readonly argumentsText: string;
  callSeq: number | null;
  asked: { readonly seq: number; readonly id: string; readonly reason: string | null } | null;
  decided: { readonly seq: number; readonly outcome: ApprovalOutcome } | null;
  dispatched: {
    readonly seq: number;
    readonly effect: EffectClass;
    readonly effectKey: string;
    readonly isRetry: boolean;
  } | null;
  result:
    | { readonly seq: number; readonly text: string; readonly isError: boolean; readonly code: string | null }
    | null;
  /** Why its turn ended before it ran: the page that held the question went, or somebody stopped the turn. */
  withdrawn: "gone" | "stopped" | null;
  /** seq of the marker of a retry, under the same key, of this call. */
  retriedSeq: number | null;
  /** The newest verdict. */
  verdict: { readonly seq: number; readonly verdict: string; readonly by: string } | null;
}

/** One thing to show, in the order of the log. */
export type Item =
  | {
    readonly kind: "person" | "notice";
    readonly seq: number;
    readonly text: string;
    readonly from: string;
  }
  | {
    readonly kind: "answer";
    readonly seq: number;
    readonly text: string;
    readonly reasoning: string;
    readonly isInterrupted: boolean;
  }
  | CallItem
  | CompactionItem
  | WaitingInput
  | { readonly kind: "ended"; readonly seq: number; readonly text: string }
  | { readonly kind: "opened"; readonly seq: number };

/** Shows a run of events. */
export function itemsOf(events: readonly SessionEvent[]): Item[] {
  const items: Item[] = [];
  const calls: CallItem[] = [];
  const waiting = new WaitingInputs();
  const compactions = new CompactionItems((item) => items.push(item));
  /** The newest call that fits; ids may repeat. */
  const find = (fits: (call: CallItem) => boolean) => calls.findLast(fits);

  for (const event of events) {
    const { seq } = event;
    if (compactions.take(event)) continue;
    if (isEvent(event, "user/message")) {
      const { id, source, content } = event.data;
      waiting.heard(id);
      const isPerson = source.kind === "user";
      items.push({
        kind: isPerson ? "person" : "notice",
        seq,
        text: textOf(content),
        from: isPerson ? "You" : noticeFrom(event.data),
      });
    } else if (isEvent(event, "agent/inbox/spliced")) {
      waiting.splice(seq, event.data);
    } else if (isEvent(event, "assistant/message")) {
      const { content } = event.data.message;
      const pick = (type: "text" | "reasoning") =>
        content.map((block) => block.type === type ? block.text : "").filter(Boolean).join("\n\n");
      const [text, reasoning] = [pick("text"), pick("reasoning")];
      const isInterrupted = event.data.interrupted === true;
      if (text !== "" || reasoning !== "") items.push({ kind: "answer", seq, text, reasoning, isInterrupted });
      for (const block of content) {
        if (block.type !== "tool-call") continue;
        const call = newCall(seq, block.id, block.name, block.arguments);
        calls.push(call);
        items.push(call);
      }
    } else if (isEvent(event, "tool/call")) {
      const { callId, name, arguments: text } = event.data;
      let call = find((call) => call.callId === callId && call.callSeq === null);
      if (call === undefined) {
        calls.push(call = newCall(seq, callId, name, text));
        items.push(call);
      }
      call.callSeq = seq;
    } else if (isEvent(event, "approval/asked")) {
      const { id, callId, reason = null } = event.data;
      const call = find((call) => call.callId === callId && call.result === null);
      if (call !== undefined) call.asked = { seq, id, reason };
    } else if (isEvent(event, "approval/decided")) {
      const call = find((call) => call.asked?.id === event.data.id);
      if (call !== undefined) call.decided = { seq, outcome: event.data.outcome };
    } else if (isEvent(event, "effect/dispatched")) {
      const { callSeq, effect, effectKey, retryOf } = event.data;
      const call = find((call) => call.callSeq === callSeq);
      if (call !== undefined) call.dispatched = { seq, effect, effectKey, isRetry: retryOf !== undefined };
      const first = retryOf === undefined ? undefined : find((call) => call.callSeq === retryOf);
      if (first !== undefined) first.retriedSeq = seq;
    } else if (isEvent(event, "effect/reconciled")) {
      const { callSeq, verdict, by } = event.data;
      const call = find((call) => call.callSeq === callSeq);
      if (call !== undefined) call.verdict = { seq, verdict, by };
    } else if (isEvent(event, "tool/result")) {
      addResult(event.seq, event.data, find);
    } else if (isEvent(event, "turn/end")) {
      items.push(...waiting.turnEnded());
      withdraw(calls, event.data.reason);
      const text = endText(event.data.reason);
      if (text !== null) items.push({ kind: "ended", seq, text });
    } else if (isEvent(event, "session/end-seed")) {
      items.push({ kind: "opened", seq });
    }
  }
  return [...items, ...waiting.all];
}

function newCall(seq: number, callId: string, name: string, argumentsText: string): CallItem {
  const nothing = {
    callSeq: null,
    asked: null,
    decided: null,
    dispatched: null,
    result: null,
    withdrawn: null,
    retriedSeq: null,
    verdict: null,
  };
  return { kind: "call", seq, callId, name, argumentsText, ...nothing };
}

function addResult(
  seq: number,
  data: EventData["tool/result"],
  find: (fits: (call: CallItem) => boolean) => CallItem | undefined,
): void {
  for (const block of data.message.content) {
    if (block.type !== "tool-result") continue;
    const call = find((call) => call.callId === block.toolCallId && call.result === null);
    if (call === undefined) continue;
    call.result = { seq, text: textOf(block.content), isError: block.isError === true, code: data.error?.code ?? null };
  }
}

/** A call that never ran says why: its turn was over. */
function withdraw(calls: readonly CallItem[], reason: TurnEndReason): void {
  if (reason.kind !== "aborted" && reason.kind !== "interrupted") return;
  const isStopped = reason.kind === "aborted" && reason.reason.kind === "user";
  // What is settled further up belongs to turns that ended before.
  for (const call of calls) {
    if (call.result !== null && call.dispatched === null) call.withdrawn ??= isStopped ? "stopped" : "gone";
  }
}

function noticeFrom(message: EventData["user/message"]): string {
  const { plugin, kind } = message.source;
  return typeof plugin === "string" ? plugin : kind;
}

/** What is worth saying about how a turn ended; `null` when it simply completed. */
function endText(reason: TurnEndReason): string | null {
  switch (reason.kind) {
    case "completed":
      return null;
    case "interrupted":
      return "The turn ended in the middle: the page or the worker that wrote it was gone.";
    case "aborted":
      return reason.reason.kind === "user"
        ? "You stopped the turn."
        : reason.reason.kind === "disposed"
        ? "The turn ended here: the page that wrote it was closed or reloaded."
        : "The turn was stopped.";
    case "max-tokens":
      return "The answer was cut: the model reached its limit.";
    case "error":
      return `The turn failed: ${reason.error.code}, ${reason.error.message}`;
    default:
      return `The turn ended: ${reason.kind}.`;
  }
}
