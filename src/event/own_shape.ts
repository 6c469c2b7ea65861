/**
 * Shapes of our own, ignorable events.
 *
 * They decide what is said about a crash, so a malformed one is damage and not a thing to skip.
 *
 * @module
 */
import { isCount, isRecord, type JsonRecord, wrong } from "./checks.ts";
import { blocksProblem } from "./message_shape.ts";

const BARRIERS: ReadonlySet<unknown> = new Set(["pre-step", "model", "tool", "question"]);
const EFFECTS: ReadonlySet<unknown> = new Set(["none", "idempotent", "keyed", "opaque"]);
const VERDICTS: ReadonlySet<unknown> = new Set(["happened", "absent", "undecidable", "retry"]);
const JUDGES: ReadonlySet<unknown> = new Set(["lookup", "person"]);

/** Says what is wrong with the data of each own type, to be read after "found ", or null. */
export const OWN_SHAPES: Readonly<Record<string, (data: JsonRecord) => string | null>> = {
  "checkpoint/policy": (data) => {
    if (data.version !== 1) return wrong("data.version", data.version, "1");
    if (data.marker !== true) return wrong("data.marker", data.marker, "true");
    if (!Array.isArray(data.barriers)) return wrong("data.barriers", data.barriers, "a list of barriers");
    const strange = data.barriers.find((barrier) => !BARRIERS.has(barrier));
    return strange === undefined ? null : wrong("data.barriers", strange, "a barrier");
  },
  "effect/dispatched": (data) => {
    if (!EFFECTS.has(data.effect)) return wrong("data.effect", data.effect, "an effect class");
    if (data.retryOf !== undefined && !isCount(data.retryOf)) return wrong("data.retryOf", data.retryOf, "a seq");
    return callProblem(data) ?? effectKeyProblem(data);
  },
  "effect/reconciled": (data) => {
    if (!VERDICTS.has(data.verdict)) return wrong("data.verdict", data.verdict, "a verdict");
    if (!JUDGES.has(data.by)) return wrong("data.by", data.by, '"lookup" or "person"');
    if (data.note !== undefined && typeof data.note !== "string") return wrong("data.note", data.note, "a string");
    // A call of a lifecycle without markers has no key, and its verdict says so with an empty one.
    const problem = callProblem(data) ?? (data.effectKey === "" ? null : effectKeyProblem(data));
    if (problem !== null || data.content === undefined) return problem;
    return blocksProblem(data.content, "data.content", 0);
  },
  "approval/bound": (data) => {
    if (typeof data.id !== "string") return wrong("data.id", data.id, "a string");
    if (!isCount(data.callSeq)) return wrong("data.callSeq", data.callSeq, "a seq");
    return isLowerHex(data.argumentsDigest, 64)
      ? null
      : wrong("data.argumentsDigest", data.argumentsDigest, "64 lower-case hex digits");
  },
  "call/renamed": (data) => {
    for (const key of ["turn", "step", "index"] as const) {
      if (!isCount(data[key])) return wrong(`data.${key}`, data[key], "a count");
    }
    return typeof data.providerCallId === "string"
      ? null
      : wrong("data.providerCallId", data.providerCallId, "a string");
  },
  "result/spilled": (data) => {
    if (typeof data.callId !== "string") return wrong("data.callId", data.callId, "a string");
    for (const key of ["callSeq", "sizeBytes"] as const) {
      if (!isCount(data[key])) return wrong(`data.${key}`, data[key], "a count");
    }
    if (data.encoding !== undefined && data.encoding !== "json") return wrong("data.encoding", data.encoding, '"json"');
    return isLowerHex(data.digest, 64) ? null : wrong("data.digest", data.digest, "64 lower-case hex digits");
  },
  "log/salvaged": salvagedProblem,
};

function callProblem(data: JsonRecord): string | null {
  for (const key of ["turn", "step", "callSeq"] as const) {
    if (!isCount(data[key])) return wrong(`data.${key}`, data[key], "a count");
  }
  return typeof data.callId === "string" ? null : wrong("data.callId", data.callId, "a string");
}

function effectKeyProblem(data: JsonRecord): string | null {
  return isLowerHex(data.effectKey, 32) ? null : wrong("data.effectKey", data.effectKey, "32 lower-case hex digits");
}

function salvagedProblem(data: JsonRecord): string | null {
  const { version, source, kept, dropped, inferred } = data;
  if (version !== 1) return wrong("data.version", version, "1");
  if (
    !isRecord(source) || typeof source.name !== "string" || !isCount(source.sizeBytes) || !isLowerHex(source.sha256, 64)
  ) {
    return wrong("data.source", source, "a name, a size and a digest");
  }
  const isRange = (range: unknown) => Array.isArray(range) && range.length === 2 && range.every(isCount);
  if (!Array.isArray(kept) || !kept.every(isRange)) return wrong("data.kept", kept, "a list of ranges");
  const isPiece = (piece: unknown) =>
    isRecord(piece) && isCount(piece.offsetBytes) && isCount(piece.sizeBytes) && isLowerHex(piece.sha256, 64) &&
    typeof piece.reason === "string";
  if (!Array.isArray(dropped) || !dropped.every(isPiece)) {
    return wrong("data.dropped", dropped, "a list of dropped pieces");
  }
  const isText = (text: unknown) => typeof text === "string";
  return Array.isArray(inferred) && inferred.every(isText)
    ? null
    : wrong("data.inferred", inferred, "a list of strings");
}

function isLowerHex(value: unknown, digits: number): boolean {
  if (typeof value !== "string" || value.length !== digits) return false;
  for (let index = 0; index < digits; index++) {
    const unit = value.charCodeAt(index);
    const isDigit = unit >= 48 && unit <= 57;
    if (!isDigit && !(unit >= 97 && unit <= 102)) return false;
  }
  return true;
}
