/**
 * `single-writer`, `no-duplicate-effect` and `liveness`: what the medium and the world saw.
 *
 * @module
 */
import { callOf, type Case, showEffect } from "./case.ts";
import { type CallEvidence, classOf, type Evidence, isFinal, nameOf } from "./evidence.ts";
import { canonicalArguments } from "./json.ts";
import type { Row } from "./rows.ts";
import type { LedgerEntry, WriterInterval } from "./trace.ts";

/** Never two at a time, and nobody writes who does not hold the lock. */
export function checkWriters({ trace: { writers }, find }: Case): void {
  for (const [index, writer] of writers.entries()) {
    for (const step of writer.wroteAtSteps) {
      if (holdsAt(writer, step)) continue;
      // A process may hold the lock twice; the step is judged with the interval it lies in.
      if (writers.some((other) => other !== writer && other.process === writer.process && holdsAt(other, step))) {
        continue;
      }
      const holder = writers.find((other) => other.process !== writer.process && holdsAt(other, step));
      find(
        "single-writer",
        `${writer.process} wrote at step ${step} and held the lock ${intervalOf(writer)}` +
          (holder === undefined ? "" : `; ${holder.process} held it then`),
      );
    }
    for (const other of writers.slice(index + 1)) {
      const [first, second] = writer.heldFromStep <= other.heldFromStep ? [writer, other] : [other, writer];
      if (first.heldToStep !== null && first.heldToStep <= second.heldFromStep) continue;
      find(
        "single-writer",
        `${first.process} held the lock ${intervalOf(first)}, and ${second.process} held it ${intervalOf(second)}`,
      );
    }
  }
}

function holdsAt({ heldFromStep, heldToStep }: WriterInterval, step: number): boolean {
  return heldFromStep <= step && (heldToStep === null || step <= heldToStep);
}

function intervalOf({ heldFromStep, heldToStep }: WriterInterval): string {
  return `from step ${heldFromStep} ${heldToStep === null ? "on" : `to ${heldToStep}`}`;
}

/** One intent takes effect once, and a retry has the key of what it tries again. */
export function checkDuplicates(found: Case): void {
  const { trace, before, find } = found;
  const byKey = new Map<string, LedgerEntry[]>();
  for (const effect of trace.effects) {
    const earlier = byKey.get(effect.effectKey);
    if (earlier === undefined) byKey.set(effect.effectKey, [effect]);
    else {
      const first = earlier.find((other) => isUnwanted(found, other, effect));
      if (first !== undefined) {
        find(
          "no-duplicate-effect",
          `key ${effect.effectKey} took effect twice (${showEffect(first)}; ${showEffect(effect)})`,
        );
      }
      earlier.push(effect);
    }
    const other = trace.effects.find(({ callId, incarnation, effectKey }) =>
      callId === effect.callId && incarnation === effect.incarnation && effectKey !== effect.effectKey
    );
    if (other !== undefined && other.acceptedAtStep > effect.acceptedAtStep) {
      find(
        "no-duplicate-effect",
        `call "${effect.callId}" took effect under two keys (${showEffect(effect)}; ${showEffect(other)})`,
      );
    }
    if (effect.incarnation > trace.incarnation && callOf(before, effect.callId) !== null) {
      find("no-duplicate-effect", `a call from before the crash was run again after it (${showEffect(effect)})`);
    }
  }
  for (const { callId, callSeq, incarnation, bodyStarts = 0 } of trace.calls) {
    if (bodyStarts < 2) continue;
    const name = `call "${callId}" (tool/call seq ${callSeq})`;
    find("no-duplicate-effect", `process ${incarnation} ran the body of ${name} ${bodyStarts} times`);
  }
  checkMarkers(found);
}

/** A second effect under one key is wanted where a person allowed the call that repeats another. */
function isUnwanted(found: Case, first: LedgerEntry, second: LedgerEntry): boolean {
  const effect = effectClassOf(found, second.effectKey);
  if (effect === "idempotent") return false;
  return effect === "keyed" || first.callId === second.callId || repetitionOf(found, first, second).isGranted !== true;
}

/** Which of two effects is the one that was asked for later: of two requests the later one may have arrived first. */
function repetitionOf({ before, after }: Case, first: LedgerEntry, second: LedgerEntry): LedgerEntry {
  if (first.incarnation !== second.incarnation) return first.incarnation > second.incarnation ? first : second;
  const seqOf = ({ callId }: LedgerEntry) => callOf(after ?? before, callId)?.marker?.seq ?? Infinity;
  return seqOf(first) > seqOf(second) ? first : second;
}

function effectClassOf({ before, after }: Case, key: string): string | undefined {
  const rows = (after ?? before).rows;
  return rows.find(({ type, data }) => type === "effect/dispatched" && data.effectKey === key)?.data.effect;
}

