/**
 * The rows of one branch in the order of their seqs, read again from where a survey has found them.
 *
 * @module
 */
import { SourceDriftError } from "../../errors.ts";
import type { Branch, Run } from "../diagnose/branches.ts";
import { type FoundRow, readRows } from "../diagnose/rows.ts";
import type { LogBytes, LookOptions } from "../diagnose/source.ts";
import type { Survey } from "../diagnose/survey.ts";

/** How far reading goes on to come to the next run, instead of beginning anew there. */
export const READ_ON_BYTES_MAX: number = 4 * 1024 * 1024;

/** A part of a run. */
interface Slice {
  readonly run: Run;
  /** Just behind its last event. */
  readonly endSeq: number;
}

/**
 * Gives the rows of a branch, those it shares with its parents first. A row that gives itself a wrong seq has the right one.
 *
 * @throws {SourceDriftError} when other rows stand where these were found
 */
export async function* branchRows(
  source: LogBytes,
  { encoding, version }: Pick<Survey, "encoding" | "version">,
  branch: Branch,
  options: LookOptions,
): AsyncGenerator<FoundRow, void, undefined> {
  const cursor = new Cursor((offsetBytes) =>
    readRows(source, offsetBytes, { ...options, encoding, version: version ?? undefined })
  );
  try {
    for (const { run, endSeq } of slicesOf(branch)) {
      let row = await cursor.find(run);
      // A line that goes over the beginning of a frame is one line only for who reads from before that.
      if (row?.seq !== (run.saysSeq ?? run.firstSeq)) row = await cursor.find(run, 0);
      for (let seq = run.firstSeq; seq < endSeq;) {
        if (row === null || row.seq !== (run.saysSeq ?? seq)) throw drift(source, seq);
        yield run.saysSeq === null ? row : { ...row, seq, note: `it said that it is seq ${row.seq}` };
        seq += row.count;
        if (seq < endSeq) row = await cursor.next();
      }
    }
  } finally {
    await cursor.close();
  }
}

function drift({ name }: LogBytes, seq: number): SourceDriftError {
  return new SourceDriftError(`Cannot salvage "${name}": another row stands where seq ${seq} was`);
}

/** All runs that make up a branch, by seq. */
function slicesOf(branch: Branch): Slice[] {
  const slices: Slice[] = [];
  let limit = Infinity;
  for (let at: Branch | null = branch; at !== null; at = at.parent) {
    for (const run of at.runs) if (run.firstSeq < limit) slices.push({ run, endSeq: Math.min(run.endSeq, limit) });
    limit = Math.min(limit, at.forkSeq);
  }
  return slices.sort((left, right) => left.run.firstSeq - right.run.firstSeq);
}

/** A place in the file, and the rows from there. */
class Cursor {
  readonly #open: (offsetBytes: number) => ReturnType<typeof readRows>;
  #rows: ReturnType<typeof readRows> | null = null;
  #last: FoundRow | null = null;

  constructor(open: (offsetBytes: number) => ReturnType<typeof readRows>) {
    this.#open = open;
  }

  /** The first row of a run. Reading begins anew at `startBytes` when it is given. */
  async find({ place: { offsetBytes }, indexInPlace }: Run, startBytes?: number): Promise<FoundRow | null> {
    const last = this.#last;
    const isAhead = last !== null && (last.place.offsetBytes < offsetBytes ||
      (last.place.offsetBytes === offsetBytes && last.indexInPlace < indexInPlace));
    const isNear = last !== null && offsetBytes - last.place.offsetBytes - last.place.sizeBytes <= READ_ON_BYTES_MAX;
    if (startBytes !== undefined || !isAhead || !isNear) {
      await this.close();
      this.#rows = this.#open(startBytes ?? offsetBytes);
    }
    for (let row = await this.next(); row !== null; row = await this.next()) {
      if (row.place.offsetBytes > offsetBytes) return null;
      if (row.place.offsetBytes === offsetBytes && row.indexInPlace === indexInPlace) return row;
    }
    return null;
  }

  async next(): Promise<FoundRow | null> {
    for (;;) {
      const found = await this.#rows!.next();
      if (found.done === true) return null;
      if (found.value.kind === "row") return this.#last = found.value;
    }
  }

  async close(): Promise<void> {
    await this.#rows?.return();
    this.#rows = null;
    this.#last = null;
  }
}
