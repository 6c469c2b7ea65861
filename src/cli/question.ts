/**
 * Asks the person at the terminal whether a call may run. The default is no.
 *
 * @module
 */
import { type ApprovalOutcome, type Approver, isEvent, type Session } from "../../mod.ts";
import { counted } from "./format.ts";
import { printableLine } from "./printable.ts";
import type { Terminal } from "./terminal.ts";
import type { Transcript } from "./transcript.ts";

/** How often one question is asked when the answers are neither yes nor no. */
const TIMES_ASKED_MAX = 3;
/** How much of a reason or of arguments is shown, in UTF-16 units. */
const SHOWN_LENGTH_MAX = 4000;

/**
 * Makes an approver of a terminal.
 *
 * It shows the arguments as the durable `tool/call` holds them, on one line whatever they hold, so that nothing in them looks
 * like an answer. Only `y` or `yes`, typed after the question, allows. `n`, `no` and an empty line refuse; anything else is asked
 * about again, and refuses in the end. No answer at all (Ctrl-D, a closed terminal) cancels the question.
 */
export function terminalApprover(terminal: Terminal, transcript: Transcript, session: Session): Approver {
  return async ({ toolName, reason, callSeq }, signal) => {
    const because = reason === undefined ? "" : `: ${shown(reason)}`;
    transcript.line(`? ${printableLine(toolName)} asks for permission${because}`);
    if (callSeq !== undefined) transcript.line(`  arguments: ${shown(await argumentsAt(session, callSeq))}`);
    return await answerOf(terminal, signal);
  };
}

async function answerOf(terminal: Terminal, signal: AbortSignal): Promise<ApprovalOutcome> {
  let question = "  Allow it once? [y/N] ";
  for (let times = 0; times < TIMES_ASKED_MAX; times++) {
    const answer = await terminal.confirm(question, signal);
    if (signal.aborted || answer === null) return "cancelled";
    if (/^y(es)?$/i.test(answer.trim())) return "allowed-once";
    if (/^(no?)?$/i.test(answer.trim())) return "rejected";
    question = "  Please type y or n. Allow it once? [y/N] ";
  }
  return "rejected";
}

async function argumentsAt(session: Session, callSeq: number): Promise<string> {
  const [event] = (await session.history({ from: callSeq, limit: 1 })).events;
  if (event !== undefined && isEvent(event, "tool/call")) return event.data.arguments;
  throw new Error(`Cannot ask about call ${callSeq}: the log does not hold it`);
}

function shown(text: string): string {
  const rest = text.length - SHOWN_LENGTH_MAX;
  const line = printableLine(text.slice(0, SHOWN_LENGTH_MAX));
  return rest <= 0 ? line : `${line} … and ${counted(rest, "more character")} (holdfast show has them all)`;
}
