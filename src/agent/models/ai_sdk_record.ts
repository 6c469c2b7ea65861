/**
 * What a model of the AI SDK says beside text, reasoning and calls, as the log keeps it: in the `replayState` of the message.
 *
 * That is where a provider's own calls live, with their results and the approvals it asks for. None of them is a tool-call block,
 * so nothing of ours can run, answer or approve one.
 *
 * @module
 */
import { freezeJson, type JsonObject, type JsonValue } from "../../event/mod.ts";
import { type Fields, fields, itemsOf, textOf } from "./ai_sdk_shapes.ts";

/** How much of this one answer may have, as JSON, in UTF-16 units. More fails the request with `TOO_LARGE`. */
export const RECORD_SIZE_MAX = 4 * 1024 * 1024;

/** A part that the provider sent, and where. */
export interface RecordedPart {
  /** The position in the message's content that it stands before. */
  readonly before: number;
  /** As it came. */
  readonly part: JsonObject;
}

/** What the provider wants back with a block. */
export interface BlockNote {
  /** The type of the block, so that a note is never taken for another block's. */
  readonly type: string;
  /** In the message's content. */
  readonly position: number;
  /** Opaque to everyone but the provider. */
  readonly providerMetadata: JsonValue;
}

/** The whole record of one answer. `response` is there in every `replayState` of the format; the rest of it is ours. */
export interface AiSdkRecord {
  /** About the answer as a whole. */
  readonly response: {
    readonly id?: string;
    readonly model?: string;
    /** ISO 8601. */
    readonly timestamp?: string;
    /** Why the model stopped, in the provider's word. */
    readonly finish?: string;
    readonly warnings?: readonly JsonValue[];
    readonly providerMetadata?: JsonValue;
    readonly parts?: readonly RecordedPart[];
  };
  /** About single blocks. */
  readonly blocks?: readonly BlockNote[];
}

/**
 * Reads a record back from a log.
 *
 * @param replayState of the message's source; anything at all
 *
 * @example
 * ```ts
 * import { readRecord } from "./ai_sdk_record.ts";
 *
 * if (readRecord({ response: { parts: "no list" } }).parts.length !== 0) throw new Error("unreachable");
 * ```
 */
export function readRecord(replayState: unknown): {
  readonly parts: readonly { readonly before: number; readonly part: Fields }[];
  readonly notes: ReadonlyMap<number, Fields>;
} {
  const { response, blocks } = fields(replayState);
  const parts = itemsOf(fields(response).parts).map(fields)
    .map(({ before, part }) => ({ before: Number(before), part: fields(part) }));
  const notes = new Map(itemsOf(blocks).map(fields).map((note) => [Number(note.position), note]));
  return { parts, notes };
}

/**
 * A copy of anything, as JSON has it: bytes as base64, dates and addresses as text. What is no JSON at all becomes null.
 *
 * @example
 * ```ts
 * import { jsonCopy } from "./ai_sdk_record.ts";
 *
 * const copy = jsonCopy({ data: new Uint8Array([104, 105]), at: new Date(0), no: undefined });
 * if (JSON.stringify(copy) !== '{"data":"aGk=","at":"1970-01-01T00:00:00.000Z"}') throw new Error("unreachable");
 * ```
 */
export function jsonCopy(value: unknown): JsonValue {
  try {
    const text = JSON.stringify(value, function (this: Fields, key, member) {
      // What stands there, not what its toJSON made of it: bytes of Node have one.
      const raw = this[key];
      return raw instanceof Uint8Array ? base64(raw) : typeof raw === "bigint" ? String(raw) : member;
    });
    return text === undefined ? null : freezeJson(JSON.parse(text));
  } catch {
    return null;
  }
}

/** By pieces, because a call takes only so many arguments. */
function base64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; start += 8192) {
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + 8192)));
  }
  return btoa(pieces.join(""));
}

