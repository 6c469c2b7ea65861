/**
 * The check at the other side of the disk: nothing is appended that a reopen would refuse.
 *
 * @module
 */
import { UnknownEventError } from "../errors.ts";
import { isCount, isInt, isNonEmptyString, isRecord, show, strangeKey, wrong } from "./checks.ts";
import type { EventDraft, SessionEvent } from "./event.ts";
import type { JsonValue } from "./json.ts";
import { snapshotJson } from "./lossless.ts";
import { isSurfaceOp } from "./row.ts";
import { shapeProblem } from "./shape.ts";
import { expand } from "./source_seqs.ts";
import { isKnownType } from "./vocabulary.ts";

const DRAFT_KEYS: ReadonlySet<string> = new Set(["type", "data", "ignorable", "surfaceOp", "sourceEventSeqs"]);

/**
 * Makes the event that a draft becomes at this place of the log: a deep-frozen snapshot, in the writer's key order.
 *
 * What it returns survives {@linkcode encodeRow} and {@linkcode parseRow} unchanged and has no {@linkcode shapeProblem}.
 * Members of the draft that are `undefined` count as absent; inside `data` they are refused.
 *
 * @throws {UnknownEventError} a type outside format version 3 without `ignorable: true`
 * @throws {TypeError} anything else that would not open again
 *
 * @example
 * ```ts
 * import { checkAppendable } from "./appendable.ts";
 *
 * const event = checkAppendable({ type: "turn/start", data: { turn: 1 } }, 0, 1_700_000_000_000);
 * if (event.seq !== 0 || !Object.isFrozen(event.data)) throw new Error("unreachable");
 * ```
 */
export function checkAppendable(draft: EventDraft, seq: number, time: number): SessionEvent {
  if (!isRecord(draft)) throw new TypeError(`Cannot append an event: found ${show(draft)}, expected a draft`);
  const strange = strangeKey(draft, DRAFT_KEYS);
  if (strange !== null) refuse(draft.type, `the unknown field ${show(strange)}`);
  // Each member is read once, so that what is checked is what is kept.
  const { type, data, ignorable, surfaceOp, sourceEventSeqs } = draft as EventDraft;
  if (!isNonEmptyString(type)) refuse(type, wrong("type", type, "a non-empty string"));
  if (ignorable !== undefined && ignorable !== true) refuse(type, wrong("ignorable", ignorable, "true or nothing"));
  if (!isKnownType(type) && ignorable !== true) {
    throw new UnknownEventError(
      `Cannot append event ${show(type)}: found a type outside format version 3 without ignorable: true`,
    );
  }
  if (!isCount(seq)) refuse(type, wrong("seq", seq, "a count"));
  if (!isInt(time)) refuse(type, wrong("time", time, "an integer of milliseconds"));

  const event: Record<string, JsonValue> = { type, seq, time, data: snapshotJson(data, "data") };
  if (ignorable === true) event.ignorable = true;
  if (sourceEventSeqs !== undefined) event.sourceEventSeqs = snapshotSeqs(type, sourceEventSeqs, seq);
  if (surfaceOp !== undefined) event.surfaceOp = snapshotSurfaceOp(type, surfaceOp);

  const appended = event as unknown as SessionEvent;
  const problem = customProblem(appended) ?? shapeProblem(appended);
  if (problem !== null) refuse(type, problem);
  return Object.freeze(appended);
}

function snapshotSeqs(type: string, value: unknown, seq: number): JsonValue {
  const copy = snapshotJson(value, "sourceEventSeqs");
  const seqs = expand(copy, seq);
  if (typeof seqs === "string") refuse(type, `${seqs} (in sourceEventSeqs)`);
  if (!(copy as readonly unknown[]).every(isCount)) refuse(type, "a range (in sourceEventSeqs)");
  return copy;
}

function snapshotSurfaceOp(type: string, value: unknown): JsonValue {
  const copy = snapshotJson(value, "surfaceOp");
  if (!isSurfaceOp(copy)) refuse(type, wrong("surfaceOp", copy, '"append" or a replacement'));
  return copy;
}

/** Readers keep what a custom event carries in its envelope, and nothing reads it: we do not write it. */
function customProblem(event: SessionEvent): string | null {
  if (isKnownType(event.type) || (event.surfaceOp === undefined && event.sourceEventSeqs === undefined)) return null;
  return "a place on the surface, which a custom event never has";
}

function refuse(type: unknown, found: string): never {
  throw new TypeError(`Cannot append event ${show(type)}: found ${found}`);
}
