/**
 * The desk of a server: does for others what they ask of the sessions it writes, and takes over sessions whose owner is gone.
 *
 * @module
 */
import { type AgentSession, heardSeq, isEvent, type SessionEvent, type SessionStore } from "../../mod.ts";
import type { Command, CommandDesk, CommandTable, SharedStore } from "../entry/shared_store.ts";
import { isAnothersNow } from "./elsewhere.ts";
import type { HostedSessions } from "./hosted_sessions.ts";
import { problemOf, Refusal } from "./problem.ts";
import type { Decision, Questions } from "./questions.ts";
import { checkSame } from "./same_input.ts";

/** The outcome of an input that was in the log before the command came. */
export const REPEATED = "repeated";

/** What is in the body of an input. */
export interface InputBody {
  readonly text: string;
  readonly mode: "followup" | "steer" | "inject";
  readonly messageId: string;
}

/** What is in the body of a decision. */
export interface DecisionCommand {
  readonly question: string;
  readonly decision: Decision;
  readonly argumentsDigest: string | null;
}

/** What is in the body of a cancel. */
export interface CancelBody {
  readonly keepInbox: boolean;
}

/** What an {@linkcode OwnerDesk} is made from. */
export interface OwnerDeskParts {
  readonly shared: SharedStore;
  readonly store: SessionStore;
  readonly sessions: HostedSessions;
  readonly questions: Questions;
  readonly report: (error: unknown) => void;
}

/**
 * Works from its making to `close()`.
 *
 * @example
 * ```ts
 * import { OwnerDesk, type OwnerDeskParts } from "./owner_desk.ts";
 *
 * async function during(parts: OwnerDeskParts, work: () => Promise<void>): Promise<void> {
 *   const desk = new OwnerDesk(parts);
 *   await work();
 *   await desk.close();
 * }
 * ```
 */
export class OwnerDesk {
  readonly #parts: OwnerDeskParts;
  readonly #table: CommandTable;
  readonly #desk: CommandDesk;

  constructor(parts: OwnerDeskParts) {
    this.#parts = parts;
    this.#table = parts.shared.commands;
    this.#desk = parts.shared.openDesk({
      handle: (id, commands) => this.#handle(id, commands),
      report: parts.report,
    });
  }

  /** Takes nothing more, and waits for what it does. */
  async close(): Promise<void> {
    await this.#desk.close();
  }

  async #handle(id: string, commands: readonly Command[]): Promise<void> {
    const { sessions, store } = this.#parts;
    if (sessions.peek(id) === null) {
      const row = await store.stat(id);
      // Who writes it hears of it as we do.
      if (row === null || row.live) return;
    }
    try {
      await sessions.use(id, async ({ agent }) => {
        for (const command of commands) {
          if (!this.#table.isInHand(command)) await this.#do(agent, command);
        }
      });
    } catch (error) {
      // Another one was faster, or took over meanwhile; or this server goes down. The commands wait for whoever writes it.
      if (!isAnothersNow(error) && !(error instanceof Refusal)) throw error;
    }
  }

  async #do(agent: AgentSession, command: Command): Promise<void> {
    switch (command.kind) {
      case "input":
        return await this.#input(agent, command);
      case "cancel":
        return await this.#cancel(agent, command);
      case "decision":
        return await this.#decide(agent, command);
    }
  }

  async #input(agent: AgentSession, command: Command): Promise<void> {
    const { text, mode, messageId } = command.body as unknown as InputBody;
    const { session } = agent;
    const knownSeq = heardSeq(session.folds.heard, messageId);
    try {
      if (knownSeq !== null) await checkSame(agent, knownSeq, { id: messageId, text, mode });
      agent[mode](text, { id: messageId });
    } catch (error) {
      // Too many wait already.
      const refusal = error instanceof RangeError ? new Refusal(429, "TOO_MANY_REQUESTS", error.message) : error;
      if (!(refusal instanceof Refusal)) throw error;
      await this.#refuse(command, refusal);
      return;
    }
    // In the same breath: nothing of it can be on its way to the database yet.
    const seq = heardSeq(session.folds.heard, messageId);
    if (knownSeq === null && seq !== null) this.#table.expect(command, (event) => event.seq === seq);
    await session.flush();
    if (knownSeq !== null) await this.#table.settle(command, { state: "done", seq: knownSeq, outcome: REPEATED });
  }

  async #cancel(agent: AgentSession, command: Command): Promise<void> {
    const { keepInbox } = command.body as unknown as CancelBody;
    const isRunning = agent.status === "running";
    if (isRunning) this.#table.expect(command, (event) => event.type === "turn/end");
    agent.cancel({ kind: "user" }, { keepInbox });
    if (!isRunning) await this.#table.settle(command, { state: "void", outcome: "no turn was running" });
  }

  async #decide(agent: AgentSession, command: Command): Promise<void> {
    const { question, decision, argumentsDigest } = command.body as unknown as DecisionCommand;
    this.#table.expect(command, (event) => isDecided(event, question));
    let told;
    try {
      told = await this.#parts.questions.decide(agent.id, question, decision, argumentsDigest);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.#refuse(command, error);
      return;
    }
    if (told === null) {
      // Whoever asked looks it up in the log.
      await this.#table.settle(command, { state: "void" });
      return;
    }
    await agent.session.flush();
    // Its event was durable before the command came.
    if (told.already) await this.#table.settle(command, { state: "done", seq: told.seq });
  }

  async #refuse(command: Command, refusal: Refusal): Promise<void> {
    await this.#table.settle(command, { state: "void", outcome: JSON.stringify(problemOf(refusal)) });
  }
}

function isDecided(event: SessionEvent, question: string): boolean {
  return isEvent(event, "approval/decided") && event.data.id === question;
}

/**
 * The refusal that an owner left as the outcome of a command; `null` when there is none.
 *
 * @example
 * ```ts
 * import { refusalIn } from "./owner_desk.ts";
 *
 * const outcome = '{"status":429,"code":"TOO_MANY_REQUESTS","detail":"full"}';
 * if (refusalIn(outcome)?.status !== 429 || refusalIn(null) !== null) throw new Error("unreachable");
 * ```
 */
export function refusalIn(outcome: string | null): Refusal | null {
  if (outcome === null || !outcome.startsWith("{")) return null;
  const { status, code, detail, type: _, title: __, ...facts } = JSON.parse(outcome);
  return new Refusal(Number(status), code, String(detail), facts);
}