/** Metadata that says something, or undefined: providers send empty objects too. */
export function metadataOf(part: Fields): JsonValue | undefined {
  const said = Object.entries(fields(part.providerMetadata))
    .filter(([, value]) => Object.keys(fields(value)).length > 0);
  return said.length === 0 ? undefined : jsonCopy(Object.fromEntries(said));
}

/** Collects the record of one answer. Positions are given as the indices of chunks, and put right at the end. */
export class Recorder {
  #response: AiSdkRecord["response"] = {};
  readonly #parts: { readonly beforeIndex: number; readonly part: JsonObject; readonly isPreliminary: boolean }[] = [];
  readonly #notes = new Map<number, { readonly type: string; readonly providerMetadata: JsonValue }>();
  #size = 0;

  /** Whether the provider did or asked something by itself. */
  get hasParts(): boolean {
    return this.#parts.length > 0;
  }

  /** Whether there is more than one answer may have. */
  get isTooLarge(): boolean {
    return this.#size > RECORD_SIZE_MAX;
  }

  /** Notes who answered. */
  response(part: Fields): void {
    const { id, modelId, timestamp } = part;
    this.#note({
      ...(textOf(id) === "" ? {} : { id: textOf(id) }),
      ...(textOf(modelId) === "" ? {} : { model: textOf(modelId) }),
      ...(typeof jsonCopy(timestamp) === "string" ? { timestamp: jsonCopy(timestamp) as string } : {}),
    });
  }

  /** Notes what of the request the provider did not heed. */
  warnings(warnings: readonly unknown[]): void {
    if (warnings.length > 0) this.#note({ warnings: warnings.map(jsonCopy) });
  }

  /** Notes why the model stopped, in the provider's word, and what it says at the end. */
  finish(raw: unknown, part: Fields): void {
    const providerMetadata = metadataOf(part);
    this.#note({
      ...(textOf(raw) === "" ? {} : { finish: textOf(raw) }),
      ...(providerMetadata === undefined ? {} : { providerMetadata }),
    });
  }

  /** Keeps a part as it came. A preliminary result gives way to the next one of its call. */
  part(part: Fields, beforeIndex: number): void {
    const copy = jsonCopy(part);
    const kept = { beforeIndex, part: fields(copy) as JsonObject, isPreliminary: part.preliminary === true };
    this.#size += JSON.stringify(copy).length;
    const earlier = this.#parts.findIndex((other) =>
      other.isPreliminary && part.type === "tool-result" && other.part.toolCallId === part.toolCallId
    );
    if (earlier >= 0) this.#parts.splice(earlier, 1, kept);
    else this.#parts.push(kept);
  }

  /** Notes what the provider wants back with a block. */
  block(index: number, type: string, providerMetadata: JsonValue): void {
    this.#size += JSON.stringify(providerMetadata).length;
    this.#notes.set(index, { type, providerMetadata });
  }

  /**
   * The record so far.
   *
   * @param positionOf where the block of an index, or the next one after it, stands in the message; null when it is left out
   * @returns null when there is nothing to keep
   */
  record(positionOf: (index: number) => { readonly position: number; readonly isKept: boolean }): JsonObject | null {
    const parts = this.#parts.map(({ beforeIndex, part }) => ({ before: positionOf(beforeIndex).position, part }));
    const blocks = [...this.#notes].sort(([left], [right]) => left - right)
      .filter(([index]) => positionOf(index).isKept)
      .map(([index, { type, providerMetadata }]) => ({ position: positionOf(index).position, type, providerMetadata }));
    const record: AiSdkRecord = {
      response: { ...this.#response, ...(parts.length > 0 ? { parts } : {}) },
      ...(blocks.length > 0 ? { blocks } : {}),
    };
    const isEmpty = Object.keys(record.response).length === 0 && blocks.length === 0;
    // Every member was made of JSON above, which the type of a record built in steps does not say.
    return isEmpty ? null : record as unknown as JsonObject;
  }

  #note(said: AiSdkRecord["response"]): void {
    this.#size += JSON.stringify(said).length;
    this.#response = { ...this.#response, ...said };
  }
}
