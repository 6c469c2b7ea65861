/**
 * What a run of the fuzz says at its end, and the bounds it is held to.
 *
 * @module
 */
import type { FuzzReport } from "./log_fuzz.ts";

/** The most memory the whole process may hold meanwhile, in bytes. */
export const FUZZ_PEAK_BYTES_MAX: number = 768 * 1024 * 1024;

/** Of the events that a single damage left alone, this share must be in the copies. */
export const SALVAGED_SHARE_MIN = 0.95;

/** Prints a report. */
export function printFuzz({ inputs, ends, slowest, undamaged, salvaged, peakBytes }: FuzzReport): void {
  const counts = [...ends].sort(([a], [b]) => a < b ? -1 : 1).map(([end, count]) => `${end} ${count}`).join(", ");
  console.log(`${inputs} inputs: ${counts}`);
  console.log(
    `slowest: input ${slowest.number}, ${slowest.ms.toFixed(1)} ms; peak ${Math.round(peakBytes / 2 ** 20)} MiB`,
  );
  const share = (100 * salvaged / undamaged).toFixed(2);
  console.log(`of ${undamaged} events that a single damage left alone ${salvaged} were salvaged (${share} %)`);
}
