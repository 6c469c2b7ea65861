/**
 * The README's table of what is known after a crash at each point, against what the lab sees in every crash state of a payment.
 */
import { assert, assertEquals } from "@std/assert";
import { zstdDecompressSync } from "node:zlib";
import { type LabTrace, parseUnit, replayUnit } from "../../src/testing/mod.ts";
import { repositoryDir } from "../support/paths.ts";

const readme = await Deno.readTextFile(`${repositoryDir}/README.md`);

/** The rows of the table: when, what is said, and what a lookup finds. */
function rowsOfReadme(): Map<string, { said: Set<string>; found: Set<string> }> {
  const start = readme.indexOf("| the crash comes ");
  assert(start > 0, "the README has no such table");
  const lines = readme.slice(start).split("\n");
  const rows = lines.slice(2, lines.findIndex((line) => !line.startsWith("|")));
  return new Map(rows.map((row) => {
    const [, when, said, found] = row.split("|").map((cell) => cell.trim());
    return [when!, { said: wordsIn(said!), found: wordsIn(found!) }];
  }));
}

/** The classes and verdicts a cell names. */
function wordsIn(cell: string): Set<string> {
  return new Set(cell.match(/nothing|done|not_started|not_dispatched|outcome_unknown|happened|absent/g) ?? []);
}

/** In which row a crash belongs: by the flushes that the process had begun and that had ended. */
function rowOf({ appended, acknowledgedThroughSeq, calls, crashedAtStep }: LabTrace): string {
  const proposed = appended.flatMap(({ rows }) => rows as readonly { readonly type: string; readonly seq: number }[])
    .find(({ type }) => type === "assistant/message");
  if (proposed === undefined) return "before the model's call is written";
  if (acknowledgedThroughSeq < proposed.seq) return "while it is being written";
  const call = calls[0];
  const isPast = (step: number | undefined) => step !== undefined && step <= crashedAtStep;
  if (isPast(call?.resultFlushEndedAtStep)) return "afterwards";
  if (isPast(call?.resultFlushStartedAtStep)) return "while the result is being written";
  if (isPast(call?.markerFlushEndedAtStep)) return "while the tool runs";
  if (isPast(call?.markerFlushStartedAtStep)) return "while the marker is being written";
  return "while policy or a person decides";
}

Deno.test("README: what is said after a crash at each point is what the lab sees, no more and no less", async () => {
  const decodeFrame = (frame: Uint8Array) => zstdDecompressSync(frame);
  const seen = new Map<string, { said: Set<string>; found: Set<string> }>();
  const trials = await replayUnit(parseUnit("all:posix:none:pay", 1), undefined, { decodeFrame });
  for (const { tried: { trace }, violations } of trials) {
    assertEquals(violations, []);
    const row = rowOf(trace);
    const { said, found } = seen.get(row) ?? { said: new Set(), found: new Set() };
    seen.set(row, { said, found });
    const [report] = trace.reports;
    said.add(report?.class ?? "nothing");
    if (report?.verdict !== undefined) found.add(report.verdict);
  }
  const sorted = (table: typeof seen) =>
    [...table].map(([when, { said, found }]) => [when, [...said].sort(), [...found].sort()] as const);
  assertEquals(sorted(seen), sorted(rowsOfReadme()));
});
