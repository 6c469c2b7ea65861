/**
 * What workloads are written with: an alphabet of batches, each one input of a person and what the agent does with it.
 *
 * The alphabet has one letter for each way a batch can be different for a crash: what is declared about the effect, whether a
 * person is asked, whether the target can tell afterwards, whether two run at once, whether a person refuses, whether the turn is
 * cancelled under a body that runs, whether nothing is called at all. Every workload of up to three letters is explored wholly.
 *
 * @module
 */
import type { ScriptStep } from "../../../mod.ts";
import type { LabToolName } from "./lab_tools.ts";

/** One letter of the alphabet. */
export type Letter = keyof typeof LETTERS;

/** What the model does with one input. */
interface LetterTraits {
  /** What it stands for, in words. */
  readonly says: string;
  readonly calls: readonly LabToolName[];
  /** What the person who is asked answers. */
  readonly answer: "allowed-once" | "rejected";
  /** Whether the turn is cancelled as soon as a request is under way. */
  readonly isCancelled: boolean;
  /** Whether the first request is refused as longer than the window. */
  readonly isTooLong?: boolean;
  /** Whether the person compacts when the turn is over. */
  readonly isCompacted?: boolean;
}

const ALLOWED = { answer: "allowed-once", isCancelled: false } as const;

/** The alphabet. */
export const LETTERS = {
  say: { says: "an input and a text answer", calls: [], ...ALLOWED },
  look: { says: "a call that only reads, then a text answer", calls: ["look"], ...ALLOWED },
  pay: { says: "a keyed call, asked about, with a lookup", calls: ["pay"], ...ALLOWED },
  put: { says: "an idempotent call, allowed, without a lookup", calls: ["put"], ...ALLOWED },
  send: { says: "an opaque call, asked about, without a lookup", calls: ["send"], ...ALLOWED },
  mail: { says: "an opaque call, allowed, with a lookup", calls: ["mail"], ...ALLOWED },
  pair: { says: "two keyed calls at once", calls: ["tip", "tip"], ...ALLOWED },
  deny: { says: "a call that the person refuses", calls: ["send"], answer: "rejected", isCancelled: false },
  stop: {
    says: "a turn that is cancelled while a body runs",
    calls: ["put"],
    answer: "allowed-once",
    isCancelled: true,
  },
  again: { says: "the call whose outcome is unknown once more, with equal arguments", calls: [], ...ALLOWED },
  nay: { says: "the same, and whoever is asked refuses", calls: [], answer: "rejected", isCancelled: false },
  long: { says: "a call whose result is kept beside the log", calls: ["dump"], ...ALLOWED },
  over: {
    says: "a request that is longer than the window, compacted and made again",
    calls: [],
    isTooLong: true,
    ...ALLOWED,
  },
  fold: { says: "an input and a text answer, then a compaction by hand", calls: [], isCompacted: true, ...ALLOWED },
} as const satisfies Readonly<{ [name: string]: LetterTraits }>;

/** Letters that mean something only where a crash has left an unknown: they do not belong to workloads that are explored wholly. */
export const REPEATING: readonly Letter[] = ["again", "nay"];

/** Letters about long conversations: a part of its own, because their states are too many to be explored wholly. */
export const COMPACTING: readonly Letter[] = ["long", "over", "fold"];

/** Every other letter, in the order of the alphabet. */
export const ALPHABET: readonly Letter[] = (Object.keys(LETTERS) as Letter[]).filter((name) =>
  !REPEATING.includes(name) && !COMPACTING.includes(name)
);

/** How a letter behaves. */
export function traitsOf(letter: Letter): LetterTraits {
  return LETTERS[letter];
}

/**
 * Every workload with so many letters, in the order of the alphabet.
 *
 * @example
 * ```ts
 * import { ALPHABET, workloads } from "./letters.ts";
 *
 * if ([...workloads(2)].length !== ALPHABET.length ** 2) throw new Error("unreachable");
 * ```
 */
export function* workloads(length: number): Generator<readonly Letter[]> {
  if (length === 0) return yield [];
  for (const start of workloads(length - 1)) for (const letter of ALPHABET) yield [...start, letter];
}

/** What the model answers to a letter that repeats a call, under a new id. */
export function repeatStep(mark: string, { name, arguments: args }: { name: string; arguments: string }): ScriptStep {
  return [{ call: { id: `${mark}r`, name, arguments: args } }];
}

const TOO_LONG = { code: "CONTEXT_WINDOW_EXCEEDED", message: "the request is longer than the window" };

/** What the model answers to the input of a letter. `mark` tells equal letters apart: it is in the arguments and in the ids. */
export function stepsOf(letter: Letter, mark: string): readonly ScriptStep[] {
  const { calls, isTooLong = false } = traitsOf(letter);
  const refused: readonly ScriptStep[] = isTooLong ? [[{ error: TOO_LONG }]] : [];
  if (calls.length === 0) return [...refused, [{ text: "ok" }]];
  const proposed = calls.map((name, index) => ({
    call: { id: `${mark}${"ab"[index]}`, name, arguments: { n: `${mark}${index}` } },
  }));
  return [proposed, [{ text: "ok" }]];
}

/**
 * The alphabet for a person: each letter and what it stands for.
 *
 * @example
 * ```ts
 * import { lettersInWords } from "./letters.ts";
 *
 * for (const [letter, words] of lettersInWords()) console.log(`${letter}: ${words}`);
 * ```
 */
export function lettersInWords(): readonly (readonly [Letter, string])[] {
  return [...ALPHABET, ...REPEATING, ...COMPACTING].map((letter) => [letter, traitsOf(letter).says]);
}
