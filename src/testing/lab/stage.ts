/**
 * Where a process of the lab lives: the world around it, its clock, its dice, and what is written down about it.
 *
 * @module
 */
import type { Dice } from "./dice.ts";
import type { LabClock } from "./lab_clock.ts";
import type { Record } from "./record.ts";
import type { World } from "./world.ts";

/** One process. */
export interface Stage {
  readonly incarnation: number;
  readonly world: World;
  readonly clock: LabClock;
  /** Decides what happens by chance; `null` where everything goes as it should. */
  readonly chance: Dice | null;
  readonly record: Record;
}

/** The stage that is played on now: tools are made once, and processes by the million. */
export class StageDoor {
  #stage: Stage | null = null;

  /** Whoever runs now. A body keeps what it finds here when it begins. */
  get stage(): Stage {
    if (this.#stage === null) throw new TypeError("Cannot run a tool of the lab: no process is running");
    return this.#stage;
  }

  enter(stage: Stage): void {
    this.#stage = stage;
  }
}
