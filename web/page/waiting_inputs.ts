/**
 * Inputs between the moment they are in the log and the moment the model is shown them.
 *
 * @module
 */
import type { EventData } from "../../mod.ts";
import { textOf } from "./event_line.ts";

/** An input that is in the log, and on no surface. */
export interface WaitingInput {
  /** `unheard`: its turn took it up and ended before the model was shown it. */
  readonly kind: "waiting" | "unheard";
  readonly seq: number;
  readonly text: string;
  readonly from: string;
}

/** The waiting lists, as far as the events that were seen tell. */
export class WaitingInputs {
  readonly #lists = { "next-turn": [] as string[], "next-step": [] as string[] };
  /** Inputs of people by message id, in the order they came. Each is in a list, or was claimed. */
  readonly #inputs = new Map<string, WaitingInput>();
  readonly #claimed = new Set<string>();

  /** A list changed: messages came, were claimed for a turn, or taken back. */
  splice(seq: number, { target, start, removedCount = 0, inserted, outcome }: EventData["agent/inbox/spliced"]): void {
    const removed = this.#lists[target].splice(start, removedCount, ...inserted.map(({ id }) => id));
    for (const id of removed) {
      if (outcome === "canceled") this.#inputs.delete(id);
      else this.#claimed.add(id);
    }
    for (const { id, source, content } of inserted) {
      if (source.kind === "user") this.#inputs.set(id, { kind: "waiting", seq, text: textOf(content), from: "You" });
    }
  }

  /** The message is on the surface. */
  heard(id: string): void {
    this.#inputs.delete(id);
    this.#claimed.delete(id);
  }

  /** A turn ended: what it had claimed and not put on the surface is heard by nobody any more. */
  turnEnded(): WaitingInput[] {
    const lost: WaitingInput[] = [];
    for (const id of this.#claimed) {
      const input = this.#inputs.get(id);
      if (input !== undefined) lost.push({ ...input, kind: "unheard" });
      this.heard(id);
    }
    return lost;
  }

  /** What still waits, oldest first. */
  get all(): readonly WaitingInput[] {
    return [...this.#inputs.values()];
  }
}
