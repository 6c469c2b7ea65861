/**
 * Older shapes within version 0, told in its last one.
 *
 * What is in this file is what every program that reads version 0 does on the way in; a migration does more (`v0_to_v1.ts`).
 *
 * @see session-format §10.2
 * @module
 */
import { isRecord, type JsonRecord, strangeKey } from "../../event/checks.ts";
import type { LegacyEvent } from "./types.ts";

/**
 * Gives messages that have none the id that they will have in every copy: `legacy-message:<session>:<seq>`, and for the
 * replacement of a result the id of what it replaces.
 *
 * Holds an id per result that a replacement may still name and whose id cannot be derived from its seq.
 */
export class MessageIds {
  readonly #sessionId: string;
  readonly #results = new Map<number, string>();

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  derived(seq: number): string {
    return `legacy-message:${this.#sessionId}:${seq}`;
  }

  /** The id of the result that `event` replaces, or the derived one. */
  ofResult(event: LegacyEvent): string {
    const { surfaceOp } = event;
    if (!isRecord(surfaceOp) || typeof surfaceOp.start !== "number") return this.derived(event.seq);
    return this.#results.get(surfaceOp.start) ?? this.derived(surfaceOp.start);
  }

  /** Takes note of a result, in its last shape. */
  see(event: LegacyEvent): void {
    if (event.type !== "tool/result" || !isRecord(event.data) || !isRecord(event.data.message)) return;
    const { surfaceOp } = event;
    if (isRecord(surfaceOp) && typeof surfaceOp.start === "number") this.#results.delete(surfaceOp.start);
    const { id } = event.data.message;
    if (typeof id === "string" && id !== this.derived(event.seq)) this.#results.set(event.seq, id);
  }
}

/** An event of version 0 in its last shape; the very same object when it has it. */
export function inLastShape(event: LegacyEvent, ids: MessageIds): LegacyEvent {
  const { data } = event;
  if (!isRecord(data)) return event;
  switch (event.type) {
    case "turn/start":
      return turnStart(event, data);
    case "turn/end":
      return turnEnd(event, data);
    case "steering/message":
      return steering(event, data, ids);
    case "user/message":
      return hasExactly(data, BARE_MESSAGE) ? identified(event, data, ids) : event;
    case "assistant/message":
      return assistant(event, data, ids);
    case "tool/result":
      return result(event, data, ids);
    default:
      return event;
  }
}

const BARE_MESSAGE: ReadonlySet<string> = new Set(["content", "source"]);
const TRIGGERED: ReadonlySet<string> = new Set(["turn", "trigger"]);

function turnStart(event: LegacyEvent, data: JsonRecord): LegacyEvent {
  if (!isRecord(data.trigger) || !hasExactly(data, TRIGGERED)) return event;
  return withData(event, { turn: data.turn });
}

function turnEnd(event: LegacyEvent, data: JsonRecord): LegacyEvent {
  const { reason } = data;
  if (!isRecord(reason)) return event;
  const now = turnEndReason(reason);
  return now === null ? event : withData(event, { ...data, reason: now });
}

function turnEndReason(reason: JsonRecord): JsonRecord | null {
  switch (reason.kind) {
    case "aborted":
      return reason.reason === undefined ? { kind: "aborted", reason: { kind: "legacy" } } : null;
    case "disposed":
      return { kind: "aborted", reason: { kind: "disposed" } };
    case "error": {
      if (reason.error !== undefined) return null;
      const { failure, message, code } = reason;
      if (isRecord(failure)) return { kind: "error", error: failure };
      if (typeof message !== "string") return null;
      return { kind: "error", error: { message, code: code ?? "UNKNOWN" } };
    }
    default:
      return null;
  }
}

function steering(event: LegacyEvent, data: JsonRecord, ids: MessageIds): LegacyEvent {
  const renamed = { ...event, type: "user/message" };
  if (isRecord(data.message)) return withData(renamed, data.message);
  const { content, source } = data;
  return content === undefined ? event : identified(renamed, { content, source }, ids);
}

function identified(event: LegacyEvent, data: JsonRecord, ids: MessageIds): LegacyEvent {
  return withData(event, { ...data, id: ids.derived(event.seq), role: "user" });
}

function assistant(event: LegacyEvent, data: JsonRecord, ids: MessageIds): LegacyEvent {
  const { content, provenance, ...rest } = data;
  if (!Array.isArray(content) || !isRecord(provenance) || rest.message !== undefined) return event;
  const message = { id: ids.derived(event.seq), role: "assistant", content, source: { ...provenance, kind: "model" } };
  return withData(event, { ...rest, message });
}

function result(event: LegacyEvent, data: JsonRecord, ids: MessageIds): LegacyEvent {
  const { callId, content, isError, ...rest } = data;
  if (typeof callId !== "string" || !Array.isArray(content) || rest.message !== undefined) return event;
  const block = { type: "tool-result", toolCallId: callId, content, ...(isError === undefined ? {} : { isError }) };
  const message = { id: ids.ofResult(event), role: "user", content: [block], source: { kind: "tool", callId } };
  return withData(event, { ...rest, message });
}

/** The event with other data, at the place of the old one. */
export function withData(event: LegacyEvent, data: unknown): LegacyEvent {
  return { ...event, data: data as LegacyEvent["data"] };
}

function hasExactly(data: JsonRecord, keys: ReadonlySet<string>): boolean {
  return Object.keys(data).length === keys.size && strangeKey(data, keys) === null;
}
