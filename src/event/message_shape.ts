/**
 * Shapes of messages and what they are made of, as the disk may hold them.
 *
 * Each function says what is wrong, to be read after "found ", or null. Kinds and block types this build does not know are
 * kept as they are, as long as they say what they are.
 *
 * @see session-format §3.4
 * @module
 */
import { isCount, isNonEmptyString, isRecord, type JsonRecord, strangeKey, wrong } from "./checks.ts";
import { JSON_DEPTH_MAX } from "./lossless.ts";

const MESSAGE_KEYS: ReadonlySet<string> = new Set(["id", "role", "content", "source"]);

/** Checks a message; `role` null allows each of the three. */
export function messageProblem(
  value: unknown,
  path: string,
  role: "system" | "user" | "assistant" | null,
): string | null {
  if (!isRecord(value)) return wrong(path, value, "a message");
  const strange = strangeKey(value, MESSAGE_KEYS);
  if (strange !== null) return `the unknown field "${strange}" in ${path}`;
  if (!isNonEmptyString(value.id)) return wrong(`${path}.id`, value.id, "a non-empty string");
  if (role === null) {
    if (value.role !== "user" && value.role !== "assistant" && value.role !== "system") {
      return wrong(`${path}.role`, value.role, "a role");
    }
  } else if (value.role !== role) {
    return wrong(`${path}.role`, value.role, `"${role}"`);
  }
  return sourceProblem(value.source, `${path}.source`) ?? blocksProblem(value.content, `${path}.content`, 0);
}

function sourceProblem(value: unknown, path: string): string | null {
  if (!isRecord(value)) return wrong(path, value, "a source");
  switch (value.kind) {
    case "model":
      if (typeof value.provider !== "string") return wrong(`${path}.provider`, value.provider, "a string");
      return typeof value.model === "string" ? null : wrong(`${path}.model`, value.model, "a string");
    case "plugin":
      return typeof value.plugin === "string" ? null : wrong(`${path}.plugin`, value.plugin, "a string");
    case "tool":
      return typeof value.callId === "string" ? null : wrong(`${path}.callId`, value.callId, "a string");
    default:
      return isNonEmptyString(value.kind) ? null : wrong(`${path}.kind`, value.kind, "a non-empty string");
  }
}

/** Checks a list of blocks; `depth` counts the results around it. */
export function blocksProblem(value: unknown, path: string, depth: number): string | null {
  if (!Array.isArray(value)) return wrong(path, value, "a list of blocks");
  if (depth > JSON_DEPTH_MAX) return `results nested deeper than ${JSON_DEPTH_MAX} levels`;
  for (let index = 0; index < value.length; index++) {
    const problem = blockProblem(value[index], path, index, depth);
    if (problem !== null) return problem;
  }
  return null;
}

/** The path is put together only when something is wrong: this runs for every block of every log that is opened. */
function blockProblem(value: unknown, listPath: string, index: number, depth: number): string | null {
  if (!isRecord(value)) return wrong(`${listPath}[${index}]`, value, "a block");
  switch (value.type) {
    case "text":
    case "reasoning":
      return typeof value.text === "string" ? null : wrong(`${listPath}[${index}].text`, value.text, "a string");
    case "tool-call":
      for (const key of ["id", "name", "arguments"] as const) {
        if (typeof value[key] !== "string") return wrong(`${listPath}[${index}].${key}`, value[key], "a string");
      }
      return null;
    case "tool-result":
      if (typeof value.toolCallId !== "string") {
        return wrong(`${listPath}[${index}].toolCallId`, value.toolCallId, "a string");
      }
      if (value.isError !== undefined && typeof value.isError !== "boolean") {
        return wrong(`${listPath}[${index}].isError`, value.isError, "a boolean");
      }
      return blocksProblem(value.content, `${listPath}[${index}].content`, depth + 1);
    case "image":
    case "file":
      return isRecord(value.attachment)
        ? null
        : wrong(`${listPath}[${index}].attachment`, value.attachment, "an attachment");
    default:
      return isNonEmptyString(value.type)
        ? null
        : wrong(`${listPath}[${index}].type`, value.type, "a non-empty string");
  }
}

/** Checks token counts. */
export function usageProblem(value: unknown, path: string): string | null {
  if (!isRecord(value)) return wrong(path, value, "token counts");
  for (const key of ["inputTokens", "outputTokens"] as const) {
    if (!isCount(value[key])) return wrong(`${path}.${key}`, value[key], "a count");
  }
  for (const key of ["totalTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] as const) {
    if (value[key] !== undefined && !isCount(value[key])) return wrong(`${path}.${key}`, value[key], "a count");
  }
  return null;
}

/** Checks the facts of a model failure. */
export function failureProblem(value: unknown, path: string): string | null {
  if (!isRecord(value)) return wrong(path, value, "a failure");
  for (const key of ["message", "code"] as const) {
    if (typeof value[key] !== "string") return wrong(`${path}.${key}`, value[key], "a string");
  }
  const { status, providerRetryAfterMs: retryMs, requestId } = value;
  if (status !== undefined && !(isCount(status) && status >= 100 && status <= 599)) {
    return wrong(`${path}.status`, status, "a status from 100 to 599");
  }
  if (retryMs !== undefined && !(typeof retryMs === "number" && Number.isFinite(retryMs) && retryMs > 0)) {
    return wrong(`${path}.providerRetryAfterMs`, retryMs, "milliseconds above 0");
  }
  if (requestId !== undefined && typeof requestId !== "string") {
    return wrong(`${path}.requestId`, requestId, "a string");
  }
  return null;
}

/** Checks why a stream ended. */
export function finishReasonProblem(value: unknown, path: string): string | null {
  if (!isRecord(value) || !isNonEmptyString(value.kind)) return wrong(path, value, "a reason with a kind");
  return value.kind === "error" || value.kind === "aborted" ? failureProblem(value.failure, `${path}.failure`) : null;
}

/** Checks one block that stands alone. */
export function singleBlockProblem(value: unknown, path: string): string | null {
  return blockProblem(value, path, 0, 0);
}

/** The one `tool-result` block of a result message that answers `callId`, or what is wrong. */
export function toolResultProblem(message: JsonRecord, path: string): string | null {
  const source = message.source as JsonRecord;
  const content = message.content as readonly JsonRecord[];
  if (source.kind !== "tool") return wrong(`${path}.source.kind`, source.kind, '"tool"');
  const block = content[0];
  if (content.length !== 1 || block?.type !== "tool-result") return `${path}.content without exactly one tool-result`;
  if (block.toolCallId !== source.callId) {
    return wrong(`${path}.content[0].toolCallId`, block.toolCallId, "the callId of the source");
  }
  return null;
}
