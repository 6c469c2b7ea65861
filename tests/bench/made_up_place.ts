/**
 * A place whose time and whose writers are made up, so that what the benchmark measures is known beforehand.
 *
 * @module
 */

import type { Place, RawWriter } from "../../bench/bench_case.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";

/** A place in memory. Its clock stands unless somebody moves it. */
export class MadeUpPlace implements Place {
  readonly runtime = "Made up 1";
  readonly medium = "memory";
  readonly absent = [{ name: "a tape", reason: "nobody has one" }];
  readonly rawWriters: readonly [RawWriter, ...RawWriter[]];
  /** The name of each writer that was written to, in order. */
  readonly written: string[] = [];
  /** How many writers are open. */
  openCount = 0;
  timeMs = 0;

  constructor(costsMs: Readonly<Record<string, number>> = { base: 1, slow: 3 }) {
    const [first, ...others] = Object.entries(costsMs).map(([name, costMs]) => this.#writer(name, costMs));
    this.rawWriters = [first!, ...others];
  }

  openStore() {
    return openMemoryStore();
  }

  nowMs(): number {
    return this.timeMs;
  }

  /** Time passes only by sleeping; the turn of the loop that everybody waiting needs is a real one. */
  async sleep(delayMs: number): Promise<void> {
    this.timeMs += delayMs;
    await new Promise((wake) => setTimeout(wake));
  }

  #writer(name: string, costMs: number): RawWriter {
    return {
      name,
      open: () => {
        this.openCount++;
        return Promise.resolve({
          write: () => {
            this.written.push(name);
            this.timeMs += costMs;
          },
          close: () => void this.openCount--,
        });
      },
    };
  }
}
