/**
 * Questions that wait for a person, and the answers that were given. The first answer counts.
 *
 * @module
 */
import {
  type ApprovalOutcome,
  type ApprovalRequest,
  argumentsDigest as digestOf,
  NotFoundError,
  type Session,
} from "../../mod.ts";
import type { OpenQuestion, PageCalls, RepeatedCall } from "../protocol.ts";
import { Refusal } from "./wire.ts";

/** What a person may answer. */
export type Decision = PageCalls["answer"]["ask"]["decision"];

/** What a call would change in a file. */
export type FileChange = NonNullable<OpenQuestion["fileChange"]>;

/** Says what a call would change in a file; `null` for a call that writes none. */
export type FileChangeOf = (toolName: string, argumentsText: string) => Promise<FileChange | null>;

/** How many answers are remembered, for whoever answers again. */
const ANSWERS_REMEMBERED = 256;
/** How many events at the end of a log are searched for an answer of an earlier owner. */
const ANSWER_SEARCH_EVENTS = 1_000;

/** How much of the arguments stands in for a reason that was not given, in UTF-16 units. */
const REASON_ARGUMENTS_MAX = 400;

/** The questions of one open session. */
export class Questions {
  readonly #session: Session;
  readonly #fileChangeOf: FileChangeOf;
  readonly #onChange: () => void;
  /** Those that are shown. Each leaves when it is answered or its turn is cancelled. */
  readonly #open = new Map<string, { readonly shown: OpenQuestion; readonly decide: (decision: Decision) => void }>();
  /** Oldest first; at most ANSWERS_REMEMBERED. */
  readonly #answers = new Map<string, Decision>();

  constructor(session: Session, fileChangeOf: FileChangeOf, onChange: () => void) {
    this.#session = session;
    this.#fileChangeOf = fileChangeOf;
    this.#onChange = onChange;
  }

  get open(): readonly OpenQuestion[] {
    return [...this.#open.values()].map(({ shown }) => shown);
  }

  /** Shows a question and waits for its answer. For an approver. */
  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalOutcome> {
    const shown = await this.#shown(request);
    if (signal.aborted) return "cancelled";
    const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
    const onAbort = () => resolve("cancelled");
    signal.addEventListener("abort", onAbort, { once: true });
    this.#open.set(request.id, { shown, decide: resolve });
    this.#onChange();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#open.delete(request.id);
      this.#onChange();
    }
  }

  /**
   * Takes an answer. Resolves when it is durable.
   *
   * @throws {Refusal} `ALREADY_EXISTS` when another answer was given before
   * @throws {NotFoundError} when there is no such question, or it was closed without an answer
   */
  async answer(question: string, decision: Decision): Promise<{ readonly isFirst: boolean }> {
    const waiting = this.#open.get(question);
    if (waiting !== undefined && !this.#answers.has(question)) {
      this.#remember(question, decision);
      const logged = this.#decided(question);
      waiting.decide(decision);
      await logged;
      await this.#session.flush();
      return { isFirst: true };
    }
    const first = this.#answers.get(question) ?? await this.#answerInLog(question);
    if (first === decision) return { isFirst: false };
    if (first === null) throw new NotFoundError(`Cannot answer question "${question}": it is not open`);
    throw new Refusal("ALREADY_EXISTS", `Cannot answer question "${question}": the answer was "${first}"`);
  }

  #remember(question: string, decision: Decision): void {
    this.#answers.set(question, decision);
    if (this.#answers.size > ANSWERS_REMEMBERED) this.#answers.delete(this.#answers.keys().next().value!);
  }

  /** Resolves when the answer is in the log. */
  #decided(question: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#session.subscribe((event) => {
      if (event.type !== "approval/decided" || (event.data as { readonly id?: unknown }).id !== question) return;
      stop();
      resolve();
    });
    return promise;
  }

  async #answerInLog(question: string): Promise<Decision | null> {
    const from = Math.max(0, this.#session.nextSeq - ANSWER_SEARCH_EVENTS);
    for (let next: number | null = from; next !== null;) {
      const { events, nextFrom } = await this.#session.history({ from: next });
      for (const { type, data } of events) {
        const { id, outcome } = data as { readonly id?: unknown; readonly outcome?: unknown };
        if (type !== "approval/decided" || id !== question) continue;
        return outcome === "allowed-once" || outcome === "rejected" ? outcome : null;
      }
      next = nextFrom;
    }
    return null;
  }

  /** The question as the page shows it. The arguments are those of the durable `tool/call`. */
  async #shown(request: ApprovalRequest): Promise<OpenQuestion> {
    const { id, toolName, callId = null, callSeq = null, argumentsDigest = null } = request;
    const argumentsText = callSeq === null ? "" : await this.#argumentsAt(callSeq);
    const reason = request.reason?.trim() || reasonFrom(toolName, argumentsText);
    const fileChange = await this.#fileChangeOf(toolName, argumentsText).catch(() => null);
    const repeats = await this.#repeated(request);
    return { question: id, callId, callSeq, toolName, reason, argumentsText, argumentsDigest, fileChange, repeats };
  }

  /** The equal call whose outcome nobody knows; `null` when this one would be the first. */
  async #repeated({ toolName, callSeq, argumentsDigest }: ApprovalRequest): Promise<RepeatedCall | null> {
    if (callSeq === undefined || argumentsDigest === undefined) return null;
    const equal: RepeatedCall[] = [];
    for (const { name, callSeq, effect, isClosed, arguments: text } of this.#session.folds.unresolved.effects) {
      // What is not over runs beside this one: that is a second effect, not one that is repeated.
      if (name === toolName && isClosed && await digestOf(text) === argumentsDigest) equal.push({ callSeq, effect });
    }
    const isOpaque = equal.some(({ effect }) => effect === "opaque");
    return equal.length === 0 ? null : { ...equal[0]!, ...(isOpaque ? { effect: "opaque" } : {}) };
  }

  async #argumentsAt(callSeq: number): Promise<string> {
    const { events: [call] } = await this.#session.history({ from: callSeq, limit: 1 });
    const { arguments: text } = (call?.data ?? {}) as { readonly arguments?: unknown };
    return typeof text === "string" ? text : JSON.stringify(text ?? null);
  }
}

/** What a person is asked where the tool gives no reason: nobody can answer an empty question. */
function reasonFrom(toolName: string, argumentsText: string): string {
  const isCut = argumentsText.length > REASON_ARGUMENTS_MAX;
  return `${toolName} ${argumentsText.slice(0, REASON_ARGUMENTS_MAX)}${isCut ? "…" : ""}`.trim();
}
