/**
 * One compaction: the lock, the summary, the replacement, the end. Every way to compact goes through here.
 *
 * The start is in the log before anybody is asked, and durable before the summariser is called (the model barrier sees to that).
 * Summary, replacement and end follow each other with nothing in between. Only the replacement changes what the model sees, so
 * that a crash at any place leaves the old surface or the new one, and an end is never guessed.
 *
 * @see compaction §2 "Transaction order"
 * @module
 */
import type { Block } from "../event/mod.ts";
import { CANCELLED_TEXT, type NewestPrompt, priceOfMessage } from "../fold/mod.ts";
import type { Session } from "../session/mod.ts";
import { newMessageId } from "../tool/ids.ts";
import { messageOf } from "../tool/mod.ts";
import { untilAborted } from "../writer/until_aborted.ts";
import { checkpointMessage } from "./checkpoint_message.ts";
import { busyError, CompactionError } from "./errors.ts";
import { carriedIn } from "./keep_prompt.ts";
import { halfOf } from "./select_range.ts";
import { isSameSpan, isSameSurface, rangeOf } from "./span.ts";
import { CONTEXT_WINDOW_EXCEEDED, type SummaryAnswer, SummaryRejected, summaryText } from "./summary_answer.ts";
import { type SummaryRequest, summaryRequest, type SummaryTarget } from "./summary_request.ts";
import { type NodeRange, priceOfRange, type SurfaceMap, surfaceMap } from "./surface_map.ts";

/** How often the summariser gets half of what was too long for it. */
export const SUMMARY_HALVINGS_MAX = 3;

/**
 * Asks a model for a summary. A failure of the provider is an answer that finished with it. It must not ask before everything
 * in the log is durable.
 *
 * @throws the signal's reason, or a barrier's refusal
 */
export type Summarise = (request: SummaryRequest, signal: AbortSignal) => Promise<SummaryAnswer>;

/** What is compacted, and for whom. */
export interface SpanOptions {
  /** seqs of the first and the last node, as they stand on the surface. */
  readonly startSeq: number;
  readonly endSeq: number;
  /** `turn`: within the open turn. `none`: between turns. */
  readonly owner: "turn" | "none";
  /** What must not have changed while the summary was written: all of the surface, or what is being summarised. */
  readonly stability: "surface" | "span";
  readonly target: SummaryTarget;
  readonly summarise: Summarise;
  /** Whether everything is made durable before this resolves, also after a failure. */
  readonly isFlushed: boolean;
  /** Ends the waiting for the summary. */
  readonly signal: AbortSignal;
  /** The command that asked. */
  readonly commandId?: string;
}

/** A compaction that was made. */
export interface Compacted {
  readonly compactionId: string;
  /** How many nodes it replaced. */
  readonly shadowedCount: number;
  /** What they cost. */
  readonly shadowedTokens: number;
  /** What stands in their place costs. */
  readonly checkpointTokens: number;
  readonly summarySeq: number;
  readonly replacementSeq: number;
}

/**
 * Replaces a run of nodes by a summary.
 *
 * @throws the signal's reason when it is aborted before the replacement is in the log; the bracket is closed then
 * @throws {RangeError} when the ends are not on the surface, are reversed, or part a call from its result; nothing was written
 * @throws {TypeError} when the owner is a turn and none is open; nothing was written
 * @throws {CompactionError} for everything else
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { compactSpan, type Summarise } from "./bracket.ts";
 *
 * async function shrink(session: Session, summarise: Summarise, signal: AbortSignal): Promise<number> {
 *   const target = { provider: "p", model: "m", maxTokens: 8192 };
 *   const rest = { owner: "none", stability: "span", target, summarise, isFlushed: true, signal } as const;
 *   const { shadowedTokens, checkpointTokens } = await compactSpan(session, { startSeq: 4, endSeq: 9, ...rest });
 *   return shadowedTokens - checkpointTokens;
 * }
 * ```
 */
export async function compactSpan(session: Session, options: SpanOptions): Promise<Compacted> {
  const { signal, owner, commandId = null, isFlushed } = options;
  if (owner === "none") signal.throwIfAborted();
  const map = surfaceMap(session.folds);
  const range = rangeOf(map, options);
  const turn = ownerTurn(session, owner);
  const bracket: Bracket = { compactionId: newMessageId(session.random), commandId, turn };
  session.append({ type: "compaction/start", data: idsOf(bracket, { turn }) });

  let compacted: Compacted | null = null;
  let failure: unknown = null;
  try {
    const summary = await askForSummary(session, options, map, range);
    if (owner === "none") signal.throwIfAborted();
    compacted = replace(session, options, map, bracket, summary);
  } catch (error) {
    failure = error;
  }
  if (compacted === null) failure = close(session, bracket, failure, signal);
  const isOpen = session.folds.brackets.compaction?.compactionId === bracket.compactionId;
  const refusal = isFlushed && !isOpen ? await flushed(session) : null;
  if (compacted === null) {
    // Whoever cancelled knows why; what the cancel caused says less.
    if (signal.aborted && !isOpen) throw signal.reason;
    throw failure;
  }
  if (owner === "none") signal.throwIfAborted();
  if (refusal !== null) throw refusal;
  return compacted;
}

/** Whose bracket is open. */
interface Bracket {
  readonly compactionId: string;
  readonly commandId: string | null;
  readonly turn: number | null;
}

function idsOf<Rest extends object>({ compactionId, commandId }: Bracket, rest: Rest) {
  return { compactionId, ...(commandId === null ? {} : { sourceCommandId: commandId }), ...rest };
}

