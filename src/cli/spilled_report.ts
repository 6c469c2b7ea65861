/**
 * Long results that are lost, in words.
 *
 * @module
 */
import { type LostText, lostTexts, type SpilledCheck } from "../../mod.ts";
import { counted, piece } from "./format.ts";

/** How many lost results are named one by one. */
const LOST_NAMED_MAX = 10;

/** Whether every long result can be read. */
export function isWhole(spilled: SpilledCheck | undefined): boolean {
  return spilled === undefined || spilled.missing.length + spilled.damaged.length === 0;
}

/** The member of a JSON document; absent where a log names no long results, so that its document is what it always was. */
export function spilledMember(spilled: SpilledCheck): { readonly spilled?: SpilledCheck } {
  return spilled.count === 0 ? {} : { spilled };
}

/** `2 of 3 long results are lost: 1 missing, 1 damaged`. */
export function lossText(spilled: SpilledCheck): string {
  const { count, missing, damaged } = spilled;
  const lost = missing.length + damaged.length;
  const parts = [[missing.length, "missing"], [damaged.length, "damaged"]] as const;
  const kinds = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return `${lost} of ${counted(count, "long result")} ${lost === 1 ? "is" : "are"} lost: ${kinds.join(", ")}`;
}

/** A line for each of them, up to a bound. */
export function lossLines(spilled: SpilledCheck): string[] {
  const lost = lostTexts(spilled);
  const lines = lost.slice(0, LOST_NAMED_MAX).map(lossLine);
  return lost.length > LOST_NAMED_MAX ? [...lines, `and ${lost.length - LOST_NAMED_MAX} more`] : lines;
}

function lossLine({ seq, callId, callSeq, digest, code, message }: LostText): string {
  const [, found = message] = /": ([^]+)$/.exec(message) ?? [];
  return `seq ${seq}, result of ${piece(callId)} (seq ${callSeq}): blob ${digest}: ${code}: ${piece(found)}`;
}

/** What is said of a result that is lost, where it is shown. */
export function lossMark({ code }: LostText): string {
  return code === "NOT_FOUND" ? "[the whole text is missing]" : "[the whole text is damaged]";
}
