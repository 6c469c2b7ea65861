/**
 * A place whose time and whose writers are made up, so that what the benchmark measures is known beforehand.
 *
 * @module
 */

import type { LogParser, Place, RawWriter } from "../../bench/bench_case.ts";
import { parseRows } from "../../bench/rows.ts";
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
  /** How many rows each parse found. */
  readonly parsed: number[] = [];
  readonly logParser: LogParser = {
    name: "parser",
    prepare: async (parts) => {
      this.openCount++;
      const texts = await Array.fromAsync(parts);
      return {
        parse: () => {
          const rows = texts.reduce((sum, text) => sum + parseRows(text), 0);
          this.parsed.push(rows);
          return rows;
        },
        close: () => void this.openCount--,
      };
    },
  };

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
