/**
 * Verdicts: what a lookup or a person found out about an effect whose outcome was unknown.
 *
 * The verdict is an event. When the call is closed already, its result stays as the model has read it, and the model is told
 * once, by a notice that waits in the inbox for the next step.
 *
 * @see architecture "Order at resume"
 * @module
 */
import { NotFoundError } from "../errors.ts";
import type { Block, EventData, EventDraft, Message, SessionEvent } from "../event/mod.ts";
import { type LogFolds, noticeId, type UnresolvedEffect } from "../fold/mod.ts";
import type { Random } from "../runtime/runtime.ts";
import type { Session } from "./session.ts";

/** What was found out. `happened` and `absent` are final, `retry` lets the model call the tool again without a question. */
export interface Finding {
  /** `undecidable` goes on record and leaves the effect unknown. */
  readonly verdict: "happened" | "absent" | "undecidable" | "retry";
  /** The result a lookup recovered, for `happened`. */
  readonly content?: readonly Block[];
  /** How it is known, for a person. */
  readonly note?: string;
}

/** What the model reads about a call it believes to be unknown. Stored in logs. */
const NOTICE_TEXTS: Readonly<Record<"happened" | "absent" | "retry", string>> = {
  happened: "It was checked afterwards: the operation took effect. Do not call it again.",
  absent: "It was checked afterwards: the operation did not take effect. Call it again if it is still needed.",
  retry: "It is still unknown. A person allows the same call once more.",
};

/**
 * The events of one verdict, to be appended together: the verdict, and the notice when no closer will tell the model.
 *
 * @param folds the state they will be appended to
 * @param random draws a key for the event of an effect that never had one
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { verdictDrafts } from "./verdict.ts";
 *
 * const call = { turn: 1, step: 1, callId: "c", callSeq: 5, name: "pay", arguments: "{}" };
 * const effect = { ...call, effectKey: "0".repeat(32), effect: "opaque", isClosed: true, retryGranted: false } as const;
 * const random = { bytes: (size: number) => new Uint8Array(size) };
 * const drafts = verdictDrafts(logFold.initial(), effect, { verdict: "absent" }, "lookup", random);
 * if (drafts.map((draft) => draft.type).join() !== "effect/reconciled,agent/inbox/spliced") throw new Error("unreachable");
 * ```
 */
export function verdictDrafts(
  folds: LogFolds,
  effect: UnresolvedEffect,
  finding: Finding,
  by: "lookup" | "person",
  random: Random,
): EventDraft[] {
  const { turn, step, callId, callSeq } = effect;
  const { verdict, content, note } = finding;
  const data: EventData["effect/reconciled"] = {
    ...{ turn, step, callId, callSeq, effectKey: effect.effectKey ?? hex(random.bytes(16)), verdict, by },
    ...(content === undefined ? {} : { content }),
    ...(note === undefined ? {} : { note }),
  };
  const drafts: EventDraft[] = [{ type: "effect/reconciled", data, ignorable: true }];
  const hasCloser = folds.pendingCalls.calls.some((call) => call.callSeq === callSeq);
  if (verdict !== "undecidable" && !hasCloser) {
    const inserted = [noticeOf(effect, verdict, finding, folds.nextSeq)];
    const start = folds.inbox.nextStep.length;
    drafts.push({ type: "agent/inbox/spliced", data: { target: "next-step", start, inserted } });
  }
  return drafts;
}

/**
 * The notices that a crash took away from their verdicts: only the verdict got as far as the log. The model is told now.
 *
 * @returns one draft, or none when every verdict was told
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { owedNotices } from "./verdict.ts";
 *
 * if (owedNotices(logFold.initial()).length !== 0) throw new Error("unreachable");
 * ```
 */
export function owedNotices({ unresolved: { untold }, inbox }: Pick<LogFolds, "unresolved" | "inbox">): EventDraft[] {
  if (untold.length === 0) return [];
  const inserted = untold.map(({ effect, seq, data }) => noticeOf(effect, data.verdict, data, seq));
  return [{ type: "agent/inbox/spliced", data: { target: "next-step", start: inbox.nextStep.length, inserted } }];
}

/**
 * Writes what a person found out about an effect, durable when it resolves.
 *
 * @returns the `effect/reconciled` event
 * @throws {NotFoundError} when nothing unknown has this `callSeq`
 * @throws {TypeError} when its body may still be running in this session
 *
 * @example
 * ```ts
 * import type { Session } from "./session.ts";
 * import { settleByPerson } from "./verdict.ts";
 *
 * async function paid(session: Session, callSeq: number): Promise<void> {
 *   await settleByPerson(session, { callSeq, verdict: "happened", note: "it is on the bank statement" });
 * }
 * ```
 */
export async function settleByPerson(
  session: Session,
  finding: Finding & { readonly callSeq: number },
): Promise<SessionEvent> {
  const { callSeq, ...found } = finding;
  const effect = session.folds.unresolved.effects.find((effect) => effect.callSeq === callSeq);
  if (effect === undefined) {
    const known = session.folds.unresolved.effects.map((effect) => effect.callSeq).join(", ") || "none";
    throw new NotFoundError(`Cannot settle call ${callSeq} of session "${session.id}": unknown outcomes are ${known}`);
  }
  if (!effect.isClosed) {
    throw new TypeError(
      `Cannot settle call ${callSeq} of session "${session.id}": it has no result yet, it may be running`,
    );
  }
  const drafts = verdictDrafts(session.folds, effect, found, "person", session.random);
  const events = drafts.map((draft) => session.append(draft));
  await session.flush();
  return events[0]!;
}

function noticeOf(
  { callId, callSeq, name }: UnresolvedEffect,
  verdict: "happened" | "absent" | "retry",
  { content = [], note }: Pick<Finding, "content" | "note">,
  verdictSeq: number,
): Message {
  const found = note === undefined ? "" : ` Note: ${note}`;
  const text = `The outcome of the earlier call "${callId}" of tool "${name}" was unknown. ${
    NOTICE_TEXTS[verdict]
  }${found}`;
  return {
    id: noticeId(callSeq, verdictSeq),
    role: "user",
    content: [{ type: "text", text }, ...content],
    source: { kind: "plugin", plugin: "holdfast", form: "notice", summary: `${name}: ${verdict}` },
  };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
