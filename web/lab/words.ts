/**
 * What a visitor reads about a finding.
 *
 * @module
 */
import type { BankState } from "./payment_run.ts";
import type { Finding } from "./survey.ts";

/** Name, sign and meaning of each finding. The sign repeats in shape what colour says. */
export const FINDING_WORDS: Readonly<
  Record<Finding, { readonly name: string; readonly sign: string; readonly means: string }>
> = {
  not_proposed: {
    name: "not proposed",
    sign: "–",
    means: "The log holds no call. Nothing ran; the model is asked anew.",
  },
  not_started: {
    name: "not_started",
    sign: "○",
    means: "The model asked for it and no more. Nothing ran; the log proves it.",
  },
  not_dispatched: {
    name: "not_dispatched",
    sign: "◔",
    means: "It was taken up, and no marker says that it began. Nothing ran; the log proves it.",
  },
  outcome_unknown: {
    name: "outcome_unknown",
    sign: "?",
    means: "The marker says “it starts now”, and no result follows. It may have run: the log cannot know more.",
  },
  done: { name: "done", sign: "●", means: "Its result is in the log: it ran, and this is what came back." },
  refused: {
    name: "read-only",
    sign: "✕",
    means:
      "The device kept the length of a write and not its bytes: the log counts as damaged. It is shown, and not written.",
  },
};

/** How it stood with the bank when it crashed. */
export const BANK_WORDS: Readonly<Record<BankState, string>> = {
  "not asked": "the bank had heard nothing",
  "under way": "the request was under way, and it arrives after the next start",
  paid: "the bank had paid",
};

/** Words as a sentence. */
export function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
