/**
 * The last stage of a migration: version 2 to 3. The system prompt moves from the request header to the head of the surface.
 *
 * @see session-format §10.4
 * @module
 */
import { isRecord, type JsonRecord } from "../../event/checks.ts";
import type { JsonValue, SessionEvent, SessionHeader } from "../../event/mod.ts";
import { isKnownLegacyType, placeOf } from "./inventory.ts";
import { contentRefusal } from "./message_kinds.ts";
import { renumbered } from "./references.ts";
import { refuse } from "./refusal.ts";
import { currentHeader } from "./request_header.ts";
import { SeqMap } from "./seq_map.ts";
import { sha256OfText } from "./sha256.ts";
import type { LegacyEvent, LegacyHeader } from "./types.ts";
import { withData } from "./v0_shapes.ts";

/** The prefix of every id that this stage makes. */
const SYSTEM_ID_PREFIX = "v2-to-v3-system-";

const SYSTEM_SOURCE = { kind: "plugin", plugin: "@deepseek-ai/dsh-system-prompt" };

const RENAMED_TYPES: ReadonlyMap<string, string> = new Map([
  ["tool/code-dispatch-start", "tool/ptc-dispatch-start"],
  ["tool/code-dispatch", "tool/ptc-dispatch"],
]);

/**
 * Migrates events of version 2 to version 3.
 *
 * Held meanwhile: the current system prompt, and the places where seqs moved, one per change of the prompt.
 */
export class V2ToV3 {
  readonly header: SessionHeader;
  readonly #seqs = new SeqMap();
  readonly #hasParent: boolean;
  #nextSeq = 0;
  /** seq of the message at the head of the surface, in the new numbering; `null` before the first step. */
  #head: number | null = null;
  #prompt = "";
  #openStep: { readonly turn: JsonValue; readonly step: JsonValue } | null = null;
  /** Ids with the prefix: those made here, and those that were there. No id may be in both. */
  readonly #madeIds = new Set<string>();
  readonly #foundIds = new Set<string>();
  /** The first delivery of another session that stands behind nothing inherited so far; a later seed end may excuse it. */
  #strayDelivery: LegacyEvent | null = null;
  #out: LegacyEvent[] = [];

  constructor(header: LegacyHeader) {
    const { id, createdAt, cwd, parentSession, isSeeded, origin, delegationDepth, agentPreset } = header;
    this.#hasParent = parentSession !== undefined;
    this.header = withoutUndefined({
      ...{ type: "session", version: 3, id, createdAt, cwd, parentSession, isSeeded, origin, delegationDepth },
      agentPreset: agentPreset === "code" ? "ptc" : agentPreset,
    }) as unknown as SessionHeader;
  }

  push(event: LegacyEvent): readonly SessionEvent[] {
    this.#out = [];
    if (!isKnownLegacyType(event.type, 2)) refuse(event, "a type that a migration does not know");
    const problem = contentRefusal(event);
    if (problem !== null) refuse(event, problem);
    this.#checkIds(event);
    this.#checkDelivery(event);
    if (placeOf(event.type, 2) === "surface" && this.#head === null) {
      refuse(event, "surface before first step cannot acquire a system head without changing chronology");
    }
    let next = renamed(event);
    if (event.type === "request/header") next = this.#withoutPrompt(next);
    this.#emit(next, event.seq);
    this.#followSteps(event);
    return this.#out as unknown as readonly SessionEvent[];
  }

