/**
 * Which messages a log has heard: so that an input which is sent again, by another tab or after a lost answer, stays one input.
 *
 * @see execution §1.1 for the inbox, through which everything is heard
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import { ChunkedList } from "./chunked_list.ts";
import type { Fold } from "./fold.ts";

/** How many of the newest messages are remembered. A repeat that comes later than that many others is a new message. */
export const HEARD_MESSAGES_MAX = 4096;

/** A message that came into the inbox. */
export interface HeardMessage {
  /** The message's id. */
  readonly id: string;
  /** Of the `agent/inbox/spliced` that brought it. */
  readonly seq: number;
}

/** The newest messages that came into the inbox, oldest first, also those that were taken or taken back since. */
export type Heard = ChunkedList<HeardMessage>;

/** Follows what `agent/inbox/spliced` inserts. */
export const heardFold: Fold<Heard> = {
  name: "heard",
  version: 1,

  initial: () => ChunkedList.from<HeardMessage>([], ({ id }) => id),

  apply(state: Heard, event: SessionEvent): Heard {
    if (!isEvent(event, "agent/inbox/spliced")) return state;
    let heard = state;
    for (const { id } of event.data.inserted) heard = heard.with({ id, seq: event.seq });
    const excess = heard.length - HEARD_MESSAGES_MAX;
    return excess > 0 ? heard.withSpan(0, excess - 1) : heard;
  },
};

/**
 * Says where a message was heard.
 *
 * @returns seq of the `agent/inbox/spliced` that brought it, `null` when it is not among the newest HEARD_MESSAGES_MAX
 *
 * @example
 * ```ts
 * import { heardFold, heardSeq } from "./heard.ts";
 *
 * if (heardSeq(heardFold.initial(), "m1") !== null) throw new Error("unreachable");
 * ```
 */
export function heardSeq(heard: Heard, id: string): number | null {
  const index = heard.findIndex(id);
  return index === -1 ? null : heard.at(index)!.seq;
}
