/**
 * Turns of an agent, one after the other, with a person or without.
 *
 * @module
 */
import {
  type AgentSession,
  compactCommand,
  CompactionError,
  contextGauge,
  hasCode,
  type HoldfastError,
  type TurnOutcome,
} from "../../mod.ts";
import type { CommandContext } from "./command.ts";
import { compactedText, gaugeText, NOTHING_TO_COMPACT } from "./compact_report.ts";
import { withInterrupt } from "./interrupt.ts";
import { commandLine, tellUnresolved } from "./outcomes.ts";
import type { Terminal } from "./terminal.ts";
import type { Transcript } from "./transcript.ts";

/** A session, and how its turns are shown. */
export interface Dialogue {
  readonly context: CommandContext;
  readonly session: AgentSession;
  readonly terminal: Terminal | null;
  readonly transcript: Transcript;
  /** Aborts when the terminal is closed: cancels the turn. */
  readonly hangup: AbortSignal;
}

/** Asks for a message, runs its turn, and so on, until there is no message. Returns whether every turn completed. */
export async function converse(dialogue: Dialogue, terminal: Terminal): Promise<boolean> {
  const { transcript, session, context } = dialogue;
  transcript.note(
    "Type a message, or /compact to shorten what the model reads; an empty line or Ctrl-D ends the conversation",
  );
  let isFine = true;
  for (;;) {
    const prompt = (await terminal.ask("> "))?.trim() ?? "";
    if (prompt === "" || dialogue.hangup.aborted) {
      const isNew = session.session.nextSeq === 0;
      if (!isNew) transcript.note(`To go on: ${commandLine(context, "run", "--session", session.id)}`);
      return isFine;
    }
    const command = compactCommand(prompt);
    if (command !== null) {
      if (command === "compact") await compactNow(dialogue);
      else transcript.note("/compact takes no arguments");
      continue;
    }
    const { reason } = await oneTurn(dialogue, prompt);
    await flush(dialogue);
    transcript.line(gaugeText(contextGauge(session.session.folds)));
    isFine &&= reason.kind === "completed";
    transcript.endTurn();
  }
}

/**
 * Runs one turn and says how it went. Ctrl-C cancels it. Its end becomes durable with the next flush, or when the session is
 * closed.
 *
 * @throws the session's failure when it takes no events any more
 */
export async function oneTurn(dialogue: Dialogue, prompt: string): Promise<TurnOutcome> {
  const { context, session, terminal, transcript, hangup } = dialogue;
  const before = new Set(session.session.folds.unresolved.effects.map((effect) => effect.callSeq));
  terminal?.onUnasked((line) => {
    if (line.trim() !== "") transcript.note(`Not sent, because a turn was running: ${line}`);
  });
  const interruptible = { host: context.host, out: context.out, terminal };
  const outcome = await withInterrupt(
    interruptible,
    () => session.cancel(),
    () => session.send(prompt, { signal: hangup }),
  );
  terminal?.onUnasked(null);
  tellOutcome(outcome, transcript);
  const effects = session.session.folds.unresolved.effects.filter((effect) => !before.has(effect.callSeq));
  tellUnresolved(session.id, effects, context, (text) => transcript.note(text));
  return outcome;
}

/** Compacts the conversation, as a person typed it. Whatever comes of it, the conversation goes on. */
async function compactNow({ context, session, terminal, transcript, hangup }: Dialogue): Promise<void> {
  const interruptible = { host: context.host, out: context.out, terminal };
  try {
    const compacted = await withInterrupt(
      interruptible,
      () => session.cancel(),
      () => session.compact({ signal: hangup }),
    );
    transcript.line(compacted === null ? NOTHING_TO_COMPACT : compactedText(compacted));
  } catch (error) {
    if (hangup.aborted) return;
    if (!(error instanceof CompactionError)) throw error;
    // Why a summary came to nothing was told as it happened.
    if (error.code !== "summary") transcript.note(error.message);
  }
}

/** What `run --json` prints. */
export function documentOf({ id, session, resumed }: AgentSession, outcome: TurnOutcome, text: string): unknown {
  const { turn, reason } = outcome;
  return {
    ...{ id, turn, reason, text, usage: usageOf(outcome), unresolved: session.folds.unresolved.effects },
    resumed: resumed === null ? null : {
      open: resumed.open,
      closers: resumed.closers.length,
      salvagedEvents: resumed.salvagedEvents,
    },
  };
}

/** A disk without room does not end a conversation: what is pending is written by the next flush that finds some. */
async function flush({ session: { session }, transcript }: Dialogue): Promise<void> {
  try {
    await session.flush();
  } catch (error) {
    if (session.failure !== null || !hasCode(error, "STORAGE_FULL")) throw error;
    const { code, message } = error as HoldfastError;
    transcript.note(`${code}: ${message}. What is not durable waits for room: free some space, then go on`);
  }
}

function tellOutcome(outcome: TurnOutcome, transcript: Transcript): void {
  const { reason } = outcome;
  const usage = usageOf(outcome);
  if (usage !== null) transcript.line(`  (${usage.inputTokens} tokens in, ${usage.outputTokens} out)`);
  if (reason.kind === "error") {
    const { code, message } = reason.error;
    const isTold = outcome.turn !== null && transcript.hasTold(outcome.error);
    transcript.note(`The turn failed: ${code}${isTold ? "" : `: ${message}`}`);
  } else if (reason.kind !== "completed") {
    transcript.note(`The turn ended: ${reason.kind}`);
  }
}

function usageOf(outcome: TurnOutcome) {
  return outcome.turn === null ? null : outcome.usage;
}