/** One marker and one key for each call; the same key only where one call tries another again, and may. */
function checkMarkers({ before, find }: Case): void {
  const firstOf = new Map<string, CallEvidence>();
  for (const call of before.calls) {
    const { marker } = call;
    for (const more of call.moreMarkers) {
      find("no-duplicate-effect", `${nameOf(call)} has two markers: seq ${marker?.seq} and seq ${more.seq}`);
    }
    if (marker === null) continue;
    const key = marker.data.effectKey!;
    const first = firstOf.get(key);
    if (first === undefined) firstOf.set(key, call);
    const { retryOf } = marker.data;
    if (retryOf === undefined) {
      if (first !== undefined) {
        find(
          "no-duplicate-effect",
          `${nameOf(call)} has the key of ${nameOf(first)}, and its marker, seq ${marker.seq}, names no retryOf`,
        );
      } else checkIsNoRetry(before, call, marker, find);
      continue;
    }
    const original = before.calls.find((other) => other.call?.seq === retryOf);
    if (original?.marker == null || original.marker.data.effectKey !== key) {
      find(
        "no-duplicate-effect",
        `${nameOf(call)} tries seq ${retryOf} again under key ${key}, which ` +
          (original?.marker == null
            ? "was never dispatched"
            : `was dispatched under ${original.marker.data.effectKey}`),
      );
      continue;
    }
    const { effect } = marker.data;
    if (effect === "idempotent" || effect === "keyed" || effect === "none") continue;
    if (isGranted(before, call) || hasRetryVerdict(original, marker)) continue;
    find(
      "no-duplicate-effect",
      `${nameOf(call)} tries ${nameOf(original)} again; it is ${effect}, and nobody allowed it`,
    );
  }
}

/** A call that equals an unresolved one must say so: without its key the target cannot know that they are one. */
function checkIsNoRetry(before: Evidence, call: CallEvidence, marker: Row, find: Case["find"]): void {
  if (marker.data.effect === "none") return;
  for (const other of before.calls) {
    if (other === call) return;
    if (other.name !== call.name || other.marker === null || other.marker.data.effect === "none") continue;
    if (!isUnresolvedAt(before, other, marker.seq)) continue;
    if (canonicalArguments(other.arguments) !== canonicalArguments(call.arguments)) continue;
    find(
      "no-duplicate-effect",
      `${nameOf(call)} equals ${nameOf(other)}, which is unresolved, and its marker, seq ${marker.seq}, has a new key`,
    );
    return;
  }
}

/** Unknown, not settled, and not tried again with an answer, before this seq. */
function isUnresolvedAt({ calls }: Evidence, call: CallEvidence, seq: number): boolean {
  if (call.result === null || call.result.seq > seq || classOf(call).class !== "outcome_unknown") return false;
  if (call.verdicts.some((row) => row.seq < seq && isFinal(row.data.verdict))) return false;
  const key = call.marker!.data.effectKey;
  return !calls.some((retry) =>
    retry !== call && retry.marker?.data.effectKey === key && retry.result !== null && retry.result.seq < seq &&
    classOf(retry).class === "done"
  );
}

function isGranted({ decided }: Evidence, call: CallEvidence): boolean {
  for (const { asked, decided: answer } of decided.values()) {
    if (asked.data.callId === call.callId && asked.seq > call.proposedSeq && answer.data.outcome === "allowed-once") {
      return true;
    }
  }
  return false;
}

function hasRetryVerdict(original: CallEvidence, { seq }: Row): boolean {
  return original.verdicts.some((row) => row.data.verdict === "retry" && row.seq < seq);
}

/** Codes that say that the bytes are damaged. */
const DAMAGE_CODES = ["CORRUPT_FRAME", "CORRUPT_LOG"];

/** Once the faults have stopped the session goes on, unless its bytes are what the format calls damage. */
export function checkLiveness({ trace, image, find }: Case): void {
  const { liveness, salvaged } = trace;
  if (liveness === "stuck") {
    find("liveness", `after the crash at step ${trace.crashedAtStep} the session neither went on nor was refused`);
    return;
  }
  if (liveness === "went-on") {
    if (image.state === "damaged") {
      find("liveness", `the log is damaged (${image.damage}), and it was gone on with as if it were whole`);
    }
    return;
  }
  const { refused } = liveness;
  if (image.state === "absent" && refused === "NOT_FOUND") return;
  if (image.state !== "damaged") {
    const what = image.state === "absent"
      ? "there is no log yet"
      : `the log is whole: ${image.rows.length} events, ${image.tornBytes} torn bytes`;
    find("liveness", `the session was refused as ${refused}, and ${what}`);
    return;
  }
  if (!DAMAGE_CODES.includes(refused)) {
    find("liveness", `the log is damaged (${image.damage}), and the session was refused as ${refused}`);
  }
  if (!image.hasHeader) {
    find("liveness", `the log was published before its header was whole (${image.damage}): nobody can ever open it`);
  }
  if (salvaged !== undefined && !salvaged.wentOn) {
    find("liveness", `the log is damaged (${image.damage}), and what salvage made of it did not go on`);
  }
}
