/**
 * What a single event must look like, whatever stands around it: one set of checks for load and for append, so that what
 * append accepts opens again.
 *
 * Members this build does not know are kept, except where the format names the exact keys. Kinds the format calls extensible
 * (reasons, sources, blocks, chunks) are kept as they are.
 *
 * @see session-format §3.6
 * @module
 */
import { isRecord, type JsonRecord, wrong } from "./checks.ts";
import { CORE_SHAPES } from "./core_shape.ts";
import { OWN_SHAPES } from "./own_shape.ts";
import { isSurfaceType, KNOWN_TYPES, OWN_TYPES } from "./vocabulary.ts";

/** The members of an event that its shape depends on. */
export interface ShapedEvent {
  /** Decides which shape applies. A type that is not known has none. */
  readonly type: string;
  /** Position in the log: a replacement must lie before it. */
  readonly seq: number;
  /** The payload, not looked at so far. */
  readonly data: unknown;
  /** Must be `true` on our own types. */
  readonly ignorable?: unknown;
  /** Required on the types of the surface, forbidden on every other known type. */
  readonly surfaceOp?: unknown;
  /** Forbidden on `assistant/message` and off the surface. */
  readonly sourceEventSeqs?: unknown;
}

interface Rule {
  readonly isSurface: boolean;
  readonly isOwn: boolean;
  /** Null for types whose payload this build carries without looking at it. */
  readonly check: ((data: JsonRecord) => string | null) | null;
}

/**
 * Says what is wrong with one event of version 3, to be read after "found ", or null when nothing is.
 *
 * The envelope's spelling is the row parser's matter and is taken as checked. Events of unknown types are opaque.
 *
 * @example
 * ```ts
 * import { shapeProblem } from "./shape.ts";
 *
 * const problem = shapeProblem({ type: "turn/start", seq: 0, data: { turn: "one" } });
 * if (problem !== 'data.turn = "one", expected a count') throw new Error(problem ?? "no problem");
 * ```
 */
export function shapeProblem(event: ShapedEvent): string | null {
  const rule = RULES.get(event.type);
  if (rule === undefined) return null;
  if (!isRecord(event.data)) return wrong("data", event.data, "an object");
  return envelopeProblem(event, rule) ?? (rule.check === null ? null : rule.check(event.data));
}

function envelopeProblem(event: ShapedEvent, rule: Rule): string | null {
  const { surfaceOp, sourceEventSeqs } = event;
  if (!rule.isSurface) {
    if (surfaceOp !== undefined) return "a surfaceOp on an event that is never on the surface";
    if (sourceEventSeqs !== undefined) return "sourceEventSeqs on an event that is never on the surface";
    if (rule.isOwn && event.ignorable !== true) return wrong("ignorable", event.ignorable, "true");
    return null;
  }
  if (surfaceOp === undefined) return "no surfaceOp on an event of the surface";
  if (event.type === "assistant/message" && sourceEventSeqs !== undefined) {
    return "sourceEventSeqs on an assistant/message";
  }
  if (typeof surfaceOp !== "object" || surfaceOp === null) return null;
  const { startSeq, endSeq } = surfaceOp as JsonRecord;
  if ((startSeq as number) >= event.seq || (endSeq as number) >= event.seq) {
    return `a replacement of ${startSeq} to ${endSeq}, which is not before the event itself`;
  }
  return null;
}

/** One look-up per event on the way in. */
const RULES: ReadonlyMap<string, Rule> = new Map([
  ...[...KNOWN_TYPES].map((type): [string, Rule] => [
    type,
    { isSurface: isSurfaceType(type), isOwn: false, check: CORE_SHAPES[type] ?? null },
  ]),
  ...[...OWN_TYPES].map((type): [string, Rule] => [
    type,
    { isSurface: false, isOwn: true, check: OWN_SHAPES[type] ?? null },
  ]),
]);
