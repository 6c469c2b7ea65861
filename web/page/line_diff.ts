/**
 * What a file write would change, line by line.
 *
 * @see Hunt and McIlroy, "An Algorithm for Differential File Comparison" (1976), for the longest common subsequence
 * @module
 */

/** Above this many compared pairs of lines the middle is shown as removed and added: exact, though not minimal. */
const PAIRS_MAX = 1_000_000;
/** Unchanged lines around a change; the rest is folded. */
const CONTEXT_LINES = 3;
/** Says that a last line has no newline. */
const NO_NEWLINE = " (no newline at the end)";

/** One line of a diff. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added" | "folded";
  readonly text: string;
}

/** The lines that lead from `before` to `after`. `null` is no file: every line is added. */
export function diffLines(before: string | null, after: string): DiffLine[] {
  const source = before === null ? [] : linesOf(before);
  const target = linesOf(after);
  let start = 0;
  while (start < source.length && start < target.length && source[start] === target[start]) start++;
  let end = 0;
  while (
    end < source.length - start && end < target.length - start &&
    source[source.length - 1 - end] === target[target.length - 1 - end]
  ) end++;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return fold([
    ...source.slice(0, start).map(same),
    ...middle(source.slice(start, source.length - end), target.slice(start, target.length - end)),
    ...source.slice(source.length - end).map(same),
  ]);
}

/** A last newline ends the last line; a missing one is shown, because it is a difference too. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop()!;
  return last === "" ? lines : [...lines, `${last}${NO_NEWLINE}`];
}

function middle(source: readonly string[], target: readonly string[]): DiffLine[] {
  if (source.length * target.length > PAIRS_MAX) {
    return [
      ...source.map((text): DiffLine => ({ kind: "removed", text })),
      ...target.map((text): DiffLine => ({ kind: "added", text })),
    ];
  }
  const width = target.length + 1;
  // lengths[i * width + j]: how many lines source from i and target from j have in common.
  const lengths = new Uint32Array((source.length + 1) * width);
  for (let i = source.length - 1; i >= 0; i--) {
    for (let j = target.length - 1; j >= 0; j--) {
      lengths[i * width + j] = source[i] === target[j]
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0, j = 0;
  while (i < source.length || j < target.length) {
    if (i < source.length && j < target.length && source[i] === target[j]) {
      lines.push({ kind: "same", text: source[i]! });
      i++, j++;
    } else if (
      j >= target.length || (i < source.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
    ) lines.push({ kind: "removed", text: source[i++]! });
    else lines.push({ kind: "added", text: target[j++]! });
  }
  return lines;
}

function fold(lines: readonly DiffLine[]): DiffLine[] {
  const folded: DiffLine[] = [];
  let hidden = 0;
  const isNearChange = (index: number) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ kind }) => kind !== "same");
  for (const [index, line] of lines.entries()) {
    if (isNearChange(index)) {
      if (hidden > 0) folded.push(foldedLine(hidden));
      hidden = 0;
      folded.push(line);
    } else hidden++;
  }
  return hidden > 0 ? [...folded, foldedLine(hidden)] : folded;
}

function foldedLine(count: number): DiffLine {
  return { kind: "folded", text: `${count} unchanged ${count === 1 ? "line" : "lines"}` };
}
