/**
 * A compaction as the conversation shows it: that it runs, what it came to, and what it stands for, which is still there to read.
 *
 * @module
 */
import type { SessionEvent } from "../../mod.ts";
import { textOf } from "./event_line.ts";
import { isEvent } from "./is_event.ts";

/** One compaction. */
export interface CompactionItem {
  readonly kind: "compaction";
  /** seq of its start; of the first of its events that is here. */
  readonly seq: number;
  /** Whether it came by itself, within a turn. */
  isAutomatic: boolean;
  /** `cut`: whoever ran it was gone before its end. */
  state: "running" | "done" | "failed" | "cut";
  /** What the model does not read any more; `null` before there is a summary. */
  shadowed: { readonly seqs: readonly number[]; readonly tokens: number } | null;
  /** About what the model reads in its place, in tokens; `null` before that. */
  tokensAfter: number | null;
  /** The text of the summary. */
  summary: string;
  /** Why it came to nothing. */
  error: string | null;
}

/** Follows the compactions of a run of events, which may begin in the middle of one. */
export class CompactionItems {
  /** The one whose end has not come. */
  #open: CompactionItem | null = null;
  readonly #onBegin: (item: CompactionItem) => void;

  /** @param onBegin given each one at its place */
  constructor(onBegin: (item: CompactionItem) => void) {
    this.#onBegin = onBegin;
  }

  /** Takes an event. Returns whether it is shown as a part of a compaction and not by itself. */
  take(event: SessionEvent): boolean {
    if (isEvent(event, "compaction/start")) {
      this.#begin(event.seq).isAutomatic = event.data.turn !== null;
    } else if (isEvent(event, "compaction/summary")) {
      const { shadowedSeqs, shadowedTokenCount, summary } = event.data;
      const item = this.#open ?? this.#begin(event.seq);
      item.shadowed = { seqs: shadowedSeqs, tokens: shadowedTokenCount };
      item.summary = textOf(summary);
    } else if (isEvent(event, "user/message") && isReplacement(event)) {
      const item = this.#open ?? this.#begin(event.seq);
      item.tokensAfter = Math.ceil(new TextEncoder().encode(textOf(event.data.content)).length / BYTES_PER_TOKEN);
    } else if (isEvent(event, "compaction/end")) {
      const item = this.#open ?? this.#begin(event.seq);
      item.isAutomatic = event.data.turn !== null;
      item.error = event.data.error ?? null;
      item.state = item.error === null ? "done" : "failed";
      this.#open = null;
    } else if (isEvent(event, "session/end-seed")) {
      // Nobody ends a compaction that was cut off; what comes after it cannot belong to it any more.
      if (this.#open !== null) this.#open.state = "cut";
      this.#open = null;
      return false;
    } else {
      // A result that was shortened is read by the model alone: a person goes on seeing the whole one.
      return isReplacement(event);
    }
    return true;
  }

  #begin(seq: number): CompactionItem {
    const nothing = { shadowed: null, tokensAfter: null, summary: "", error: null };
    this.#open = { kind: "compaction", seq, isAutomatic: false, state: "running", ...nothing };
    this.#onBegin(this.#open);
    return this.#open;
  }
}

/** Rough, as every count without the provider is. */
const BYTES_PER_TOKEN = 4;

/** Whether the event stands in the place of others on the surface. */
function isReplacement({ surfaceOp }: SessionEvent): boolean {
  return surfaceOp !== undefined && surfaceOp !== "append";
}
