/**
 * `lawful-compaction`: what a log names beside itself is there, and only a whole bracket changes what a model reads.
 *
 * A summary, its replacement and the end of its bracket follow each other with nothing in between, so that a crash at any place
 * leaves the old surface or the new one. An end without a summary says why; one that nobody began ends nothing.
 *
 * @module
 */
import type { Case } from "./case.ts";
import type { LogReading } from "./log.ts";
import { isRecord, type Row } from "./rows.ts";
import type { Files } from "./trace.ts";

/** Checks both, after the crash and after the recovery. */
export function checkCompaction(found: Case): void {
  const { trace, image, recovered } = found;
  checkSpilled(found, image, trace.image, "after the crash");
  checkBrackets(found, image.rows, "after the crash");
  if (recovered === null || recovered.state !== "readable" || trace.recovered === undefined) return;
  checkSpilled(found, recovered, trace.recovered, "after the recovery");
  checkBrackets(found, recovered.rows, "after the recovery");
}

/** A blob is durable before the event that names it, so that no state of a medium has the one without the other. */
function checkSpilled({ trace, reader, find }: Case, { rows }: LogReading, files: Files, where: string): void {
  const folder = trace.log.slice(0, trace.log.lastIndexOf("/") + 1);
  for (const { type, seq, data } of rows) {
    if (type !== "result/spilled") continue;
    const { digest, sizeBytes } = data as { readonly digest?: unknown; readonly sizeBytes?: unknown };
    const name = `${folder}blobs/${digest}`;
    // Forgotten with its name, or with that of its folder. A medium that is no browser's forgets none.
    if (trace.lostNames?.some((lost) => lost === name || name.startsWith(`${lost}/`))) continue;
    const content = files.get(name);
    const blob = content === undefined ? null : reader.copyOfTail(content);
    if (blob?.length === sizeBytes) continue;
    const state = content === undefined ? "which is not there" : "which is not whole";
    find("lawful-compaction", `seq ${seq} names blob ${digest}, ${state} ${where}`);
    return;
  }
}

interface Bracket {
  readonly id: unknown;
  readonly start: Row;
}

function checkBrackets({ find }: Case, rows: readonly Row[], where: string): void {
  let open: Bracket | null = null;
  const wrong = (seq: number, what: string) => find("lawful-compaction", `seq ${seq}: ${what}, ${where}`);
  for (const [index, row] of rows.entries()) {
    const { type, seq } = row;
    // What a crash cut off is never ended.
    if (type === "session/end-seed") open = null;
    const data = row.data as { readonly compactionId?: unknown; readonly error?: unknown };
    if (type === "compaction/start") {
      if (open !== null) wrong(seq, `a compaction begins inside of that of seq ${open.start.seq}`);
      open = { id: data.compactionId, start: row };
    } else if (type === "compaction/summary") {
      if (open?.id !== data.compactionId) wrong(seq, "a summary belongs to no open compaction");
      const [replacement, end] = [rows[index + 1], rows[index + 2]];
      // The log ends here, or a crash took the rest before anything of it counted.
      if (replacement === undefined || isCutOff(rows, index + 1)) continue;
      if (!isReplacement(replacement, open?.start.seq, seq)) wrong(seq, "its replacement does not follow it");
      else if (end !== undefined && end.type !== "compaction/end" && !isCutOff(rows, index + 2)) {
        wrong(seq, "the end of its compaction does not follow its replacement");
      }
    } else if (type === "compaction/end") {
      if (open?.id !== data.compactionId) wrong(seq, "an end belongs to no open compaction");
      else if (data.error === undefined && rows[index - 2]?.type !== "compaction/summary") {
        wrong(seq, "a compaction ends without an error, and no summary and replacement stand before its end");
      }
      open = null;
    } else if (type === "user/message" && isRecord(row.surfaceOp) && rows[index - 1]?.type !== "compaction/summary") {
      wrong(seq, "a message replaces others, and no summary stands before it");
    }
  }
}

function isReplacement({ type, surfaceOp, value }: Row, startSeq: number | undefined, summarySeq: number): boolean {
  const sources = (value as { readonly sourceEventSeqs?: readonly number[] }).sourceEventSeqs ?? [];
  return type === "user/message" && isRecord(surfaceOp) && startSeq !== undefined && sources.includes(startSeq) &&
    sources.includes(summarySeq);
}

/** Whether what stands here was written by a recovery: before the end of the lifecycle there is nothing but what closes a turn. */
function isCutOff(rows: readonly Row[], from: number): boolean {
  const end = rows.findIndex(({ type, seq }) => seq >= rows[from]!.seq && type === "session/end-seed");
  if (end === -1) return from < rows.length && CLOSERS.has(rows[from]!.type);
  return rows.slice(from, end).every(({ type }) => CLOSERS.has(type));
}

const CLOSERS: ReadonlySet<string> = new Set([
  "agent/inbox/spliced",
  "approval/decided",
  "effect/reconciled",
  "tool/result",
  "step/end",
  "turn/end",
]);