  end(): readonly SessionEvent[] {
    if (this.#strayDelivery !== null) refuse(this.#strayDelivery, "a delivery of another session");
    return [];
  }

  /** A changed prompt replaces the head of the surface, before the header that came with it. */
  #withoutPrompt(event: LegacyEvent): LegacyEvent {
    const { header } = event.data as { header: JsonRecord };
    const { system, ...rest } = header;
    if (system !== undefined && typeof system !== "string") refuse(event, "a system prompt that is no text");
    const prompt = system ?? "";
    if (prompt !== this.#prompt) {
      const step = this.#openStep;
      if (step === null || this.#head === null) return refuse(event, "a changed system prompt outside of a step");
      const content = prompt === "" ? [] : [{ type: "text", text: prompt }];
      const surfaceOp = { op: "replace", start: this.#head, end: this.#head };
      this.#addSystem(event, step, content, { surfaceOp, sourceEventSeqs: [this.#head] });
      this.#prompt = prompt;
    }
    return withData(event, { ...event.data as JsonRecord, header: currentHeader(rest) });
  }

  #followSteps(event: LegacyEvent): void {
    const { type, data } = event;
    if (type === "step/end" || type === "turn/end" || type === "turn/start") this.#openStep = null;
    if (type !== "step/start" || !isRecord(data)) return;
    this.#openStep = { turn: data.turn as JsonValue, step: data.step as JsonValue };
    if (this.#head === null) this.#addSystem(event, this.#openStep, [], { surfaceOp: "append" });
  }

  #addSystem(
    anchor: LegacyEvent,
    { turn, step }: { readonly turn: JsonValue; readonly step: JsonValue },
    content: JsonValue,
    surface: { readonly surfaceOp: JsonValue; readonly sourceEventSeqs?: readonly number[] },
  ): void {
    const name = JSON.stringify(["session-format-v2-to-v3", this.header.id, anchor.seq, anchor.type]);
    const id = SYSTEM_ID_PREFIX + sha256OfText(name);
    if (this.#foundIds.has(id)) refuse(anchor, `a message that has the id "${id}" already`);
    this.#madeIds.add(id);
    this.#head = this.#nextSeq;
    const message = { id, role: "system", source: SYSTEM_SOURCE, content };
    const { time } = anchor;
    this.#add({ type: "system/message", seq: this.#nextSeq, time, data: { turn, step, message }, ...surface });
  }

  #emit(event: LegacyEvent, sourceSeq: number): void {
    const moved = renumbered(event, this.#seqs);
    this.#seqs.add(sourceSeq, this.#nextSeq);
    this.#add({ ...moved, seq: this.#nextSeq });
  }

  /** Writes the marker of the surface as version 3 spells it. */
  #add(event: LegacyEvent): void {
    this.#nextSeq += 1;
    const { surfaceOp } = event;
    if (!isRecord(surfaceOp)) {
      this.#out.push(event);
      return;
    }
    const { op, start, end } = surfaceOp;
    this.#out.push({ ...event, surfaceOp: { op, startSeq: start, endSeq: end } as JsonValue });
  }

  #checkIds(event: LegacyEvent): void {
    const { data, type } = event;
    if (placeOf(type, 2) !== "surface" || !isRecord(data)) return;
    const message = type === "user/message" ? data : data.message as JsonRecord;
    const { id } = message;
    if (typeof id !== "string" || !id.startsWith(SYSTEM_ID_PREFIX)) return;
    if (this.#madeIds.has(id)) refuse(event, `the id "${id}", which the migration gave to a system message`);
    this.#foundIds.add(id);
  }

  /** Only what was inherited may tell of a delivery of another session. */
  #checkDelivery(event: LegacyEvent): void {
    const { type, data } = event;
    if (!isRecord(data)) return;
    if (type === "session/end-seed" && data.inherited === true && this.#hasParent) this.#strayDelivery = null;
    if (type !== "session-log-deepseek/delivery-accepted") return;
    const { sessionFormatVersion: version, sessionId } = data;
    if (typeof version === "number" && version > 2) refuse(event, `a delivery of format version ${version}`);
    if (version === 2 && sessionId !== this.header.id) this.#strayDelivery ??= event;
  }
}

/** What version 3 calls otherwise: nested calls, and the preset and plugin that make them. */
function renamed(event: LegacyEvent): LegacyEvent {
  const type = RENAMED_TYPES.get(event.type);
  if (type !== undefined) return { ...event, type };
  const { data } = event;
  if (!isRecord(data)) return event;
  switch (event.type) {
    case "agent-preset/selected":
      return data.agentPreset === "code" ? withData(event, { ...data, agentPreset: "ptc" }) : event;
    case "user/message":
      return withData(event, withRenamedPlugin(data));
    case "agent/inbox/spliced":
      return withData(event, { ...data, inserted: renamedPlugins(data.inserted) });
    case "session/title-llm-request":
      return withData(event, { ...data, messages: renamedPlugins(data.messages) });
    default:
      return event;
  }
}

function renamedPlugins(messages: unknown): unknown {
  return Array.isArray(messages) ? messages.map(withRenamedPlugin) : messages;
}

function withRenamedPlugin(message: unknown): unknown {
  if (!isRecord(message) || !isRecord(message.source)) return message;
  const { source } = message;
  if (source.kind !== "plugin" || source.plugin !== "tools-code-mode") return message;
  return { ...message, source: { ...source, plugin: "tools-ptc" } };
}

function withoutUndefined(record: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
