/**
 * Rows of old versions, with some of them missing, as events of version 3.
 *
 * The stages of the migration without the check of its result: a log with a gap in it breaks relations that a migrated one keeps,
 * and `event_copy.ts` puts them right. What a stage refuses is left out, and the rest is migrated anew.
 *
 * @see session-format §10
 * @module
 */
import { hasCode } from "../../errors.ts";
import { isSurfaceType, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import { foundIn } from "../finding.ts";
import type { LegacyHeader, LegacyRow } from "../legacy/mod.ts";
import { contentProblem, envelopeProblem, sourcesOf } from "../legacy/restored.ts";
import { SeqMap } from "../legacy/seq_map.ts";
import type { LegacyEvent } from "../legacy/types.ts";
import { V0ToV1 } from "../legacy/v0_to_v1.ts";
import { V1ToV2 } from "../legacy/v1_to_v2.ts";
import { V2ToV3 } from "../legacy/v2_to_v3.ts";
import { renumber } from "./renumber.ts";

/** Why a row has no place in version 3. The migration it was given to is spent. */
export class RowRefused extends Error {
  override readonly name = "RowRefused";

  constructor(readonly seq: number, readonly reason: string, readonly count = 1) {
    super(reason);
  }
}

/** A migration of the rows that are left. */
export class LegacyRows {
  readonly header: SessionHeader;
  readonly #version: LegacyHeader["version"];
  readonly #toV1: V0ToV1 | null;
  readonly #toV2: V1ToV2 | null;
  readonly #toV3: V2ToV3;
  readonly #seqs = new SeqMap();
  #nextSeq = 0;
  #hasStep = false;
  /** Messages before the first step: a system message has to stand at the head of them, and only in a step can it. */
  #early: LegacyRow[] = [];
  /** The row that went in last: what a stage refuses at the end came from it. */
  #last: Pick<LegacyRow, "firstSeq" | "count"> = { firstSeq: 0, count: 1 };

  /** @param header its `seedLength` counts the rows that are left */
  constructor(header: LegacyHeader) {
    this.#version = header.version;
    this.#toV1 = header.version === 0 ? new V0ToV1(header) : null;
    this.#toV2 = header.version === 2 ? null : new V1ToV2(this.#toV1?.header ?? header);
    this.#toV3 = new V2ToV3(this.#toV2?.header ?? header);
    this.header = this.#toV3.header;
  }

  /**
   * Takes the next row that is left; `null` when it has no place without what is lost. A message that comes before the first step
   * comes out behind its start.
   *
   * @throws {RowRefused}
   */
  push(row: LegacyRow): readonly SessionEvent[] | null {
    if (this.#hasStep || row.kind === "run") return this.#push(row);
    const { type } = row.event;
    if (isSurfaceType(type) || type === "steering/message") {
      this.#early.push(row);
      return [];
    }
    const events = this.#push(row);
    if (type !== "step/start" || events === null) return events;
    this.#hasStep = true;
    return [...events, ...this.#early.splice(0).flatMap((early) => this.#push(early) ?? [])];
  }

  /** Seqs of messages that came before the first step, as long as that has not come. */
  get early(): readonly number[] {
    return this.#early.map(({ firstSeq }) => firstSeq);
  }

  #push(row: LegacyRow): readonly SessionEvent[] | null {
    const dense = this.#dense(row);
    if (dense === null) return null;
    this.#last = row;
    return this.#refusing(row.firstSeq, row.count, () => {
      const checked = this.#checked(dense);
      const events = this.#toV2 === null ? [eventOf(checked)] : this.#toV2.push(checked);
      const migrated = events.flatMap((event) => this.#toV3.push(event));
      for (let member = 0; member < row.count; member++) this.#remember(row.firstSeq + member, this.#nextSeq++);
      return migrated;
    });
  }

  /** What was moved, so that a map of rising seqs does not hold it. */
  readonly #moved = new Map<number, number>();
  #lastSeq = -1;

  #remember(seq: number, dense: number): void {
    if (seq < this.#lastSeq) {
      this.#moved.set(seq, dense);
      return;
    }
    this.#seqs.add(seq, dense);
    this.#lastSeq = seq;
  }

  /** @throws {RowRefused} */
  end(): readonly SessionEvent[] {
    return this.#refusing(this.#last.firstSeq, this.#last.count, () => {
      const migrated = (this.#toV2?.end() ?? []).flatMap((event) => this.#toV3.push(event));
      return [...migrated, ...this.#toV3.end()];
    });
  }

  /** The row with seqs that leave nothing out. */
  #dense(row: LegacyRow): LegacyRow | null {
    const firstSeq = this.#nextSeq;
    if (row.kind === "run") return { ...row, firstSeq };
    const found = renumber(row.event, firstSeq, (seq) => this.#seqs.get(seq) ?? this.#moved.get(seq) ?? null);
    if ("dropped" in found || found.hasLostSpan) return null;
    return { ...row, firstSeq, event: found.event as LegacyEvent };
  }

  #checked(row: LegacyRow): LegacyRow {
    if (row.kind === "run") return row;
    const problem = envelopeProblem(row.event, this.#version);
    if (problem !== null) throw new RowRefused(row.firstSeq, problem);
    const event = eventOf(this.#toV1?.push(row) ?? row);
    const content = contentProblem(event, this.#version);
    if (content !== null) throw new RowRefused(row.firstSeq, content);
    const sources = sourcesOf(event, this.#version);
    if (typeof sources === "string") throw new RowRefused(row.firstSeq, sources);
    return { ...row, event: sources === undefined ? event : { ...event, sourceEventSeqs: sources } };
  }

  #refusing<Result>(seq: number, count: number, act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      if (error instanceof RowRefused) throw new RowRefused(seq, error.reason, count);
      const isRefusal = hasCode(error, "UNSUPPORTED_FORMAT") || hasCode(error, "CORRUPT_LOG");

      if (isRefusal || hasCode(error, "TOO_LARGE")) {
        throw new RowRefused(seq, foundIn(error), count);
      }
      throw error;
    }
  }
}

function eventOf(row: LegacyRow): LegacyEvent {
  if (row.kind === "event") return row.event;
  throw new RowRefused(row.firstSeq, "a packed row in a version that has none");
}
