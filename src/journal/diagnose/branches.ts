/**
 * Puts rows into order by their seqs: one branch when one writer wrote the log, several when two went on from the same event.
 *
 * Held per row is a number, so that a row that comes twice is told from another one of the same seq.
 *
 * @module
 */
import type { BytePlace } from "./source.ts";

/** How many branches of one log are told apart. */
export const BRANCHES_MAX = 26;

/** Rows that follow each other in the file and in the log. */
export interface Run {
  /** Of its first event. */
  readonly firstSeq: number;
  /** Just behind its last event. */
  endSeq: number;
  /** How many rows it has. */
  rows: number;
  /** Where its first row stands: at this offset, behind so many others. */
  readonly place: BytePlace;
  readonly indexInPlace: number;
  /** The seq that its only row gives itself, when that is wrong. */
  readonly saysSeq: number | null;
  /** Just behind the bytes of its last row. */
  endBytes: number;
}

/** What became of a row. */
export type Placed =
  | { readonly how: "next"; readonly branch: Branch }
  /** Events between the last one of its branch and this one are not there. */
  | { readonly how: "gap"; readonly branch: Branch; readonly missing: readonly [first: number, last: number] }
  /** It fills a gap that was left before. */
  | { readonly how: "late"; readonly branch: Branch }
  /** The same row is there already. */
  | { readonly how: "doubled"; readonly branch: Branch }
  /** Another row of this seq is there: a second writer begins. */
  | { readonly how: "fork"; readonly branch: Branch; readonly parent: Branch }
  | { readonly how: "too many branches" };

/** What a row is placed by. */
export interface PlacedRow {
  readonly seq: number;
  readonly count: number;
  readonly fingerprint: number;
  readonly place: BytePlace;
  readonly indexInPlace: number;
  readonly saysSeq?: number;
  readonly time: number;
  /** The call it is about, and those it proposes: what tells writers apart whose logs are equally long. */
  readonly callId?: string;
  readonly proposes?: readonly string[];
}

/** The log of one writer, from where it left its parent. */
export class Branch {
  readonly name: string;
  readonly parent: Branch | null;
  /** The first seq that is its own. */
  readonly forkSeq: number;
  /** In the order of the file. */
  readonly runs: Run[] = [];
  /** One more than its highest seq. */
  nextSeq: number;
  /** Of its last row. */
  lastTime = -Infinity;
  /** The newest calls that were proposed in it since it was forked from. */
  readonly #proposed = new Set<string>();
  /** Neighbours in segments, those in the order of their seqs. */
  readonly #fingerprints: { readonly firstSeq: number; readonly values: number[] }[] = [];
  #ordinal = -2;

  constructor(name: string, parent: Branch | null, forkSeq: number) {
    this.name = name;
    this.parent = parent;
    this.forkSeq = forkSeq;
    this.nextSeq = forkSeq;
  }

  /** The fingerprint of the row at a seq; `undefined` when there is none. */
  fingerprintAt(seq: number): number | undefined {
    if (seq < this.forkSeq) return this.parent?.fingerprintAt(seq);
    const segment = this.#fingerprints[this.#segmentOf(seq)];
    return segment?.values[seq - segment.firstSeq];
  }

  /** How little a row looks like the next one of this writer: 0 when nothing speaks against it. */
  strangenessOf({ time, callId }: PlacedRow): number {
    // A writer appends in the order of its clock.
    const isEarlier = time < this.lastTime ? 1 : 0;
    return callId !== undefined && !this.#proposed.has(callId) ? isEarlier + 2 : isEarlier;
  }

