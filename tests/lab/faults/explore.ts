/**
 * A program: looks for the first violation in the engine it was copied beside. Arguments: seed, states at most.
 *
 * Prints one line of JSON: how many states were tried, and the first violation or `null`.
 *
 * @module
 */
import { judgesDecoder } from "../../../src/cli/judges_decoder.ts";
import { runLab } from "../../../src/testing/mod.ts";
import type { LabTally } from "../../../src/testing/mod.ts";

const [seed, statesMax] = Deno.args.map(Number) as [number, number];

/** What mixes everything comes first; each part ends at its first violation. */
const PARTS = [
  { snapshotStates: statesMax / 8 },
  { randomStates: statesMax / 2 },
  { faultStates: statesMax / 4 },
  { exhaustive: [1] },
] as const;

let states = 0;
for (const part of PARTS) {
  if (states >= statesMax) break;
  const abort = new AbortController();
  let last: LabTally | null = null;
  const onUnit = (tally: LabTally) => {
    last = tally;
    if (tally.violationCount > 0 || states + tally.states >= statesMax) abort.abort();
  };
  const bench = { decodeFrame: judgesDecoder };
  try {
    last = await runLab({ seed, ...part, bench, onUnit, signal: abort.signal });
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  }
  const { states: tried, violations } = last!;
  states += tried;
  const [first] = violations;
  if (first !== undefined) {
    console.log(JSON.stringify({ states, violation: first }));
    Deno.exit(0);
  }
}
console.log(JSON.stringify({ states, violation: null }));
