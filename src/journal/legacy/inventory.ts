/**
 * The closed inventories of the old versions: which types there are, and of which members their data is made.
 *
 * A migration refuses what is not in them, ignorable or not: it must renumber every reference, and what it does not know may hold
 * one.
 *
 * The specification names the types of version 0 that a migration takes (51). Which ones version 1 and 2 add is not said; taken
 * is what version 3 knows, without what only version 3 has. None of these four holds a seq.
 *
 * @see session-format §3.6, §10.2
 * @module
 */
import { KNOWN_TYPES } from "../../event/mod.ts";
import { isRecord, type JsonRecord, strangeKey } from "../../event/checks.ts";
import type { LegacyVersion } from "./types.ts";

/** The types that put a message on the surface, or replace one there. `steering/message` is a `user/message` of version 0. */
const SURFACE: ReadonlySet<string> = new Set([
  ...["user/message", "assistant/message", "tool/result", "steering/message"],
]);

const V2: ReadonlySet<string> = changed(KNOWN_TYPES, {
  without: ["system/message", "tool/ptc-dispatch-start", "tool/ptc-dispatch"],
  with: ["tool/code-dispatch-start", "tool/code-dispatch"],
});
const V1: ReadonlySet<string> = changed(V2, { without: ["assistant/attempt"], with: ["assistant/chunk"] });
const V0: ReadonlySet<string> = changed(V1, {
  without: ["deliverables/presented", "feedback/message-put", "feedback/message-delete", "subagent/catalog"],
  with: [],
});

/** Spellings of version 0 that a migration renames. */
const V0_OLDER: ReadonlySet<string> = new Set([
  ...["compact/start", "compact/summary", "compact/end", "compact/prune", "steering/message"],
]);

const BY_VERSION: readonly ReadonlySet<string>[] = [V0, V1, V2];

/** Whether a migration from this version knows the type. */
export function isKnownLegacyType(type: string, version: LegacyVersion): boolean {
  return BY_VERSION[version]!.has(type);
}

/** Whether a type is known as something that stands on the surface, as something that never does, or not at all. */
export function placeOf(type: string, version: LegacyVersion): "surface" | "log" | null {
  if (version === 0 ? !V0.has(type) && !V0_OLDER.has(type) : !isKnownLegacyType(type, version)) return null;
  return SURFACE.has(type) ? "surface" : "log";
}

/**
 * Says which member of the data of a version-1 event is missing or not known, or null. Types whose members the specification
 * does not list are not looked at.
 */
export function membersProblem(type: string, data: unknown): string | null {
  const members = MEMBERS.get(type);
  if (members === undefined) return null;
  if (!isRecord(data)) return "data that is no object";
  const problem = recordProblem(data, members, "data");
  if (problem !== null || type !== "request/header") return problem;
  return isRecord(data.header) ? recordProblem(data.header, REQUEST_HEADER, "data.header") : "no data.header";
}

interface Members {
  readonly all: ReadonlySet<string>;
  readonly required: readonly string[];
}

function recordProblem(record: JsonRecord, { all, required }: Members, path: string): string | null {
  const strange = strangeKey(record, all);
  if (strange !== null) return `the unknown field "${strange}" in ${path}`;
  const missing = required.find((key) => !Object.hasOwn(record, key));
  return missing === undefined ? null : `no ${path}.${missing}`;
}

/** Names of members, in one text; `?` behind a name: it may be absent. */
function members(text: string): Members {
  const names = text.split(" ").filter((name) => name !== "");
  return {
    all: new Set(names.map((name) => name.replace("?", ""))),
    required: names.filter((name) => !name.endsWith("?")),
  };
}

const REQUEST_HEADER = members("config system? adapterDefaults? tools?");

const MEMBERS: ReadonlyMap<string, Members> = new Map(
  Object.entries({
    "turn/start": "turn",
    "turn/end": "turn reason",
    "step/start": "turn step",
    "step/end": "turn step",
    "user/message": "id role content source",
    "assistant/message": "turn step message usage? interrupted?",
    "assistant/chunk": "turn step chunk",
    "tool/call": "turn step callId name arguments",
    "tool/result": "turn step message error? meta?",
    "approval/asked": "id toolName callId? reason?",
    "approval/decided": "id outcome",
    "approval/policy": "policy source?",
    "compaction/start": "compactionId sourceCommandId? turn",
    "compaction/summary":
      "compactionId sourceCommandId? summary shadowedRange shadowedSeqs shadowedTokenCount provider " +
      "model maxTokens? usage? rawOutput? llmStreamCall?",
    "compaction/end": "compactionId sourceCommandId? turn error?",
    "compaction/prune": "shadowedRange shadowedSeqs shadowedTokenCount",
    "request/header": "header reason startsSeries?",
    "request/context": "provider model contextWindow? systemPromptUpdate?",
    "session/end-seed": "",
    "todo/write": "todos",
    "agent/inbox/spliced": "target start removedCount? inserted outcome?",
    "agent-preset/selected": "agentPreset",
    "command/run": "commandId name args? source",
    "command/done": "commandId kind text? sourceEventSeq?",
    "feedback/record": "text",
    "hook/invoked": "turn point dialect matcher? handlerId",
    "hook/result": "turn point handlerId decision exitCode? stderrSummary? durationMs",
    "llm/retry": "retryId turn step provider mode policyKey retry maxRetries? delayMs failure",
    "llm/retry-started": "retryId turn step retry",
    "model/selection": "provider model reasoningEffort?",
    "permission/preset": "preset",
    "plan/mode": "active",
    "sandbox/mode": "mode source?",
    "session/title": "title messageSeqs source",
    "session/title-llm-request": "titleProvider messageSeqs route system messages maxTokens",
    "session-log-deepseek/delivery-accepted": "sessionId sessionFormatVersion? throughSeq",
    "subagent/descriptor": "mode version provider label? agentProvider? agentModel? agentReasoningEffort? persona? " +
      "toolFilter?",
    "subagent/model-selection-policy": "allowedModels",
    "tool-workflow/run-start": "runId name",
    "tool-workflow/agent-start": "runId seq label childId phase?",
    "tool-workflow/agent-end": "runId seq outcome",
    "tool-workflow/run-end": "runId stopReason",
    "tool/code-dispatch-start": "rootCallId parentCallId subCallId name arguments",
    "web/deepseek-search-llm-request": "endpoint apiVersion body",
  }).map(([type, text]) => [type, members(text)]),
);

function changed(
  types: ReadonlySet<string>,
  change: { readonly without: readonly string[]; readonly with: readonly string[] },
): ReadonlySet<string> {
  return new Set([...[...types].filter((type) => !change.without.includes(type)), ...change.with]);
}
