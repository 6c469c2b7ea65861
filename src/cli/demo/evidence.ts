/**
 * What a log proves about each proposed payment, and whether the bank agrees.
 *
 * @module
 */
import { type CallClass, isEvent, type OpenTurn, type SessionEvent, type SessionStore } from "../../../mod.ts";
import type { Payment } from "./bank.ts";
import type { Pay } from "./payer.ts";

/** What the durable log holds about one call. Each number is the seq of an event. */
export interface Evidence {
  readonly callId: string;
  readonly pay: Pay;
  readonly called: number | null;
  readonly dispatched: number | null;
  readonly effectKey: string | null;
  readonly result: number | null;
}

/** Reads the log of a killed session before anybody repairs it. */
export async function readEvidence(store: SessionStore, id: string): Promise<Evidence[]> {
  const events: SessionEvent[] = [];
  await using _ = await store.open(id, "read", { visit: (event) => void events.push(event) });
  const evidence: Evidence[] = [];
  for (const event of events) {
    if (!isEvent(event, "assistant/message")) continue;
    for (const block of event.data.message.content) {
      if (block.type === "tool-call") evidence.push(evidenceFor(block.id, JSON.parse(block.arguments), events));
    }
  }
  return evidence;
}

function evidenceFor(callId: string, pay: Pay, events: readonly SessionEvent[]): Evidence {
  let found: Evidence = { callId, pay, called: null, dispatched: null, effectKey: null, result: null };
  for (const event of events) {
    const { seq } = event;
    if (isEvent(event, "tool/call") && event.data.callId === callId) found = { ...found, called: seq };
    if (isEvent(event, "effect/dispatched") && event.data.callId === callId) {
      found = { ...found, dispatched: seq, effectKey: event.data.effectKey };
    }
    if (isEvent(event, "tool/result") && event.data.message.source.callId === callId) found = { ...found, result: seq };
  }
  return found;
}

/** The class the restarted process gave a call; a call with a result needs none. */
export function classFor({ callId, result }: Evidence, calls: OpenTurn["calls"]): CallClass | "done" | "none" {
  return calls.find((call) => call.callId === callId)?.class ?? (result === null ? "none" : "done");
}

/** What the bank did about one payee. Looked up by payee, not by key: it must not depend on what the log says. */
export function paymentOf({ pay }: Evidence, payments: readonly Payment[]): Payment | null {
  return payments.find((payment) => payment.to === pay.to) ?? null;
}

/** Whether the class says nothing untrue. An unknown is never untrue, so the story also says which class it expects. */
export function isTrue(given: ReturnType<typeof classFor>, payment: Payment | null): boolean {
  if (given === "not_started" || given === "not_dispatched") return payment === null;
  if (given === "done") return payment?.paidAt != null;
  return given === "outcome_unknown";
}

/** Whether what asking the bank settled is what the bank did, then and until now. */
export function isVerdictTrue(verdict: string, { effectKey }: Evidence, payments: readonly Payment[]): boolean {
  const isPaid = payments.some(({ key, paidAt }) => key === effectKey && paidAt !== null);
  return verdict === "happened" ? isPaid : verdict === "absent" ? !isPaid : false;
}

/** The truth in a few words, relative to the kill. */
export function truthInWords(payment: Payment | null, killedAt: number): string {
  if (payment === null) return "never asked, not paid";
  if (payment.paidAt === null) return "asked, not paid";
  const ms = payment.paidAt - killedAt;
  const size = Math.abs(ms) < 1000 ? `${Math.abs(ms)} ms` : `${(Math.abs(ms) / 1000).toFixed(1)} s`;
  return `paid, ${size} ${ms < 0 ? "before" : "after"} the kill`;
}
