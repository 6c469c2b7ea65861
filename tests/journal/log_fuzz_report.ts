/**
 * What a run of the fuzz says at its end, and the bounds it is held to.
 *
 * @module
 */
import type { FuzzReport } from "./log_fuzz.ts";

/** How much more memory than before the process may hold meanwhile, in bytes. */
export const FUZZ_GROWTH_BYTES_MAX: number = 512 * 1024 * 1024;

/** Of the events that a single damage left alone, this share must be in the copies. */
export const SALVAGED_SHARE_MIN = 0.95;

/** Prints a report. */
export function printFuzz({ inputs, ends, slowest, undamaged, salvaged, startBytes, peakBytes }: FuzzReport): void {
  const counts = [...ends].sort(([a], [b]) => a < b ? -1 : 1).map(([end, count]) => `${end} ${count}`).join(", ");
  console.log(`${inputs} inputs: ${counts}`);
  console.log(
    `slowest: input ${slowest.number}, ${slowest.ms.toFixed(1)} ms; ` +
      `${Math.round(startBytes / 2 ** 20)} MiB before, at most ${Math.round(peakBytes / 2 ** 20)} MiB meanwhile`,
  );
  const share = (100 * salvaged / undamaged).toFixed(2);
  console.log(`of ${undamaged} events that a single damage left alone ${salvaged} were salvaged (${share} %)`);
}
