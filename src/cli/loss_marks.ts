/**
 * Marks results whose whole text lay beside the log and is lost.
 *
 * @module
 */
import { isEvent, type LostText, lostTexts, type SessionEvent, type SpilledCheck } from "../../mod.ts";
import { lossMark } from "./spilled_report.ts";

/** Which results are previews of which spilled texts. One entry per spilled text, however many events there are. */
export class SpilledResults {
  /** By call, until its result comes: seq of the `result/spilled`. A call's id may be used again later. */
  readonly #waiting = new Map<string, number>();
  /** seq of a `tool/result`, also of one that was cut later, to that of its `result/spilled`. */
  readonly #spilledOf = new Map<number, number>();

  /** To be told of every event, in order. */
  see(event: SessionEvent): void {
    if (isEvent(event, "result/spilled")) {
      this.#waiting.set(event.data.callId, event.seq);
    } else if (isEvent(event, "tool/result")) {
      const spilledSeq = this.#earlier(event) ?? this.#taken(event.data.message.content[0]);
      if (spilledSeq !== undefined) this.#spilledOf.set(event.seq, spilledSeq);
    }
  }

  /** seq of the `result/spilled` behind a result; `undefined` when there is none. */
  of(resultSeq: number): number | undefined {
    return this.#spilledOf.get(resultSeq);
  }

  /** One that takes the place of another is a preview of the same text. */
  #earlier({ sourceEventSeqs = [] }: SessionEvent): number | undefined {
    return sourceEventSeqs.map((seq) => this.#spilledOf.get(seq)).find((seq) => seq !== undefined);
  }

  #taken(block: { readonly type: string; readonly toolCallId?: unknown } | undefined): number | undefined {
    const callId = block?.type === "tool-result" ? String(block.toolCallId) : "";
    const seq = this.#waiting.get(callId);
    this.#waiting.delete(callId);
    return seq;
  }
}

/** What to say behind an event or a message; mostly nothing. */
export class LossMarks {
  readonly #lost: ReadonlyMap<number, LostText>;
  readonly #results: SpilledResults;

  constructor(spilled: SpilledCheck, results: SpilledResults) {
    this.#lost = new Map(lostTexts(spilled).map((lost) => [lost.seq, lost]));
    this.#results = results;
  }

  /** For the event, or the node of the surface, with this seq. Begins with a blank. */
  of(seq: number): string {
    const lost = this.#lost.get(this.#results.of(seq) ?? seq);
    return lost === undefined ? "" : `  ${lossMark(lost)}`;
  }
}