  /** Adds a row. `ordinal` counts all rows of the file. */
  add(row: PlacedRow, ordinal: number): void {
    const { seq, count, place, indexInPlace, saysSeq = null } = row;
    const last = this.runs.at(-1);
    const endBytes = place.offsetBytes + place.sizeBytes;
    if (
      last !== undefined && last.endSeq === seq && this.#ordinal + 1 === ordinal && saysSeq === null &&
      last.saysSeq === null
    ) {
      last.endSeq += count;
      last.rows += 1;
      last.endBytes = endBytes;
    } else {
      this.runs.push({ firstSeq: seq, endSeq: seq + count, rows: 1, place, indexInPlace, saysSeq, endBytes });
    }
    this.#ordinal = ordinal;
    const index = this.#segmentOf(seq);
    let segment = this.#fingerprints[index];
    if (segment === undefined || segment.firstSeq + segment.values.length !== seq) {
      segment = { firstSeq: seq, values: [] };
      this.#fingerprints.splice(index + 1, 0, segment);
    }
    for (let member = 0; member < count; member++) segment.values.push(row.fingerprint + member);
    this.nextSeq = Math.max(this.nextSeq, seq + count);
    this.lastTime = row.time;
    for (const callId of row.proposes ?? []) {
      this.#proposed.add(callId);
      if (this.#proposed.size > PROPOSED_MAX) this.#proposed.delete(this.#proposed.values().next().value!);
    }
  }

  /** The last segment that begins at a seq or before it; −1 when there is none. */
  #segmentOf(seq: number): number {
    let low = 0;
    let high = this.#fingerprints.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#fingerprints[middle]!.firstSeq <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** How many calls of one writer are remembered. */
const PROPOSED_MAX = 256;

/** The branches of a log that is read row by row. */
export class Branches {
  readonly all: Branch[] = [new Branch("A", null, 0)];
  #last: Branch = this.all[0]!;
  #lastOffset = -1;
  #ordinal = 0;

  /** The branch of the row before. */
  get last(): Branch {
    return this.#last;
  }

  /** Finds the place of the next row of the file. */
  place(row: PlacedRow): Placed {
    const ordinal = this.#ordinal++;
    const placed = this.#find(row);
    this.#lastOffset = row.place.offsetBytes;
    if (placed.how === "too many branches" || placed.how === "doubled") return placed;
    placed.branch.add(row, ordinal);
    this.#last = placed.branch;
    return placed;
  }

  /** Whether a row would simply be the next one of some branch. */
  continues({ seq }: Pick<PlacedRow, "seq">): boolean {
    return this.all.some((branch) => branch.nextSeq === seq);
  }

  /** Of branches that are equally long the one whose writer wrote this row; the first of several such. */
  #likeliest(row: PlacedRow, branches: readonly Branch[]): Branch {
    const [first] = branches;
    // A frame is one batch of one writer.
    if (branches.length === 1 || (first === this.#last && row.place.offsetBytes === this.#lastOffset)) return first!;
    return branches.reduce((best, other) => other.strangenessOf(row) < best.strangenessOf(row) ? other : best);
  }

  #find(row: PlacedRow): Placed {
    const { seq, fingerprint } = row;
    // A writer writes in batches, so the branch of the row before is asked first.
    const order = [this.#last, ...this.all.filter((branch) => branch !== this.#last).reverse()];
    const nexts = order.filter((branch) => branch.nextSeq === seq);
    if (nexts.length > 0) return { how: "next", branch: this.#likeliest(row, nexts) };
    const same = order.find((branch) => branch.fingerprintAt(seq) === fingerprint);
    if (same !== undefined) return { how: "doubled", branch: same };
    const gapped = order.find((branch) =>
      seq < branch.nextSeq && seq >= branch.forkSeq && branch.fingerprintAt(seq) === undefined
    );
    if (gapped !== undefined) return { how: "late", branch: gapped };
    const behind = order.filter((branch) => branch.nextSeq < seq);
    if (behind.length > 0) {
      const branch = behind.reduce((best, other) => other.nextSeq > best.nextSeq ? other : best);
      return { how: "gap", branch, missing: [branch.nextSeq, seq - 1] };
    }
    if (this.all.length >= BRANCHES_MAX) return { how: "too many branches" };
    const parent = order.find((branch) => branch.fingerprintAt(seq) !== undefined)!;
    const branch = new Branch(String.fromCharCode("A".charCodeAt(0) + this.all.length), owner(parent, seq), seq);
    this.all.push(branch);
    return { how: "fork", branch, parent: branch.parent! };
  }
}

/** The branch that the event before `seq` belongs to. */
function owner(branch: Branch, seq: number): Branch {
  let found = branch;
  while (found.parent !== null && seq <= found.forkSeq) found = found.parent;
  return found;
}

/** A number that tells rows apart: 53 bits of their text. */
export function fingerprintOf(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 2 ** 21 * (low & 0x7fffffff) + (high >>> 11);
}
