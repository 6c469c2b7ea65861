/**
 * What an import leaves out, counted by kind. Nothing is left out without being counted here.
 *
 * @module
 */

/** One kind of thing that was left out. */
export interface ForeignLoss {
  /** What it was, in words. */
  readonly kind: string;
  /** How often. */
  readonly count: number;
  /** Line of the first one, counted from 1. */
  readonly firstLine: number;
}

/** How many kinds are told apart; what comes beyond is counted as one more. */
export const LOSS_KINDS_MAX = 100;

/** How many whole lines that were left out are named with their place and digest. */
export const DROPPED_LINES_MAX = 100;

const KIND_LENGTH_MAX = 80;
const OTHER_KIND = "something else";

/** A line that was left out whole. */
export interface DroppedLine {
  /** Index, counted from 0. */
  readonly line: number;
  /** What it was. */
  readonly reason: string;
}

/** Counts losses. */
export class Losses {
  readonly #kinds = new Map<string, { count: number; firstLine: number }>();
  readonly #lines: DroppedLine[] = [];
  readonly #inferred = new Set<string>();

  /** Counts a part of line `line` (from 0). */
  part(kind: string, line: number): void {
    const name = kind.slice(0, KIND_LENGTH_MAX).toWellFormed();
    const key = this.#kinds.has(name) || this.#kinds.size < LOSS_KINDS_MAX ? name : OTHER_KIND;
    const known = this.#kinds.get(key);
    if (known === undefined) {
      this.#kinds.set(key, { count: 1, firstLine: line + 1 });
    } else {
      known.count++;
      known.firstLine = Math.min(known.firstLine, line + 1);
    }
  }

  /** Counts a whole line. */
  line(kind: string, line: number): void {
    this.part(kind, line);
    if (this.#lines.length < DROPPED_LINES_MAX) this.#lines.push({ line, reason: kind.slice(0, KIND_LENGTH_MAX) });
  }

  /** Notes something that was concluded and does not stand in the file. The same words are noted once. */
  infer(what: string): void {
    if (this.#inferred.size < LOSS_KINDS_MAX) this.#inferred.add(what);
  }

  /** The kinds, by their first line. */
  get kinds(): ForeignLoss[] {
    return [...this.#kinds].map(([kind, { count, firstLine }]) => ({ kind, count, firstLine }))
      .sort((a, b) => a.firstLine - b.firstLine);
  }

  /** The first DROPPED_LINES_MAX whole lines, by their place. */
  get lines(): readonly DroppedLine[] {
    return this.#lines.toSorted((a, b) => a.line - b.line);
  }

  /** What was concluded. */
  get inferred(): string[] {
    return [...this.#inferred];
  }
}