function ownerTurn({ id, folds: { brackets } }: Session, owner: SpanOptions["owner"]): number | null {
  if (brackets.compaction !== null) throw busyError(id);
  if (owner === "none") {
    if (brackets.turn !== null) throw busyError(id, `turn ${brackets.turn} is open`);
    return null;
  }
  if (brackets.turn === null) throw new TypeError(`Cannot compact session "${id}": no turn is open`);
  return brackets.turn;
}

/** A summary, and what it is a summary of. */
interface Summary {
  readonly range: NodeRange;
  readonly content: readonly Block[];
  readonly answer: SummaryAnswer;
}

/** A summariser that cannot read all of it is given half, and half of that. */
async function askForSummary(
  session: Session,
  { target, summarise, signal }: SpanOptions,
  map: SurfaceMap,
  whole: NodeRange,
): Promise<Summary> {
  const { route } = session.folds;
  let range = whole;
  for (let halvings = 0;; halvings++) {
    try {
      const answer = await untilAborted(summarise(summaryRequest(route, map, range, target), signal), signal);
      return { range, answer, content: summaryText(answer) };
    } catch (error) {
      const isTooLong = error instanceof SummaryRejected && error.code === CONTEXT_WINDOW_EXCEEDED;
      const half = isTooLong && halvings < SUMMARY_HALVINGS_MAX ? halfOf(map, range) : null;
      if (half === null) throw error;
      range = half;
    }
  }
}

function replace(
  session: Session,
  { stability, target }: SpanOptions,
  map: SurfaceMap,
  bracket: Bracket,
  { range, content, answer }: Summary,
): Compacted {
  const refused = (code: "changed" | "summary", found: string) =>
    new CompactionError(code, `Cannot compact session "${session.id}": ${found}`);
  const now = surfaceMap(session.folds);
  const isSame = stability === "surface" ? isSameSurface(map, now) : isSameSpan(map, now, range);
  if (!isSame) throw refused("changed", "what was being summarised changed meanwhile");

  const shadowedTokens = priceOfRange(map, range);
  const carried: NewestPrompt | null = carriedIn(map, range, session.folds.compactions.newestPrompt);
  const { compactionId, commandId, turn } = bracket;
  const id = newMessageId(session.random);
  const message = checkpointMessage({ id, compactionId, commandId, summary: content, carried, turn });
  const checkpointTokens = priceOfMessage(message);
  if (checkpointTokens >= shadowedTokens) {
    throw refused("summary", `the summary takes ${checkpointTokens} tokens, what it stands for ${shadowedTokens}`);
  }

  const shadowedSeqs = map.nodes.slice(range.first, range.last + 1).map(({ seq }) => seq);
  const first = shadowedSeqs[0]!;
  const last = shadowedSeqs.at(-1)!;
  const startSeq = session.folds.brackets.compaction!.seq;
  try {
    const summary = session.append({
      type: "compaction/summary",
      data: idsOf(bracket, {
        summary: content,
        shadowedRange: { start: first, end: last },
        shadowedSeqs,
        shadowedTokenCount: shadowedTokens,
        ...target,
        ...(answer.usage === null ? {} : { usage: answer.usage }),
        rawOutput: answer.content,
        llmStreamCall: true,
      }),
    });
    const replacement = session.append({
      type: "user/message",
      data: message,
      surfaceOp: { op: "replace", startSeq: first, endSeq: last },
      sourceEventSeqs: [startSeq, summary.seq, ...shadowedSeqs],
    });
    end(session, bracket);
    const shadowedCount = shadowedSeqs.length;
    return {
      ...{ compactionId, shadowedCount, shadowedTokens, checkpointTokens },
      summarySeq: summary.seq,
      replacementSeq: replacement.seq,
    };
  } catch (cause) {
    if (cause instanceof EndRefused) throw cause;
    const found = "the log refused its summary";
    throw new CompactionError("commit", `Cannot compact session "${session.id}": ${found}`, { cause });
  }
}

function end(session: Session, bracket: Bracket): void {
  try {
    session.append({ type: "compaction/end", data: idsOf(bracket, { turn: bracket.turn }) });
  } catch (cause) {
    throw new EndRefused(session.id, cause);
  }
}

/** The bracket is open still, and blocks every other one until the session is opened anew. */
class EndRefused extends CompactionError {
  constructor(sessionId: string, cause: unknown) {
    super("commit", `Cannot compact session "${sessionId}": the log refused its end`, { cause });
  }
}

/**
 * Exactly one attempt. Where the log refuses it, the bracket stays open: whoever comes next sees that. A bracket whose
 * replacement is there never gets an error.
 */
function close(session: Session, bracket: Bracket, failure: unknown, signal: AbortSignal): unknown {
  if (failure instanceof EndRefused) return failure;
  const error = signal.aborted ? `${CANCELLED_TEXT}: ${messageOf(signal.reason)}` : messageOf(failure);
  try {
    session.append({ type: "compaction/end", data: idsOf(bracket, { turn: bracket.turn, error }) });
  } catch (cause) {
    return new EndRefused(session.id, cause);
  }
  if (failure instanceof CompactionError) return failure;
  return new CompactionError("summary", `Cannot compact session "${session.id}": there is no summary`, {
    cause: failure,
  });
}

async function flushed(session: Session): Promise<CompactionError | null> {
  try {
    await session.flush();
    return null;
  } catch (cause) {
    const found = "it is not durable";
    return new CompactionError("persistence", `Cannot compact session "${session.id}": ${found}`, { cause });
  }
}
