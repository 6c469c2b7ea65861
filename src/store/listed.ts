/**
 * What a listing gathers of the events of one log, whatever keeps it.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import { type Brackets, bracketsFold, type Unresolved, unresolvedFold } from "../fold/mod.ts";

/** What a listing wants to know of all events of a log. */
export class Listed {
  lastEventTime: number | null = null;
  unresolved: Unresolved = unresolvedFold.initial();
  #brackets: Brackets = bracketsFold.initial();

  add(event: SessionEvent): void {
    this.lastEventTime = event.time;
    this.unresolved = unresolvedFold.apply(this.unresolved, event);
    this.#brackets = bracketsFold.apply(this.#brackets, event);
  }

  get turn(): number | null {
    return this.#brackets.turn;
  }
}
