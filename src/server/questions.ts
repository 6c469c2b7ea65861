/**
 * Questions that wait for a person, whoever is connected: a question stays open for as long as its turn does.
 *
 * @see execution §5
 * @module
 */
import {
  type ApprovalOutcome,
  type ApprovalRequest,
  type Approver,
  type Clock,
  isEvent,
  type LiveEvent,
} from "../../mod.ts";
import { QUESTIONS_ANSWERED_MAX, QUESTIONS_OPEN_MAX } from "./limits.ts";
import { Refusal } from "./problem.ts";

/** What a person may decide. */
export type Decision = "allowed-once" | "rejected";

/** What stands in the log about a question that was closed. */
export interface Decided {
  readonly outcome: ApprovalOutcome;
  /** Of its `approval/decided`. */
  readonly seq: number;
  /** Of the arguments it was about; `null` when it was about no call. */
  readonly argumentsDigest: string | null;
}

interface OpenQuestion {
  readonly request: ApprovalRequest;
  readonly askedAt: number;
  /** Settles when its `approval/decided` is appended, or when it is clear that none comes. */
  readonly decided: PromiseWithResolvers<Decided>;
  /** Hands the answer to the turn that waits; `null` once it was given. */
  answer: ((outcome: ApprovalOutcome) => void) | null;
  readonly stopDeadline: () => void;
}

/** A question as it is shown. */
export interface ShownQuestion {
  readonly request: ApprovalRequest;
  readonly askedAt: number;
}

/**
 * The open questions of one token, and the newest of those that were answered.
 *
 * @example
 * ```ts
 * import { Questions } from "./questions.ts";
 *
 * const questions = new Questions({ clock: { now: () => 0, schedule: () => () => {} }, deadlineMs: null });
 * const asked = questions.approver({ id: "q", sessionId: "s", toolName: "pay" }, new AbortController().signal);
 * const decided = questions.decide("s", "q", "rejected", null);
 * if (await asked !== "rejected") throw new Error("unreachable");
 * const event = { type: "approval/decided", seq: 5, time: 0, data: { id: "q", outcome: "rejected" } };
 * questions.hear("s", { kind: "event", event });
 * if ((await decided)?.seq !== 5) throw new Error("unreachable");
 * ```
 */
export class Questions {
  readonly #clock: Clock;
  readonly #deadlineMs: number | null;
  /** By session, then by id. An entry leaves when its `approval/decided` is in the log, or its turn ended without. */
  readonly #open = new Map<string, Map<string, OpenQuestion>>();
  #openCount = 0;
  /** By session and id; oldest first. */
  readonly #answered = new Map<string, Decided>();

  /** `deadlineMs`: how long a question waits before it counts as unanswered; `null` = for ever. */
  constructor({ clock, deadlineMs }: { readonly clock: Clock; readonly deadlineMs: number | null }) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Asks whoever may come: resolves with the answer, or when the turn is cancelled. */
  readonly approver: Approver = (request, signal) => {
    if (this.#openCount >= QUESTIONS_OPEN_MAX) return "unavailable";
    if (signal.aborted) return "cancelled";
    const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
    const decided = Promise.withResolvers<Decided>();
    decided.promise.catch(() => {});
    const stopDeadline = this.#deadlineMs === null
      ? () => {}
      : this.#clock.schedule(this.#deadlineMs, () => give("unavailable"));
    const question: OpenQuestion = { request, askedAt: this.#clock.now(), decided, answer: give, stopDeadline };
    function give(outcome: ApprovalOutcome): void {
      question.answer = null;
      stopDeadline();
      signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    }
    function onAbort(): void {
      give("cancelled");
    }
    signal.addEventListener("abort", onAbort);
    const { sessionId, id } = request;
    this.#open.set(sessionId, (this.#open.get(sessionId) ?? new Map()).set(id, question));
    this.#openCount += 1;
    return promise;
  };

  /** The questions of a session that wait for an answer, oldest first. */
  of(sessionId: string): ShownQuestion[] {
    return [...this.#open.get(sessionId)?.values() ?? []].filter(({ answer }) => answer !== null);
  }

  /**
   * Answers an open question, and waits until the answer is in the log. The first answer counts.
   *
   * @param argumentsDigest what the person saw; must be that of the call, `null` for a question about none
   * @returns what is in the log, which is another outcome when somebody was faster; `null` when no such question is open here
   * @throws {Refusal} when the arguments are others; the question stays open
   */
  async decide(
    sessionId: string,
    id: string,
    decision: Decision,
    argumentsDigest: string | null,
  ): Promise<Decided & { readonly already: boolean } | null> {
    const question = this.#open.get(sessionId)?.get(id);
    if (question === undefined) {
      const known = this.#answered.get(keyOf(sessionId, id));
      if (known === undefined) return null;
      checkDigest(id, known.argumentsDigest, argumentsDigest);
      return { ...known, already: true };
    }
    checkDigest(id, question.request.argumentsDigest ?? null, argumentsDigest);
    const already = question.answer === null;
    question.answer?.(decision);
    return { ...await question.decided.promise, already };
  }

  /** Told everything that happens in a session: what is appended about a question, and when a turn is over. */
  hear(sessionId: string, live: LiveEvent): void {
    const open = this.#open.get(sessionId);
    if (open === undefined) return;
    if (live.kind === "event" && isEvent(live.event, "approval/decided")) {
      const { data: { id, outcome }, seq } = live.event;
      const question = open.get(id);
      if (question === undefined) return;
      const decided = { outcome, seq, argumentsDigest: question.request.argumentsDigest ?? null };
      this.#remember(keyOf(sessionId, id), decided);
      question.decided.resolve(decided);
      this.#forget(sessionId, question);
    } else if (live.kind === "status" && live.status === "idle") {
      for (const question of open.values()) {
        question.decided.reject(
          new Refusal(409, "QUESTION_CLOSED", `Cannot decide question "${question.request.id}": its turn has ended`),
        );
        this.#forget(sessionId, question);
      }
    }
  }

  #forget(sessionId: string, { request: { id }, stopDeadline }: OpenQuestion): void {
    stopDeadline();
    const open = this.#open.get(sessionId);
    if (open?.delete(id)) this.#openCount -= 1;
    if (open?.size === 0) this.#open.delete(sessionId);
  }

  #remember(key: string, decided: Decided): void {
    this.#answered.set(key, decided);
    if (this.#answered.size <= QUESTIONS_ANSWERED_MAX) return;
    for (const oldest of this.#answered.keys()) {
      this.#answered.delete(oldest);
      break;
    }
  }
}

/**
 * Refuses an answer that was given about other arguments than those that would run.
 *
 * @throws {Refusal}
 *
 * @example
 * ```ts
 * import { checkDigest } from "./questions.ts";
 *
 * checkDigest("q", "ab", "ab");
 * ```
 */
export function checkDigest(id: string, asked: string | null, given: string | null): void {
  if (asked === given) return;
  const found = given === null ? "no argumentsDigest was given" : "it was about other arguments";
  throw new Refusal(422, "ARGUMENTS_CHANGED", `Cannot decide question "${id}": ${found}`, { argumentsDigest: asked });
}

function keyOf(sessionId: string, id: string): string {
  return `${sessionId}\n${id}`;
}
