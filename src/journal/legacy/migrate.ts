/**
 * A migration from end to end: rows of an old log in, events of version 3 out.
 *
 * The stages are adjacent, each with its own closed inventory: 0 → 1 → 2 → 3. What goes in is checked as its own version checks
 * it, so that damage is told from what merely cannot be migrated; what comes out is checked as a migrated log must be.
 *
 * @see session-format §10
 * @module
 */
import type { SessionEvent, SessionHeader } from "../../event/mod.ts";
import { CorruptLogError, UnsupportedFormatError } from "../../errors.ts";
import { checkContinues } from "./decoder.ts";
import { refuse, type Refused, refuseDamage } from "./refusal.ts";
import { contentProblem, envelopeProblem, sourcesOf } from "./restored.ts";
import { TargetCheck, type TargetProblem } from "./target.ts";
import type { LegacyEvent, LegacyHeader, LegacyRow } from "./types.ts";
import { V0ToV1 } from "./v0_to_v1.ts";
import { V1ToV2 } from "./v1_to_v2.ts";
import { V2ToV3 } from "./v2_to_v3.ts";

/**
 * A streaming migration of one old log to version 3.
 *
 * Held meanwhile: the stream of the answer that is being read and the events behind its last chunk (at most `ATTEMPT_UNITS_MAX`
 * characters and `ATTEMPT_EVENTS_MAX` events), the places where seqs moved (a few numbers per answer), the surface without its
 * texts, and ids and seqs that later events may refer to. Never the log.
 */
export interface LegacyMigration {
  /** The header of the migrated log. Known at once: whether a log is seeded does not depend on its events. */
  readonly header: SessionHeader;
  /** How many events came out so far; the next one has this seq. */
  readonly nextSeq: number;
  /** The seq of the last `session/end-seed` with `inherited` that came out so far; 0 without one. */
  readonly inheritedEventCount: number;
  /**
   * Takes the next row. Events may come out later than their row went in.
   *
   * After an exception nothing more is pushed. What came out before stays true of the source, but some refusals come only with
   * `end()`: nothing is published before.
   *
   * @param row as `readLegacyRow` gave it; its `firstSeq` continues what went in before
   * @returns events of version 3, each of which may stand next in the migrated log
   * @throws {UnsupportedFormatError} intact, and not to be had in version 3; `seq` is that of the source
   * @throws {CorruptLogError} damage, which the file's own version refuses too; `seq` is that of the source
   * @throws {RangeError} the row does not continue what went in before
   */
  push(row: LegacyRow): readonly SessionEvent[];
  /**
   * Takes note that the source ends here; the last events come out. Called once. A turn that is open at the end stays open.
   *
   * @throws as `push()`
   */
  end(): readonly SessionEvent[];
}

/**
 * Begins a migration.
 *
 * @throws {UnsupportedFormatError} the header holds what only its own version drops
 * @throws {CorruptLogError} the header names a relative `cwd`, with which no program goes on
 *
 * @example
 * ```ts
 * import { migrateLegacy, parseLegacyHeader, readLegacyRow } from "./mod.ts";
 * import { RowFault } from "../../event/mod.ts";
 *
 * const migration = migrateLegacy(
 *   parseLegacyHeader('{"type":"session","version":1,"id":"a","createdAt":1,"delegationDepth":0}'),
 * );
 * const row = readLegacyRow('{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}', 1, 0);
 * if (row instanceof RowFault) throw row.toError();
 * const events = [...migration.push(row), ...migration.end()];
 * if (migration.header.version !== 3 || events.length !== 1) throw new Error("unreachable");
 * ```
 */
export function migrateLegacy(header: LegacyHeader): LegacyMigration {
  return new Migration(header);
}

class Migration implements LegacyMigration {
  readonly header: SessionHeader;
  readonly #source: LegacyHeader;
  readonly #toV1: V0ToV1 | null;
  readonly #toV2: V1ToV2 | null;
  readonly #toV3: V2ToV3;
  readonly #target: TargetCheck;
  /** The seq that must go in next. */
  #sourceSeq = 0;

  constructor(header: LegacyHeader) {
    this.#source = header;
    this.#toV1 = header.version === 0 ? new V0ToV1(header) : null;
    this.#toV2 = header.version === 2 ? null : new V1ToV2(this.#toV1?.header ?? header);
    this.#toV3 = new V2ToV3(this.#toV2?.header ?? header);
    this.header = this.#toV3.header;
    this.#target = new TargetCheck(this.header);
  }

  get nextSeq(): number {
    return this.#target.nextSeq;
  }

  get inheritedEventCount(): number {
    return this.#target.inheritedEventCount;
  }

  push(row: LegacyRow): readonly SessionEvent[] {
    checkContinues(row, this.#sourceSeq);
    const checked = this.#checked(row);
    const events = this.#toV2 === null ? [eventOf(checked)] : this.#toV2.push(checked);
    const migrated = this.#migrated(events, row.kind === "event" ? row.event : { seq: row.firstSeq });
    this.#sourceSeq += row.count;
    return migrated;
  }

  end(): readonly SessionEvent[] {
    const last = { seq: this.#sourceSeq };
    const migrated = this.#migrated(this.#toV2?.end() ?? [], last);
    this.#toV3.end();
    const problem = this.#target.end();
    if (problem !== null) throw errorOf(problem, "the end of the log", last);
    return migrated;
  }

  /** The row in the last shape of its version, checked as that version checks it, and a row of version 1 or 2. */
  #checked(row: LegacyRow): LegacyRow {
    if (row.kind === "run") return row;
    const { version } = this.#source;
    const envelope = envelopeProblem(row.event, version);
    if (envelope !== null) refuseDamage(row.event, envelope);
    const event = eventOf(this.#toV1?.push(row) ?? row);
    const content = contentProblem(event, version);
    if (content !== null) refuseDamage(event, content);
    const sources = sourcesOf(event, version);
    if (typeof sources === "string") refuseDamage(event, sources);
    return { ...row, event: sources === undefined ? event : { ...event, sourceEventSeqs: sources } };
  }

  #migrated(events: readonly LegacyEvent[], source: Refused): readonly SessionEvent[] {
    if (events.length === 0) return NO_EVENTS;
    const migrated: SessionEvent[] = [];
    for (const event of events) {
      for (const next of this.#toV3.push(event)) {
        const problem = this.#target.add(next);
        if (problem !== null) throw errorOf(problem, `event ${next.seq} (${JSON.stringify(next.type)})`, source);
        migrated.push(next);
      }
    }
    return migrated;
  }
}

const NO_EVENTS: readonly SessionEvent[] = [];

/** Behind the first stage, and in version 2, whatever is not a run is one event. */
function eventOf(row: LegacyRow): LegacyEvent {
  if (row.kind === "run") return refuse({ seq: row.firstSeq, type: row.record.type }, "a packed row");
  return row.event;
}

function errorOf({ isDamage, found }: TargetProblem, what: string, { seq }: Refused): Error {
  const message = `Cannot migrate ${what}: found ${found}`;
  return isDamage ? new CorruptLogError(message, { seq }) : new UnsupportedFormatError(message, { seq });
}
