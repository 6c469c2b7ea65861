/**
 * What every reader of a foreign format is given and gives back, and what they share.
 *
 * @module
 */
import type { Block, Usage } from "../event/mod.ts";
import type { ForeignPlace, ForeignResult, SessionBuilder } from "./builder.ts";
import type { ForeignLines } from "./lines.ts";
import type { Losses } from "./losses.ts";
import type { ForeignRecord } from "./record.ts";
import { countAt, stringAt, timeAt } from "./record.ts";

/** The formats that are known. */
export type ForeignFormat = "claude-code" | "codex" | "pi";

/** What a file says about its session. */
export interface ForeignFacts {
  /** Its id in the other program. */
  readonly id: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number | null;
  /** The folder it was about. */
  readonly cwd: string | null;
}

/** A file that was looked through once, so that its branches are known. */
export interface ForeignReader {
  readonly facts: ForeignFacts;
  /** Gives the messages to the builder. Yields now and then, so that what is ready can be taken. */
  messages(builder: SessionBuilder): Generator<void>;
}

/** Looks a file through. */
export type OpenReader = (lines: ForeignLines, losses: Losses) => ForeignReader;

/** A piece of text as a block. */
export function textBlock(text: string): Block {
  return { type: "text", text };
}

/** What stands for an image or a file whose bytes are not taken in: nothing is left out without a word. */
export function attachmentBlock(what: string, mediaType: string | null): Block {
  return textBlock(
    `[${mediaType === null ? what : `${what} of type ${mediaType.slice(0, 60)}`}, which was not taken in]`,
  );
}

/** Where a line stands, by its `timestamp`. */
export function placeOf(record: ForeignRecord, line: number): ForeignPlace {
  return { line, time: timeAt(record, "timestamp") };
}

/** Token counts, `null` when there are none. `cached` tokens are part of the request. */
export function usageOf(
  record: ForeignRecord,
  keys: Readonly<Record<"input" | "output" | "read" | "write", string>>,
): Usage | null {
  const [input, output, read, write] = [keys.input, keys.output, keys.read, keys.write].map((key) =>
    countAt(record, key)
  );
  const inputTokens = input! + read! + write!;
  if (inputTokens + output! === 0 || !Number.isSafeInteger(inputTokens)) return null;
  return {
    inputTokens,
    outputTokens: output!,
    ...(read === 0 ? {} : { cacheReadTokens: read! }),
    ...(write === 0 ? {} : { cacheWriteTokens: write! }),
  };
}

/** Follows links from a line to its parent. A line that was seen already ends the chain. */
export function chainFrom(leaf: number, parentOf: (line: number) => number | null, losses: Losses): number[] {
  const seen = new Set<number>();
  for (let line: number | null = leaf; line !== null; line = parentOf(line)) {
    if (seen.has(line)) {
      losses.infer("a chain of parents that turns back on itself was cut");
      break;
    }
    seen.add(line);
  }
  return [...seen].reverse();
}

/** Where the results of calls stand. Each result is used once, in the order in which they were added. */
export class ResultIndex {
  readonly #places = new Map<string, { readonly lines: number[]; next: number }>();

  /** Notes that a result of a call stands on a line. */
  add(callId: string, line: number): void {
    const known = this.#places.get(callId);
    if (known === undefined) this.#places.set(callId, { lines: [line], next: 0 });
    else if (known.lines.at(-1) !== line) known.lines.push(line);
  }

  /** The line of the next result of a call, or `null`. */
  use(callId: string): number | null {
    const known = this.#places.get(callId);
    return known === undefined || known.next === known.lines.length ? null : known.lines[known.next++]!;
  }

  /** The lines of results that no call used. */
  *unused(): Generator<number> {
    for (const { lines, next } of this.#places.values()) yield* lines.slice(next);
  }
}

/** A result that was found, read from its line. */
export type ReadResult = (line: number, callId: string) => ForeignResult | null;

/** The type of a record, in words for a report. */
export function typeName(record: ForeignRecord): string {
  return (stringAt(record, "type") ?? "none").slice(0, 60);
}
