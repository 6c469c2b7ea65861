/**
 * Reads one log whole and says what it is: the data behind `verify`, `show`, `ls --verify` and `repair --dry-run`.
 *
 * @module
 */
import {
  checkSpilled,
  closers,
  CorruptFrameError,
  CorruptLogError,
  HoldfastError,
  type LogFault,
  logFold,
  type LogFolds,
  type LogReader,
  type OpenTurn,
  openTurn,
  type SessionEvent,
  type SpilledCheck,
  type TornTail,
  UnsupportedFormatError,
} from "../../mod.ts";
import { Places } from "./evidence.ts";
import { counted } from "./format.ts";
import { SpilledResults } from "./loss_marks.ts";
import type { Output } from "./output.ts";
import { spilledMember } from "./spilled_report.ts";
import type { Target } from "./target.ts";

/** What is wrong with a log. Also when it could not be read at all: then `code` says why. */
export interface Damage {
  readonly code: string;
  readonly offsetBytes: number | null;
  readonly seq: number | null;
  readonly message: string;
}

/** One row of `verify --json`: the contract of the command. */
export interface Verdict {
  readonly file: string;
  readonly id: string | null;
  readonly version: number | null;
  readonly encoding: "zstd" | "none" | null;
  readonly sizeBytes: number;
  readonly frames: number;
  readonly events: number;
  readonly lastSeq: number | null;
  readonly torn: TornTail | null;
  readonly damage: Damage | null;
  readonly open: OpenTurn | null;
  readonly live: boolean;
  readonly closers: readonly SessionEvent[];
  /**
   * The long results beside the log: damage of its own kind, because the log is whole without them. Absent when it names none.
   */
  readonly spilled?: SpilledCheck;
}

/** A log that was read to its end, or to its damage. The caller closes `reader`. */
export interface Inspected {
  readonly reader: LogReader;
  readonly folds: LogFolds;
  readonly places: Places;
  readonly results: SpilledResults;
}

/** Opens a log for reading, folding every event on the way. */
export async function inspect(target: Pick<Target, "file" | "open">, out: Output): Promise<Inspected> {
  let folds = logFold.initial();
  const places = new Places();
  const results = new SpilledResults();
  let seen = 0;
  using line = out.progress(`reading ${target.file}`);
  const reader = await target.open({
    visit: (event, place) => {
      folds = logFold.apply(folds, event);
      places.see(event, place);
      results.see(event);
      if (++seen % 1024 === 0) line.report(`reading ${target.file}: ${counted(seen, "event")}`);
    },
  });
  return { reader, folds, places, results };
}

/** Reads the long results that a log names, one at a time. */
export async function inspectSpilled(
  { reader, folds: { spilled: { texts } } }: Pick<Inspected, "reader" | "folds">,
  file: string,
  out: Output,
): Promise<SpilledCheck> {
  using line = out.progress(`reading what lies beside ${file}`);
  return await checkSpilled(
    reader,
    texts,
    (count) => line.report(`reading what lies beside ${file}: ${counted(count, "long result")}`),
  );
}

/** What a log is, and everything derived from what could be read of it. */
export interface Examined {
  readonly verdict: Verdict;
  readonly folds: LogFolds;
}

/** Reads a log and says what it is; a header that cannot be read is a verdict too. */
export async function examine(target: Target, out: Output): Promise<Examined> {
  let inspected: Inspected;
  try {
    inspected = await inspect(target, out);
  } catch (error) {
    const verdict = unreadable(target, error);
    if (verdict === null) throw error;
    return { verdict, folds: logFold.initial() };
  }
  const { reader, folds } = inspected;
  await using _ = reader;
  const spilled = await inspectSpilled(inspected, target.file, out);
  const { sizeBytes, frames, nextSeq, torn, fault } = reader.state();
  const verdict: Verdict = {
    file: target.file,
    id: reader.header.id,
    version: reader.header.version,
    encoding: reader.encoding,
    sizeBytes: sizeBytes ?? 0,
    frames,
    events: nextSeq,
    lastSeq: nextSeq === 0 ? null : nextSeq - 1,
    torn,
    damage: fault,
    open: openTurn(folds.pendingCalls),
    live: target.live,
    closers: fault === null ? closers(folds) : [],
    ...spilledMember(spilled),
  };
  return { verdict, folds };
}

/** The verdict on a log of which not even the header could be read, or that is not there; `null` when the error is another. */
export function unreadable(
  target: Pick<Target, "file" | "sizeBytes" | "encoding" | "live">,
  error: unknown,
): Verdict | null {
  if (!(error instanceof HoldfastError)) return null;
  const { file, encoding, sizeBytes, live } = target;
  const version = "version" in error && typeof error.version === "number" ? error.version : null;
  const isInside = ["CORRUPT_FRAME", "CORRUPT_LOG", "UNSUPPORTED_FORMAT"].includes(error.code);
  const offsetBytes = "offsetBytes" in error && typeof error.offsetBytes === "number" ? error.offsetBytes : null;
  const damage = {
    code: error.code,
    offsetBytes: offsetBytes ?? (isInside ? 0 : null),
    seq: null,
    message: found(error),
  };
  return {
    ...{ file, id: null, version, encoding, sizeBytes, frames: 0, events: 0, lastSeq: null },
    ...{ torn: null, damage, open: null, live, closers: [] },
  };
}

/** A fault as the error of whoever wanted to write. `what` is what could not be done: `repair session "a"`. */
export function faultError({ code, offsetBytes, seq, message }: LogFault, what: string): HoldfastError {
  const text = `Cannot ${what}: ${message}`;
  const place = { offsetBytes: offsetBytes ?? undefined, seq: seq ?? undefined };
  switch (code) {
    case "CORRUPT_FRAME":
      return new CorruptFrameError(text, place);
    case "CORRUPT_LOG":
      return new CorruptLogError(text, place);
    case "UNSUPPORTED_FORMAT":
      return new UnsupportedFormatError(text, { seq: place.seq });
  }
}

/** What an error of ours found, without what could not be done. */
export function found({ message }: Error): string {
  return /^Cannot [^"]*"(?:[^"\\]|\\.)*"[^:]*: ([^]+)$/.exec(message)?.[1] ?? message;
}
