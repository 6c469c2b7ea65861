/**
 * What must hold of an old event before a program of its version goes on with the session. What fails here is damage.
 *
 * Nesting is not looked at: a log with broken nesting loads in every version.
 *
 * @see session-format §3.1, §3.2, §4.3
 * @module
 */
import { isCount, isInt, isNonEmptyString, isRecord, type JsonRecord, show, wrong } from "../../event/checks.ts";
import { SOURCE_SEQS_MAX } from "../../event/mod.ts";
import { placeOf } from "./inventory.ts";
import { isLegacySurfaceOp } from "./row.ts";
import type { LegacyEvent, LegacyVersion } from "./types.ts";

/** Says what is wrong with the envelope of an event, to be read after "found ", or null. */
export function envelopeProblem(event: LegacyEvent, version: LegacyVersion): string | null {
  const { type, time, data, ignorable, surfaceOp } = event;
  if (!isNonEmptyString(type)) return wrong("type", type, "a non-empty string");
  if (!isInt(time)) return wrong("time", time, "an integer");
  if (data === undefined) return "no data";
  if (ignorable !== undefined && ignorable !== true) return wrong("ignorable", ignorable, "true or nothing");
  const place = placeOf(type, version);
  // The envelope of an unknown type is opaque beyond this point in version 2; the older ones know no other members.
  if (place === null && version === 2) return null;
  for (const key in event) {
    if (!ENVELOPE_KEYS.has(key)) return `the unknown field ${show(key)}`;
  }
  if (place === null) return null;
  if (place === "log") {
    if (surfaceOp !== undefined) return "a surfaceOp on an event that is never on the surface";
    return event.sourceEventSeqs === undefined ? null : "sourceEventSeqs on an event that is never on the surface";
  }
  if (surfaceOp === undefined) return "no surfaceOp on an event of the surface";
  if (!isLegacySurfaceOp(surfaceOp)) return wrong("surfaceOp", surfaceOp, '"append" or a replacement');
  return null;
}

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  ...["type", "seq", "time", "data", "ignorable", "surfaceOp", "sourceEventSeqs"],
]);

/** Says what is wrong with what the event carries, in the last shape of its version, or null. */
export function contentProblem(event: LegacyEvent, version: LegacyVersion): string | null {
  const { type, data } = event;
  switch (type) {
    case "user/message":
      return messageProblem(data, "data", "user");
    case "assistant/message":
      if (!isRecord(data)) return wrong("data", data, "an object");
      if (version === 2 && !Array.isArray(data.stream)) return wrong("data.stream", data.stream, "a list");
      return messageProblem(data.message, "data.message", "assistant") ?? sourceKindProblem(data.message, "model");
    case "tool/result":
      if (!isRecord(data)) return wrong("data", data, "an object");
      return messageProblem(data.message, "data.message", "user") ?? sourceKindProblem(data.message, "tool") ??
        resultProblem(data.message as JsonRecord);
    case "request/header": {
      if (!isRecord(data) || !isRecord(data.header)) return wrong("data", data, "a request header");
      const { config } = data.header;
      if (!isRecord(config) || typeof config.provider !== "string" || typeof config.model !== "string") {
        return wrong("data.header.config", config, "a provider and a model");
      }
      return typeof data.reason === "string" ? null : wrong("data.reason", data.reason, "a reason");
    }
    default:
      return null;
  }
}

/**
 * The seqs an event was made from, or what is wrong with them. Pairs, which later writers compress with, are expanded.
 *
 * @see session-format §3.2
 */
export function sourcesOf(event: LegacyEvent, version: LegacyVersion): readonly number[] | undefined | string {
  const { sourceEventSeqs: value, seq: ownSeq, type } = event;
  if (value === undefined) return undefined;
  const isAssistant = type === "assistant/message";
  if (isAssistant && version === 2) return "sourceEventSeqs on an assistant/message";
  if (!Array.isArray(value)) return wrong("sourceEventSeqs", value, "a list");
  if (value.length === 0) return isAssistant ? [] : "an empty list of sourceEventSeqs";
  const seqs = expanded(value, ownSeq);
  return typeof seqs === "string" ? `${seqs} (in sourceEventSeqs)` : seqs;
}

function expanded(value: readonly unknown[], ownSeq: number): readonly number[] | string {
  const seqs: number[] = [];
  let isRising = true;
  let hasPair = false;
  for (const element of value) {
    let first = element;
    let last = element;
    if (Array.isArray(element)) {
      if (element.length !== 2) return `a range of ${element.length} numbers`;
      [first, last] = element;
      hasPair = true;
    }
    if (!isCount(first) || !isCount(last)) return `${show(isCount(first) ? last : first)}, expected a seq`;
    if (first > last) return `a range that runs from ${first} down to ${last}`;
    if (last >= ownSeq) return `seq ${last}, which is not before the event itself`;
    if (seqs.length + (last - first + 1) > Math.min(ownSeq, SOURCE_SEQS_MAX)) return "too many seqs";
    if (seqs.length > 0 && first <= seqs.at(-1)!) isRising = false;
    for (let seq = first; seq <= last; seq++) seqs.push(seq);
  }
  if (isRising) return seqs;
  if (hasPair) return "ranges in a list that does not rise strictly";
  return new Set(seqs).size === seqs.length ? seqs : "the same seq twice";
}

/** Only what every reader asks of a message: blocks and what a source adds are not looked at. */
function messageProblem(value: unknown, path: string, role: "user" | "assistant"): string | null {
  if (!isRecord(value)) return wrong(path, value, "a message");
  if (!isNonEmptyString(value.id)) return wrong(`${path}.id`, value.id, "a non-empty string");
  if (value.role !== role) return wrong(`${path}.role`, value.role, `"${role}"`);
  if (!Array.isArray(value.content)) return wrong(`${path}.content`, value.content, "a list of blocks");
  const { source } = value;
  return isRecord(source) && isNonEmptyString(source.kind) ? null : wrong(`${path}.source`, source, "a source");
}

function sourceKindProblem(message: unknown, kind: "model" | "tool"): string | null {
  const { source } = message as { source: JsonRecord };
  return source.kind === kind ? null : wrong("data.message.source.kind", source.kind, `"${kind}"`);
}

function resultProblem(message: JsonRecord): string | null {
  const [block, ...others] = message.content as readonly unknown[];
  if (others.length > 0 || !isRecord(block) || block.type !== "tool-result") {
    return "data.message.content without exactly one tool-result";
  }
  const { callId } = message.source as JsonRecord;
  if (block.toolCallId === callId && typeof callId === "string") return null;
  return wrong("data.message.content[0].toolCallId", block.toolCallId, "the callId of the source");
}
