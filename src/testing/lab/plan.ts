/**
 * Which units a run of the lab consists of: one seed and a few numbers, always the same units.
 *
 * @module
 */
import { diceOf, seedFrom } from "./dice.ts";
import { ALPHABET, COMPACTING, type Letter, REPEATING, workloads } from "./letters.ts";
import { COMPRESSIONS, FAULT_KINDS, type FaultKind, MEDIA, type Unit } from "./unit.ts";

/** How many processes the lives of a `random` unit have at most, and how many letters each of them. */
export const LIVES_MAX = 4;
/** See {@linkcode LIVES_MAX}. */
export const LETTERS_PER_LIFE_MAX = 4;

/** Every `all` unit with workloads of so many letters, on both media, in both encodings. */
export function* exhaustiveUnits(seed: number, letters: number): Generator<Unit> {
  for (const life of workloads(letters)) {
    for (const medium of MEDIA) {
      for (const compression of COMPRESSIONS) yield { kind: "all", medium, compression, seed, lives: [life] };
    }
  }
}

/** `random` units without end. */
export function* randomUnits(seed: number): Generator<Unit> {
  for (let index = 0;; index++) {
    const unitSeed = seedFrom(seed, index);
    const dice = diceOf(unitSeed);
    const lives = Array.from({ length: 2 + dice.below(LIVES_MAX - 1) }, (_, life): Letter[] => {
      const count = life === 0 ? 1 + dice.below(LETTERS_PER_LIFE_MAX) : dice.below(3);
      // Whatever was left unknown is often tried again.
      return Array.from({ length: count }, () => dice.pick(life > 0 && dice.oneIn(2) ? REPEATING : ALPHABET));
    });
    yield {
      ...{ kind: "random" as const, medium: MEDIA[index % 2]!, compression: COMPRESSIONS[(index >> 1) % 2]! },
      ...{ seed: unitSeed, lives },
    };
  }
}

/** `random` units about long conversations, without end: each first life has a letter of them, and often several. */
export function* compactionUnits(seed: number): Generator<Unit> {
  let index = 0;
  for (const unit of randomUnits(seedFrom(seed, 4))) {
    const dice = diceOf(seedFrom(unit.seed, 4));
    const [first = [], ...others] = unit.lives.map((life) =>
      life.map((letter) => dice.oneIn(2) ? dice.pick(COMPACTING) : letter)
    );
    const always = COMPACTING[index++ % COMPACTING.length]!;
    yield { ...unit, lives: [["long", ...first, always].slice(0, LETTERS_PER_LIFE_MAX + 2) as Letter[], ...others] };
  }
}

/**
 * Every `fault` unit of a workload: each call of the medium fails in turn, in each way, once and for good.
 *
 * @param operations how many calls the workload makes when none fails
 */
export function* faultUnits(unit: Omit<Unit, "kind" | "fault">, operations: number): Generator<Unit> {
  for (let operation = 0; operation < operations; operation++) {
    for (const kind of faultsOf(unit)) {
      for (const isSticky of [false, true]) yield { ...unit, kind: "fault", fault: { operation, kind, isSticky } };
    }
  }
}

function faultsOf({ medium }: Pick<Unit, "medium">): readonly FaultKind[] {
  // Exclusive handles are a thing of browsers.
  return medium === "opfs" ? FAULT_KINDS : FAULT_KINDS.filter((kind) => kind !== "handle-refused");
}
