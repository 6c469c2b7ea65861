/**
 * One branch of a log as the events of a new one, with an account of what was kept, dropped and inferred.
 *
 * @module
 */
import { FORMAT_VERSION, isEvent, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import type { Branch } from "../diagnose/branches.ts";
import type { FoundRow } from "../diagnose/rows.ts";
import type { LogBytes, LookOptions } from "../diagnose/source.ts";
import type { LostPiece, Survey } from "../diagnose/survey.ts";
import type { LegacyHeader, LegacyRow } from "../legacy/mod.ts";
import { branchRows } from "./branch_rows.ts";
import { EventCopy } from "./event_copy.ts";
import { LegacyRows } from "./legacy_rows.ts";
import { Remarks, type SeqRange, SeqRanges } from "./ranges.ts";

/** How often a migration is begun anew without a row that it refused. */
export const MIGRATION_TRIES_MAX = 64;

/** How a branch is copied, settled by planning it. */
export interface CopyRules {
  readonly header: SessionHeader;
  /** The header of an old log, its `seedLength` as the source has it; `null` in version 3. */
  readonly legacyHeader: LegacyHeader | null;
  /** Rows of an old log that no event of version 3 can be made from: seq → why. */
  readonly refused: ReadonlyMap<number, { readonly reason: string; readonly count: number }>;
}

/** What came of a copy. */
export interface BranchCopied {
  readonly events: number;
  /** Seqs of the source. */
  readonly kept: readonly SeqRange[];
  readonly dropped: readonly LostPiece[];
  readonly inferred: readonly string[];
  readonly hasInheritedSeed: boolean;
  /** Digests of the blobs that its events name. */
  readonly blobs: readonly string[];
}

/** How many bytes a branch's dropped rows are told for, one by one. */
const DROPPED_ROWS_MAX = 16_384;

/**
 * Copies a branch, event by event.
 *
 * @param emit given each event in order; waited for
 * @throws {RowRefused} a row of an old log: copy anew without it
 * @throws {SourceDriftError}
 */
export async function copyBranch(
  source: LogBytes,
  found: Survey,
  branch: Branch,
  rules: CopyRules,
  options: LookOptions,
  emit: (event: SessionEvent) => Promise<void> | void = () => {},
): Promise<BranchCopied> {
  const copying = new Copying(rules, branch, emit);
  for await (const row of branchRows(source, found, branch, options)) await copying.take(row);
  return await copying.end();
}

class Copying {
  readonly #rules: CopyRules;
  readonly #emit: (event: SessionEvent) => Promise<void> | void;
  readonly #copy: EventCopy;
  readonly #legacy: LegacyRows | null;
  readonly #kept = new SeqRanges();
  readonly #dropped: LostPiece[] = [];
  readonly #remarks = new Remarks();
  readonly #blobs = new Set<string>();
  #nextSeq = 0;
  #last: FoundRow | null = null;
  /** Messages of an old log that wait for its first step. */
  readonly #early = new Map<number, FoundRow>();

  constructor(rules: CopyRules, branch: Branch, emit: (event: SessionEvent) => Promise<void> | void) {
    const { header, legacyHeader, refused } = rules;
    this.#rules = rules;
    this.#emit = emit;
    this.#copy = new EventCopy(header);
    this.#legacy = legacyHeader === null ? null : new LegacyRows(leftOf(legacyHeader, branch, refused));
  }

  async take(row: FoundRow): Promise<void> {
    const { seq, count, note, stored } = row;
    this.#last = row;
    if (seq !== this.#nextSeq) this.#copy.gap();
    this.#nextSeq = seq + count;
    if (note !== null) this.#remarks.about(seq, note);
    if (stored.version === FORMAT_VERSION) {
      const { event } = stored as { readonly event: SessionEvent };
      await this.#put(event.seq === seq ? event : { ...event, seq }, row, true);
      return;
    }
    const refusal = this.#rules.refused.get(seq);
    const events = refusal === undefined ? this.#legacy!.push((stored as { readonly row: LegacyRow }).row) : null;
    if (events === null) {
      this.#drop(row, `seq ${seq} (${row.type}): ${refusal?.reason ?? "what it refers to is lost"}`);
      return;
    }
    const wereEarly = this.#early.size;
    for (const early of this.#legacy!.early) this.#early.set(early, this.#early.get(early) ?? row);
    if (this.#early.size > wereEarly) return;
    if (wereEarly > 0 && this.#legacy!.early.length === 0) {
      for (const early of this.#early.keys()) {
        this.#kept.add(early, early);
        this.#remarks.say(`seq ${early} was put behind the first step/start, seq ${seq}`);
      }
      this.#early.clear();
    }
    this.#kept.add(seq, seq + count - 1);
    for (const event of events) await this.#put(event, row, false);
  }

  async end(): Promise<BranchCopied> {
    for (const [early, row] of this.#early) this.#drop(row, `seq ${early} (${row.type}): no step ever begins`);
    for (const event of this.#legacy?.end() ?? []) await this.#put(event, this.#last!, false);
    return {
      ...{ events: this.#copy.nextSeq, kept: this.#kept.all, dropped: this.#dropped, inferred: this.#remarks.all },
      ...{ hasInheritedSeed: this.#copy.hasInheritedSeed, blobs: [...this.#blobs] },
    };
  }

  async #put(event: SessionEvent, row: FoundRow, countsAsKept: boolean): Promise<void> {
    const { events, dropped, notes } = this.#copy.take(event);
    for (const note of notes) this.#remarks.say(note);
    if (dropped !== null) {
      this.#drop(row, dropped);
      return;
    }
    if (countsAsKept) this.#kept.add(event.seq, event.seq);
    for (const next of events) {
      if (isEvent(next, "result/spilled")) this.#blobs.add(next.data.digest);
      await this.#emit(next);
    }
  }

  #drop({ place: { offsetBytes, sizeBytes } }: FoundRow, reason: string): void {
    this.#copy.gap();
    const last = this.#dropped.at(-1);
    if (last !== undefined && last.offsetBytes === offsetBytes && last.reason.length < REASON_LENGTH_MAX) {
      this.#dropped[this.#dropped.length - 1] = { ...last, reason: `${last.reason}; ${reason}` };
    } else if (this.#dropped.length < DROPPED_ROWS_MAX) {
      this.#dropped.push({ offsetBytes, sizeBytes, reason });
    } else this.#remarks.say(`${reason}; it is not listed among what was dropped`);
  }
}

/** How long the reasons of one frame may become together, in UTF-16 units. */
const REASON_LENGTH_MAX = 400;

/** The header of an old log, its seed as long as what is left of it. */
function leftOf(header: LegacyHeader, branch: Branch, refused: CopyRules["refused"]): LegacyHeader {
  const { seedLength } = header;
  if (seedLength === null) return header;
  let left = 0;
  let limit = seedLength;
  for (let at: Branch | null = branch; at !== null; at = at.parent) {
    for (const { firstSeq, endSeq } of at.runs) left += Math.max(0, Math.min(endSeq, limit) - firstSeq);
    limit = Math.min(limit, at.forkSeq);
  }
  for (const [seq, { count }] of refused) if (seq < seedLength) left -= count;
  return { ...header, seedLength: Math.max(0, left) };
}
