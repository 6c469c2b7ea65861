/**
 * Taking turns in this thread: one transaction after the other, each whole.
 *
 * @module
 */

/** Runs what it is given one after the other. What fails does not stop the next. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Waits for its turn, and runs. */
  take<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(act);
    this.#last = done.then(() => {}, () => {});
    return done;
  }

  /** Resolves when everything that was asked for so far is over. */
  settled(): Promise<void> {
    return this.#last;
  }
}

/** The turns of writers, one queue for each file: SQLite would make a second writer of this thread wait for the first, for ever. */
const writers = new Map<string, Turns>();

/** The queue of everybody in this thread who writes this file. */
export function writerTurns(path: string): Turns {
  let turns = writers.get(path);
  if (turns === undefined) writers.set(path, turns = new Turns());
  return turns;
}
