/**
 * Randomness that repeats: one seed, one run. The dice of the crash lab, under the name that tests know.
 *
 * @module
 */
export { type Dice as SeededRandom, diceOf as seededRandom } from "../../src/testing/lab/dice.ts";
