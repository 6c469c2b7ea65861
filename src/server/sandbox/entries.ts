/**
 * What a ledger knows about each effect key: a fold over the events of its log.
 *
 * @module
 */
import type { EventDraft, JsonObject, JsonValue, SessionEvent } from "../../../mod.ts";

/** Where an outcome is kept. */
export type StoredOutcome = { readonly inline: JsonObject } | { readonly blob: string; readonly sizeBytes: number };

/** What is known about a key. */
export type LedgerEntry =
  /** It was durable before the process existed. Without a process of ours that runs it, nobody knows what became of it. */
  | { readonly kind: "started"; readonly bodyDigest: string; readonly seq: number }
  /** It has ended, and this is how. */
  | { readonly kind: "finished"; readonly bodyDigest: string; readonly outcome: StoredOutcome; readonly seq: number }
  /** It never ran and never will. */
  | { readonly kind: "tombstone"; readonly seq: number }
  /** It has run to some end, and how it ended is not kept any more. */
  | { readonly kind: "forgotten"; readonly seq: number };

/** Of the last generation of a log: that it is whole. */
export const ROTATED = "sandbox/rotated";

/** The events of a ledger. All are ignorable: for other readers the log is a session in which nothing was said. */
export const ledgerDrafts = {
  /** The command is about to be started. */
  started: (effectKey: string, bodyDigest: string): EventDraft => draft("sandbox/started", { effectKey, bodyDigest }),
  /** It has ended. */
  finished: (effectKey: string, bodyDigest: string, outcome: StoredOutcome): EventDraft =>
    draft("sandbox/finished", { effectKey, bodyDigest, outcome }),
  /** It will never be started. */
  tombstone: (effectKey: string): EventDraft => draft("sandbox/tombstone", { effectKey }),
  /** Keys of the generation before: those that never run, and those that have run. */
  carried: (tombstones: readonly string[], forgotten: readonly string[]): EventDraft =>
    draft("sandbox/carried", { tombstones, forgotten }),
  /** Everything of the generation before is here. */
  rotated: (from: string): EventDraft => draft(ROTATED, { version: 1, from }),
};

/**
 * Adds what one event says. Events of other types say nothing.
 *
 * @returns the keys that are new
 * @throws {TypeError} when an event of a ledger is not what one is
 *
 * @example
 * ```ts
 * import { applyToEntries, type LedgerEntry } from "./entries.ts";
 *
 * const entries = new Map<string, LedgerEntry>();
 * const effectKey = "0".repeat(32);
 * applyToEntries(entries, { type: "sandbox/tombstone", seq: 0, time: 0, data: { effectKey }, ignorable: true });
 * if (entries.get(effectKey)?.kind !== "tombstone") throw new Error("unreachable");
 * ```
 */
export function applyToEntries(entries: Map<string, LedgerEntry>, { type, seq, data }: SessionEvent): void {
  if (!type.startsWith("sandbox/")) return;
  const fields = record(data, type);
  switch (type) {
    case "sandbox/started":
      entries.set(keyIn(fields, type), { kind: "started", bodyDigest: digestIn(fields, type), seq });
      return;
    case "sandbox/finished": {
      const key = keyIn(fields, type);
      // Put at the end: what ended last is the newest.
      entries.delete(key);
      const outcome = record(fields["outcome"], type) as StoredOutcome;
      if (!("inline" in outcome) && typeof outcome.blob !== "string") throw malformed(type, "its outcome");
      entries.set(key, { kind: "finished", bodyDigest: digestIn(fields, type), outcome, seq });
      return;
    }
    // A tombstone behind a start is that of a command that was recorded, refused by the medium, and never started.
    case "sandbox/tombstone":
      entries.set(keyIn(fields, type), { kind: "tombstone", seq });
      return;
    case "sandbox/carried":
      for (const key of keysIn(fields["tombstones"], type)) entries.set(key, { kind: "tombstone", seq });
      for (const key of keysIn(fields["forgotten"], type)) entries.set(key, { kind: "forgotten", seq });
  }
}

/**
 * What the next generation of a log begins with. Every key goes over; of ended commands the newest keep their outcome.
 *
 * @param from the session before
 * @param outcomesMax how many outcomes go over
 *
 * @example
 * ```ts
 * import { carriedDrafts } from "./entries.ts";
 *
 * const drafts = carriedDrafts(new Map([["0".repeat(32), { kind: "tombstone", seq: 5 }]]), "before", 8);
 * if (drafts.map(({ type }) => type).join() !== "sandbox/carried,sandbox/rotated") throw new Error("unreachable");
 * ```
 */
export function carriedDrafts(
  entries: ReadonlyMap<string, LedgerEntry>,
  from: string,
  outcomesMax: number,
  keysPerEvent = 512,
): EventDraft[] {
  const tombstones: string[] = [];
  const forgotten: string[] = [];
  const kept: EventDraft[] = [];
  let outcomesLeftOut = [...entries.values()].filter(({ kind }) => kind === "finished").length - outcomesMax;
  for (const [key, entry] of entries) {
    if (entry.kind === "tombstone") tombstones.push(key);
    else if (entry.kind === "forgotten" || (entry.kind === "finished" && outcomesLeftOut-- > 0)) forgotten.push(key);
    else if (entry.kind === "started") kept.push(ledgerDrafts.started(key, entry.bodyDigest));
    else kept.push(ledgerDrafts.finished(key, entry.bodyDigest, entry.outcome));
  }
  const carried: EventDraft[] = [];
  for (let at = 0; at < Math.max(tombstones.length, forgotten.length); at += keysPerEvent) {
    carried.push(
      ledgerDrafts.carried(tombstones.slice(at, at + keysPerEvent), forgotten.slice(at, at + keysPerEvent)),
    );
  }
  return [...carried, ...kept, ledgerDrafts.rotated(from)];
}

function draft(type: string, data: unknown): EventDraft {
  return { type, data: data as JsonObject, ignorable: true };
}

function record(value: JsonValue | undefined, type: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw malformed(type, "no record");
}

function keyIn(fields: JsonObject, type: string): string {
  return checkedKey(fields["effectKey"], type);
}

function keysIn(value: JsonValue | undefined, type: string): string[] {
  if (!Array.isArray(value)) throw malformed(type, "no list of keys");
  return value.map((key) => checkedKey(key, type));
}

function checkedKey(value: unknown, type: string): string {
  if (typeof value === "string" && /^[0-9a-f]{32}$/.test(value)) return value;
  throw malformed(type, "no effect key");
}

function digestIn(fields: JsonObject, type: string): string {
  const { bodyDigest } = fields;
  if (typeof bodyDigest === "string" && /^[0-9a-f]{64}$/.test(bodyDigest)) return bodyDigest;
  throw malformed(type, "no digest");
}

function malformed(type: string, what: string): TypeError {
  return new TypeError(`Cannot read event "${type}" of a ledger: found ${what}`);
}
