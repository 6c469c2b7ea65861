/**
 * Shapes of the model streams that messages and attempts embed.
 *
 * @see session-format §3.5
 * @module
 */
import { isCount, isInt, isNonEmptyString, isRecord, type JsonRecord, wrong } from "./checks.ts";
import { finishReasonProblem, singleBlockProblem, usageProblem } from "./message_shape.ts";

/** Says what is wrong with an embedded stream, to be read after "found ", or null. */
export function streamProblem(value: unknown, path: string): string | null {
  if (!Array.isArray(value)) return wrong(path, value, "a list of stream records");
  for (let index = 0; index < value.length; index++) {
    const problem = recordProblem(value[index]);
    if (problem !== null) return `${problem} (${path}[${index}])`;
  }
  return null;
}

function recordProblem(value: unknown): string | null {
  if (!isRecord(value)) return wrong("a stream record", value, "an object");
  switch (value.type) {
    case "text-chunks":
    case "reasoning-chunks":
      return deltasProblem(value, "texts");
    case "tool-call-chunks":
      if (typeof value.id !== "string") return wrong("id", value.id, "a string");
      if (value.name !== undefined && typeof value.name !== "string") return wrong("name", value.name, "a string");
      return deltasProblem(value, "args");
    case "chunk":
      if (!isInt(value.time)) return wrong("time", value.time, "an integer");
      return chunkProblem(value.chunk);
    default:
      return wrong("type", value.type, "a type of stream record");
  }
}

function deltasProblem(record: JsonRecord, member: "texts" | "args"): string | null {
  if (!isInt(record.time0)) return wrong("time0", record.time0, "an integer");
  if (!isCount(record.index)) return wrong("index", record.index, "a count");
  const { dt, [member]: parts } = record;
  if (!Array.isArray(parts) || parts.length === 0) return wrong(member, parts, "a non-empty list");
  if (!Array.isArray(dt) || dt.length !== parts.length - 1) {
    return wrong("dt", dt, `a list of ${parts.length - 1}`);
  }
  let time: number = record.time0;
  for (let index = 0; index < dt.length; index++) {
    if (!isInt(dt[index])) return wrong(`dt[${index}]`, dt[index], "an integer");
    time += dt[index];
    if (!Number.isSafeInteger(time)) return wrong(`dt[${index}]`, dt[index], "a gap to a safe time");
  }
  for (let index = 0; index < parts.length; index++) {
    if (typeof parts[index] !== "string") return wrong(`${member}[${index}]`, parts[index], "a string");
  }
  return null;
}

/** Says what is wrong with one chunk of a model stream, or null. Types this build does not know are kept as they are. */
export function chunkProblem(value: unknown): string | null {
  if (!isRecord(value)) return wrong("chunk", value, "an object");
  switch (value.type) {
    case "block-start":
      if (!isNonEmptyString(value.blockType)) return wrong("chunk.blockType", value.blockType, "a non-empty string");
      return indexProblem(value);
    case "text-delta":
    case "reasoning-delta":
      if (typeof value.text !== "string") return wrong("chunk.text", value.text, "a string");
      return indexProblem(value);
    case "tool-call-delta":
      if (typeof value.id !== "string") return wrong("chunk.id", value.id, "a string");
      if (value.name !== undefined && typeof value.name !== "string") {
        return wrong("chunk.name", value.name, "a string");
      }
      if (typeof value.argumentsDelta !== "string") {
        return wrong("chunk.argumentsDelta", value.argumentsDelta, "a string");
      }
      return indexProblem(value);
    case "block-end":
      return indexProblem(value) ?? singleBlockProblem(value.block, "chunk.block");
    case "usage":
      return usageProblem(value.usage, "chunk.usage");
    case "finish":
      return finishReasonProblem(value.reason, "chunk.reason");
    default:
      return isNonEmptyString(value.type) ? null : wrong("chunk.type", value.type, "a non-empty string");
  }
}

function indexProblem(chunk: JsonRecord): string | null {
  return isCount(chunk.index) ? null : wrong("chunk.index", chunk.index, "a count");
}
