/**
 * What the model does not read whole: results whose text lies in a blob beside the log, and results that were cut.
 *
 * @module
 */
import { type EventData, isEvent, type SessionEvent } from "../event/mod.ts";
import { ChunkedList } from "./chunked_list.ts";
import type { Fold } from "./fold.ts";

/** A text that was kept whole when its result was logged in short. */
export interface SpilledText extends Readonly<EventData["result/spilled"]> {
  /** seq of the `result/spilled`. */
  readonly seq: number;
}

/** Every spilled text of a log, in order. What is not among them is not this session's to read. */
export interface Spilled {
  /** By digest. One that was spilled twice stands there twice. */
  readonly texts: ChunkedList<SpilledText>;
  /** How many results were cut on the surface. */
  readonly pruneCount: number;
}

/** Follows `result/spilled` and `compaction/prune`. */
export const spilledFold: Fold<Spilled> = {
  name: "spilled",
  version: 1,

  initial: () => ({
    texts: ChunkedList.from<SpilledText>([], ({ digest }) => digest),
    pruneCount: 0,
  }),

  apply(state: Spilled, event: SessionEvent): Spilled {
    if (isEvent(event, "compaction/prune")) return { ...state, pruneCount: state.pruneCount + 1 };
    if (!isEvent(event, "result/spilled")) return state;
    return { ...state, texts: state.texts.with({ ...event.data, seq: event.seq }) };
  },
};

/**
 * The blobs a log names, each once, in the order it names them. Whoever copies a log copies these.
 *
 * @example
 * ```ts
 * import { spilledDigests, spilledFold } from "./spilled.ts";
 *
 * if (spilledDigests(spilledFold.initial()).length !== 0) throw new Error("unreachable");
 * ```
 */
export function spilledDigests({ texts }: Spilled): readonly string[] {
  const digests = new Set<string>();
  for (const { digest } of texts) digests.add(digest);
  return [...digests];
}
