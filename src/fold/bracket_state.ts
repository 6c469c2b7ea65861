/**
 * What is open at the end of a log: the state that the brackets fold keeps and the bracket rules read.
 *
 * @module
 */

import type { ChunkedList } from "./chunked_list.ts";

/** How many problems are kept with their text. The others are only counted. */
export const BRACKET_PROBLEMS_KEPT_MAX = 8;

/** A call recorded in the open step. */
export interface RecordedCall {
  /** The model's id, or the `subCallId` of a nested call. */
  readonly callId: string;
  /** seq of its `tool/call`, or of its `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
  /** Whether a tool's body made it rather than the model. */
  readonly isNested: boolean;
  /** Whether an `effect/dispatched` names it, so that its body may have run. */
  readonly hasMarker: boolean;
  /** Whether the log holds its `tool/result`, or the `tool/ptc-dispatch` of a nested call. */
  readonly isAnswered: boolean;
}

/** The compaction whose lock is held. */
export interface OpenCompaction {
  /** The id of its `compaction/start`, which its summary and its end must repeat. */
  readonly compactionId: string;
  /** The command it was asked for by, which summary and end must repeat as well; `null` when its start names none. */
  readonly sourceCommandId: string | null;
  /** The turn it belongs to; `null` for one that stands between turns. */
  readonly turn: number | null;
  /** seq of its `compaction/start`. */
  readonly seq: number;
  /** Whether the log holds its `compaction/summary`. */
  readonly hasSummary: boolean;
}

/** What is open at the end of a log. */
export interface Brackets {
  /** The number of the open turn; `null` between turns. */
  readonly turn: number | null;
  /** The number of the open step; `null` between steps and between turns. */
  readonly step: number | null;
  /** The number of the newest turn, 0 before the first. */
  readonly lastTurn: number;
  /** The number of the newest step of the newest turn, 0 before its first. */
  readonly lastStep: number;
  /** The calls recorded in the open step, in log order, those with a result included. */
  readonly calls: ChunkedList<RecordedCall>;
  /** Ids of the questions of the open turn that wait for their `approval/decided`. */
  readonly questions: ChunkedList<string>;
  /** `null` also for one left open by an earlier lifecycle: `session/end-seed` makes it stale. */
  readonly compaction: OpenCompaction | null;
  /** The events that broke a bracket rule. They were believed all the same, because such a log must load. */
  readonly problems: {
    readonly count: number;
    /** The first ones, at most {@linkcode BRACKET_PROBLEMS_KEPT_MAX}. */
    readonly first: readonly { readonly seq: number; readonly message: string }[];
  };
}
