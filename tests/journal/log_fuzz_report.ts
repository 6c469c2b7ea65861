/**
 * A run of the fuzz, what it says at its end, and the bounds it is held to.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { FuzzReport } from "./log_fuzz.ts";

/**
 * The heap of the run, in MiB. V8 collects garbage late when it is given more, and then what a process holds says little about
 * what it needs; one that needs more than this is ended.
 */
const HEAP_MIB_MAX = 256;

/** How much memory the process of the run may hold at any time, in bytes: its heap, and what lies outside of it. */
const RESIDENT_BYTES_MAX = 512 * 1024 * 1024;

/** Of the events that a single damage left alone, this share must be in the copies. */
const SALVAGED_SHARE_MIN = 0.95;

/** Which inputs are run. The environment changes it, for whoever looks for something or makes a failure again. */
export interface FuzzRun {
  readonly inputs: number;
  readonly seed: number;
}

/** How many inputs are run when the environment does not say otherwise. */
export function fuzzInputs(otherwise: number): number {
  return Number(Deno.env.get("HOLDFAST_FUZZ_INPUTS") ?? otherwise);
}

/** Runs the fuzz in a process of its own, prints what it came to, and asserts that it holds its bounds. */
export async function checkFuzz({ inputs, seed }: FuzzRun): Promise<void> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", `--v8-flags=--max-old-space-size=${HEAP_MIB_MAX}`]
      .concat([new URL("log_fuzz_main.ts", import.meta.url).pathname]),
    env: {
      HOLDFAST_FUZZ_SEED: Deno.env.get("HOLDFAST_FUZZ_SEED") ?? `${seed}`,
      HOLDFAST_FUZZ_FROM: Deno.env.get("HOLDFAST_FUZZ_FROM") ?? "0",
      HOLDFAST_FUZZ_INPUTS: `${inputs}`,
    },
    ...{ stdout: "piped", stderr: "inherit" },
  }).output();
  const said = new TextDecoder().decode(stdout);
  assertEquals(code, 0, `the run ended: ${said.slice(-1000)}`);
  const lines = said.trimEnd().split("\n");
  const report: FuzzReport & { readonly ends: readonly [string, number][] } = JSON.parse(lines.at(-1)!);
  printFuzz(report);
  assertEquals(report.failures, []);
  assertEquals(report.inputs, inputs);
  assert(report.peakBytes < RESIDENT_BYTES_MAX, `the process held ${report.peakBytes} bytes`);
  assert(report.salvaged >= SALVAGED_SHARE_MIN * report.undamaged, "too few of the undamaged events were salvaged");
}

function printFuzz({ inputs, ends, slowest, undamaged, salvaged, startBytes, peakBytes }: FuzzReport): void {
  const counts = [...ends].sort(([a], [b]) => a < b ? -1 : 1).map(([end, count]) => `${end} ${count}`).join(", ");
  console.log(`${inputs} inputs: ${counts}`);
  console.log(
    `slowest: input ${slowest.number}, ${slowest.ms.toFixed(1)} ms; ` +
      `${Math.round(startBytes / 2 ** 20)} MiB before, at most ${Math.round(peakBytes / 2 ** 20)} MiB meanwhile`,
  );
  const share = (100 * salvaged / undamaged).toFixed(2);
  console.log(`of ${undamaged} events that a single damage left alone ${salvaged} were salvaged (${share} %)`);
}
