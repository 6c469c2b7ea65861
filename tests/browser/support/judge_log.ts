/**
 * The judge of a session that several workers wrote one after the other: its whole log, what every page was told, what the remote
 * saw. It uses no code of the library.
 *
 * @module
 */
import { check, show } from "../../kill/judge.ts";
import type { RawRow } from "../../kill/raw_log.ts";
import { callsIn, checkIntent, checkTold, type Told } from "./judge.ts";
import type { Arrival } from "./remote.ts";

/** Everything known about one session. */
export interface SessionCase {
  /** Its events, in order. */
  readonly rows: readonly RawRow[];
  /** What each page was told over its life. */
  readonly told: readonly Told[];
  /** Those that paid somebody this session names. */
  readonly arrivals: readonly Arrival[];
  /** The text of every input that was sent, once each. All were acknowledged in the end. */
  readonly inputs: readonly string[];
}

/**
 * Judges one session.
 *
 * A fork would show here: two writers give one seq to two events, and one of them was told to somebody as durable.
 *
 * @returns how many calls ended how
 * @throws {Error} at the first thing that is not as promised, with the log
 */
export function judgeLog(session: SessionCase): Record<string, number> {
  try {
    for (const told of session.told) checkTold(told, session.rows);
    for (const arrival of session.arrivals) checkIntent(arrival, session.rows);
    checkInputs(session);
    return countCalls(session);
  } catch (error) {
    const lines = [
      ...["the log:", ...session.rows.map(({ text }) => `  ${text.slice(0, 220)}`)],
      ...["the remote:", ...session.arrivals.map((arrival) => `  ${show(arrival)}`)],
    ];
    throw new Error(`${error instanceof Error ? error.message : error}\n${lines.join("\n")}`, { cause: error });
  }
}

/** What a log says about the inputs of a person. */
interface Inputs {
  /** Texts that were put into the inbox, that the model was told, and that still wait, in order. */
  readonly taken: readonly string[];
  readonly told: readonly string[];
  readonly waiting: readonly string[];
  /** Text → the turns that claimed it, in order. */
  readonly claimedBy: ReadonlyMap<string, readonly number[]>;
  /** Turn → how it ended. */
  readonly endings: ReadonlyMap<number, string>;
  readonly isTurnOpen: boolean;
}

function inputsOf(rows: readonly RawRow[]): Inputs {
  const taken: string[] = [];
  const told: string[] = [];
  const waiting: string[] = [];
  const claimedBy = new Map<string, number[]>();
  const endings = new Map<number, string>();
  let turn = 0;
  for (const { type, text, data } of rows) {
    if (type === "turn/start") turn = data.turn!;
    if (type === "turn/end") endings.set(data.turn!, data.reason!.kind);
    if (type === "user/message") told.push(textOf(JSON.parse(text).data));
    if (type !== "agent/inbox/spliced") continue;
    const splice: Splice = JSON.parse(text).data;
    if (splice.target !== "next-turn") continue;
    const inserted = splice.inserted.map(textOf);
    taken.push(...inserted);
    const removed = waiting.splice(splice.start, splice.removedCount ?? 0, ...inserted);
    for (const input of removed) claimedBy.set(input, [...claimedBy.get(input) ?? [], turn]);
  }
  return { taken, told, waiting, claimedBy, endings, isTurnOpen: turn !== 0 && !endings.has(turn) };
}

/**
 * Whether the model was told all of these inputs, nothing waits, and no turn is open. An input that was cut off with its turn before
 * the model was told waits again when the session is opened next.
 */
export function isAtRest(rows: readonly RawRow[], inputs: readonly string[]): boolean {
  const { told, waiting, isTurnOpen } = inputsOf(rows);
  return !isTurnOpen && waiting.length === 0 && inputs.every((input) => told.includes(input));
}

/** The model was told each input once. An input is taken again only after a turn that had claimed it was cut off. */
function checkInputs({ rows, inputs }: SessionCase): void {
  const { taken, told, waiting, claimedBy, endings } = inputsOf(rows);
  for (const input of inputs) {
    const count = (texts: readonly string[]) => texts.filter((text) => text === input).length;
    const claims = claimedBy.get(input) ?? [];
    const cut = claims.filter((turn) => ["aborted", "interrupted"].includes(endings.get(turn) ?? ""));
    check(count(taken) >= 1, `the input "${input}" was never taken`);
    check(count(taken) <= 1 + cut.length, `the input "${input}" was taken ${count(taken)} times`);
    check(!waiting.includes(input), `the input "${input}" still waits`);
    check(count(told) === 1, `the model was told the input "${input}" ${count(told)} times`);
  }
}

interface Splice {
  readonly target: string;
  readonly start: number;
  readonly removedCount?: number;
  readonly inserted: readonly Said[];
}

interface Said {
  readonly content: readonly { readonly text?: string }[];
}

function textOf({ content }: Said): string {
  return content.map(({ text = "" }) => text).join("");
}

/** Every proposed call has one result, and the remote was asked as that result says. */
function countCalls({ rows, arrivals }: SessionCase): Record<string, number> {
  const counts: Record<string, number> = { done: 0, refused: 0, not_started: 0, outcome_unknown: 0 };
  for (const { callId, argumentsText } of callsIn(rows)) {
    const results = rows.filter(({ type, data }) => type === "tool/result" && data.message?.source.callId === callId);
    check(results.length === 1, `${callId} has ${results.length} results`);
    const marker = rows.find(({ type, data }) => type === "effect/dispatched" && data.callId === callId);
    const own = arrivals.filter(({ to }) => argumentsText.includes(`"${to}"`));
    check(own.length <= 1, `${callId} reached the remote ${own.length} times`);
    const { error, message } = results[0]!.data;
    const code = error?.code;
    const isError = message?.content.some((block) => block.isError === true) ?? false;
    const kind = code === undefined && !isError
      ? "done"
      : code === "TOOL_NOT_STARTED"
      ? "not_started"
      : marker === undefined
      ? "refused"
      : "outcome_unknown"; // Also a body that was cut off: who knows how far it came.
    counts[kind] = (counts[kind] ?? 0) + 1;
    if (kind === "done") {
      check(own.length === 1 && own[0]!.paidAt !== null, `${callId} is done, and reached ${show(own)}`);
    }
    if (kind === "not_started" || kind === "refused") {
      check(own.length === 0, `${callId} ended with ${code}, and the remote was asked: ${show(own)}`);
      check(marker === undefined, `${callId} ended with ${code}, and its marker is in the log`);
    }
    if (code === "TOOL_OUTCOME_UNKNOWN") check(marker !== undefined, `${callId} is unknown, and has no marker`);
  }
  return counts;
}
