/**
 * The crash lab at length, on two threads: random states and failing calls, then the whole exhaustive part, and random states
 * again where that is less than five million.
 */
import { assert, assertEquals } from "@std/assert";
import { runLabThreads } from "../../src/cli/lab_threads.ts";
import { addTally, ALPHABET, countExhaustive, emptyTally, type LabTally, MEDIA } from "../../src/testing/mod.ts";

/** How many states there are at least. */
const STATES_MIN = 5_000_000;
/** How many random states are drawn first, and how many that failing calls leave. */
const RANDOM_STATES = 300_000;
const FAULT_STATES = 100_000;
const THREADS = 2;
const SEED = Number(Deno.env.get("HOLDFAST_LAB_SEED") ?? 1);
/** How often a line says how far it is, in milliseconds. */
const WORD_MS = 30_000;

/** Runs a part and says how fast it is. */
async function run(name: string, task: Parameters<typeof runLabThreads>[0], wanted: number): Promise<LabTally> {
  const startMs = performance.now();
  let saidMs = startMs;
  const line = ({ states, violationCount }: LabTally) => {
    const seconds = (performance.now() - startMs) / 1000;
    const left = Math.max(0, (wanted - states) / (states / seconds));
    return `${name}: ${states} states in ${seconds.toFixed(0)} s, ${(states / seconds).toFixed(0)} a second, about ` +
      `${Math.ceil(left / 60)} min left, ${violationCount} violations`;
  };
  const tally = await runLabThreads(task, THREADS, (sum) => {
    if (performance.now() - saidMs < WORD_MS) return;
    saidMs = performance.now();
    console.log(line(sum));
  });
  console.log(line(tally));
  const shares = MEDIA.map((medium) => {
    const { states, refused, forgotten } = tally.media[medium];
    return `${medium}: ${states}, ${(100 * refused / states).toFixed(3)} % refused as damage, ${forgotten} forgotten`;
  });
  console.log(`${name}: ${shares.join("; ")}; ${JSON.stringify({ ...tally.classes, ...tally.verdicts })}`);
  assertEquals(tally.violations, []);
  return tally;
}

Deno.test("five million crash states over both media, those of all workloads of up to three batches among them: nothing false is said", async () => {
  const total = emptyTally();
  const add = (tally: LabTally) => {
    addTally(total, tally);
    console.log(`so far: ${total.states} states, ${total.violationCount} violations`);
  };
  const draw = async (name: string, randomStates: number, faultStates: number, seed: number) => {
    add(await run(name, { seed, randomStates, faultStates }, randomStates + faultStates));
  };
  await draw("random and failing calls", RANDOM_STATES, FAULT_STATES, SEED);
  let before = 0;
  for (const letters of [1, 2, 3]) {
    // Counting without trying takes minutes for three letters; they have about as many states each as those of two.
    const isCounted = letters < 3;
    const count = isCounted ? await countExhaustive(SEED, letters) : before * ALPHABET.length;
    const tally = await run(`all workloads of ${letters}`, { seed: SEED, exhaustive: [letters] }, count);
    if (isCounted) assertEquals(tally.exhaustiveStates, count, "every state was tried");
    before = tally.exhaustiveStates;
    add(tally);
  }
  console.log(`exhaustive: ${total.exhaustiveStates} states`);
  if (total.states < STATES_MIN) await draw("more random states", STATES_MIN - total.states, 0, SEED + 1);
  assert(total.states >= STATES_MIN, `only ${total.states} states`);
  for (const medium of MEDIA) assert(total.media[medium].states > STATES_MIN / 4, medium);
});
