/**
 * Evidence as a person reads it: class, reason, and for each event where it lies in the file.
 *
 * @module
 */
import { callEvidence, type EventPlace, type LogFolds, type SessionEvent } from "../../mod.ts";
import { counted, piece } from "./format.ts";

const CLASSES = {
  not_started: "not started",
  not_dispatched: "not dispatched",
  outcome_unknown: "outcome unknown",
} as const;

/** Where each event of a log lies. One entry per frame, however many events there are. */
export class Places {
  readonly #frames: (EventPlace & { readonly firstSeq: number })[] = [];
  #solidSeq = 0;

  /** To be told of every event, in order. */
  see({ seq }: SessionEvent, place: EventPlace | undefined): void {
    if (place === undefined) return;
    this.#solidSeq = seq + 1;
    if (this.#frames.at(-1)?.frame !== place.frame) this.#frames.push({ ...place, firstSeq: seq });
  }

  /** `frame 3 at byte 812`. */
  describe(seq: number): string {
    if (seq >= this.#solidSeq) return this.#frames.length === 0 ? "" : "in the torn tail";
    const found = this.#frames.findLast(({ firstSeq }) => firstSeq <= seq)!;
    return `frame ${found.frame} at byte ${found.offsetBytes}`;
  }
}

/** A block of lines for every call that is open or not settled; none when there is nothing to say. */
export function evidenceLines(
  folds: Pick<LogFolds, "pendingCalls" | "unresolved">,
  places: Places,
  settleCommand: (callSeq: number) => string | null,
): string[] {
  const found = callEvidence(folds);
  if (found.length === 0) return [];
  const lines = ["", `${counted(found.length, "call")} without a certain end:`];
  for (const { callId, callSeq, name, arguments: text, class: callClass, reason, proofs, isSettleable } of found) {
    lines.push(`  ${piece(name)} ${piece(callId)} ${piece(text)}: ${CLASSES[callClass]}`, `    ${reason}`);
    for (const { seq, says } of proofs) {
      const place = places.describe(seq);
      lines.push(`    seq ${seq}${place === "" ? "" : `, ${place}`}: ${says}`);
    }
    const command = isSettleable && callSeq !== null ? settleCommand(callSeq) : null;
    if (command !== null) lines.push(`    once you know: ${command}`);
  }
  return lines;
}
