/**
 * Old logs as their own version decodes them: nothing renumbered, nothing migrated.
 *
 * @module
 */
import { type SessionEvent, shapeProblem } from "../../event/mod.ts";
import { isCount, isInt, isRecord } from "../../event/checks.ts";
import { isSurfaceOp } from "../../event/row.ts";
import { type Surface, surfaceFold } from "../../fold/mod.ts";
import { currentHeader } from "./request_header.ts";
import { eventsOfRun } from "./packed_row.ts";
import { refuseDamage } from "./refusal.ts";
import { contentProblem, envelopeProblem, sourcesOf } from "./restored.ts";
import { withSlim } from "./slim_surface.ts";
import type { LegacyEvent, LegacyHeader, LegacyRow } from "./types.ts";
import { inLastShape, MessageIds } from "./v0_shapes.ts";

/** How a decoder looks at rows. */
export interface LegacyDecoderOptions {
  /**
   * Whether events are checked as a program of that version checks them before it goes on with a session: envelope, messages,
   * surface. Default true. Without it, whatever decodes is shown, and `push()` never throws for what the rows are.
   */
  readonly checks?: boolean;
}

/**
 * Decodes an old log as its own version does: packed rows are expanded, and version 0 tells its older shapes in its last one.
 *
 * Unlike a program of that version it gives events of unknown types too: whoever reads only does no harm with them.
 *
 * Held meanwhile: the surface without its texts, and the ids of results that a replacement may name.
 *
 * @example
 * ```ts
 * import { LegacyDecoder, parseLegacyHeader, readLegacyRow } from "./mod.ts";
 * import { RowFault } from "../../event/mod.ts";
 *
 * const header = parseLegacyHeader('{"type":"session","version":0,"id":"a","createdAt":1,"delegationDepth":0}');
 * const decoder = new LegacyDecoder(header);
 * const row = readLegacyRow('{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"user"}}}', 0, 0);
 * if (row instanceof RowFault) throw row.toError();
 * if (JSON.stringify(decoder.push(row)[0]?.data) !== '{"turn":1}') throw new Error("unreachable");
 * ```
 */
export class LegacyDecoder {
  readonly #header: LegacyHeader;
  readonly #checks: boolean;
  readonly #ids: MessageIds;
  #nextSeq = 0;
  #surface: Surface = surfaceFold.initial();

  constructor(header: LegacyHeader, options: LegacyDecoderOptions = {}) {
    this.#header = header;
    this.#checks = options.checks ?? true;
    this.#ids = new MessageIds(header.id);
  }

  /** The seq that must come next. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** With checks: the seqs of the events that stand on the surface, in the model's order. */
  get surfaceSeqs(): readonly number[] {
    return [...this.#surface.nodes].map(({ seq }) => seq);
  }

  /**
   * Takes the next row, as `readLegacyRow` gave it.
   *
   * @returns its events; seqs are those of the file
   * @throws {CorruptLogError} with checks: damage. The decoder is at the same place as before
   * @throws {RangeError} the row does not continue what went in before
   */
  push(row: LegacyRow): readonly LegacyEvent[] {
    checkContinues(row, this.#nextSeq);
    const events = row.kind === "run" ? [...eventsOfRun(row)] : [this.#decode(row.event)];
    this.#nextSeq += row.count;
    return events;
  }

  #decode(stored: LegacyEvent): LegacyEvent {
    const { version } = this.#header;
    if (this.#checks) {
      const problem = envelopeProblem(stored, version);
      if (problem !== null) refuseDamage(stored, problem);
    }
    let event = version === 0 ? inLastShape(stored, this.#ids) : stored;
    if (this.#checks) event = this.#check(event);
    if (version === 0) this.#ids.see(event);
    return event;
  }

  #check(event: LegacyEvent): LegacyEvent {
    const { version } = this.#header;
    const problem = contentProblem(event, version);
    if (problem !== null) refuseDamage(event, problem);
    const sources = sourcesOf(event, version);
    if (typeof sources === "string") refuseDamage(event, sources);
    const checked = sources === undefined || sources === event.sourceEventSeqs
      ? event
      : { ...event, sourceEventSeqs: sources };
    const surface = withSlim(this.#surface, viewedEvent(checked));
    if (surface.fault !== null) refuseDamage(event, surface.fault.message);
    this.#surface = surface;
    return checked;
  }
}

/**
 * A stored event as the folds and views of version 3 understand it: same seq, same data, `surfaceOp` in the spelling of
 * version 3, an answer without the seqs of its chunks. For reading only; it is not what a migration makes of it.
 *
 * @example
 * ```ts
 * import { viewedEvent } from "./decoder.ts";
 *
 * const surfaceOp = { op: "replace", start: 1, end: 2 };
 * const event = viewedEvent({ type: "user/message", seq: 4, time: 1, data: {}, surfaceOp, sourceEventSeqs: [1, 2] });
 * if (JSON.stringify(event.surfaceOp) !== '{"op":"replace","startSeq":1,"endSeq":2}') throw new Error("unreachable");
 * ```
 */
export function viewedEvent(event: LegacyEvent): SessionEvent {
  let viewed = event;
  if (isRecord(event.surfaceOp)) {
    const { op, start, end } = event.surfaceOp;
    viewed = { ...viewed, surfaceOp: { op, startSeq: start, endSeq: end } as LegacyEvent["data"] };
  }
  if (event.type === "assistant/message" && isRecord(event.data)) {
    const { sourceEventSeqs: _chunks, ...rest } = viewed;
    const stream = event.data.stream ?? [];
    viewed = { ...rest, data: { ...event.data, stream } as LegacyEvent["data"] } as LegacyEvent;
  }
  return viewed as unknown as SessionEvent;
}

/**
 * A viewed event for a fold of version 3: without the system prompt that older request headers hold. What no fold could take
 * becomes an event of no meaning, so that seqs and times are still counted.
 *
 * @param event as {@linkcode viewedEvent} gave it
 *
 * @example
 * ```ts
 * import { foldedEvent } from "./decoder.ts";
 *
 * const event = foldedEvent({ type: "turn/start", seq: 4, time: 1, data: { turn: "one" } });
 * if (event.type === "turn/start" || event.seq !== 4) throw new Error("unreachable");
 * ```
 */
export function foldedEvent(event: SessionEvent): SessionEvent {
  const folded = withoutPrompt(event);
  if (hasEnvelope(folded) && shapeProblem(folded) === null) return folded;
  const { seq, time } = event;
  return { type: "legacy/opaque", seq, time: isInt(time) ? time : 0, data: {}, ignorable: true };
}

/** What the row parser of version 3 has checked of every event that a fold meets. */
function hasEnvelope({ time, surfaceOp, sourceEventSeqs }: SessionEvent): boolean {
  if (!isInt(time) || (surfaceOp !== undefined && !isSurfaceOp(surfaceOp))) return false;
  return sourceEventSeqs === undefined || (Array.isArray(sourceEventSeqs) && sourceEventSeqs.every(isCount));
}

function withoutPrompt(event: SessionEvent): SessionEvent {
  const { data } = event;
  if (event.type !== "request/header" || !isRecord(data) || !isRecord(data.header)) return event;
  const { system: _prompt, ...header } = data.header;
  return { ...event, data: { ...data, header: currentHeader(header) } as SessionEvent["data"] };
}

/** Rows go in one after the other. */
export function checkContinues(row: LegacyRow, nextSeq: number): void {
  if (row.firstSeq === nextSeq) return;
  throw new RangeError(`Cannot take a row: it begins with seq ${row.firstSeq}, wanted ${nextSeq}`);
}
