/**
 * The shapes of what is sent and answered, as JSON Schema. Requests are checked against the very objects that the OpenAPI
 * document shows.
 *
 * @see JSON Schema draft 2020-12
 * @module
 */
import type { JsonObject } from "../../mod.ts";
import { SHELL_MODES } from "../tools/shell_door.ts";
import { INPUT_LENGTH_MAX, LIST_ROWS_MAX, PAGE_EVENTS_MAX, PAGE_SIZE_BYTES_MAX } from "./limits.ts";

/** A schema, and the type of what passes it. The type is for the compiler only. */
export type Schema<Value> = JsonObject & { readonly "x-type"?: (value: Value) => void };

function object<Value>(properties: JsonObject, required: readonly string[] = []): Schema<Value> {
  return { type: "object", properties, required: [...required], additionalProperties: false } as Schema<Value>;
}

/** Of a session: what makes a folder on every file system, and no path. */
export const ID: JsonObject = {
  type: "string",
  minLength: 1,
  maxLength: 128,
  pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]+$",
};

/** Of a question: as it is in `approval/asked`. */
export const QUESTION_ID: JsonObject = { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_-]+$" };

/** Of an effect, in the sandbox endpoint: as the session that asks has drawn it. */
export const EFFECT_KEY: JsonObject = { type: "string", pattern: "^[0-9a-f]{32}$", maxLength: 32 };

/** A count in an address. */
/** A count or a seq in a query or a path. */
export const COUNT: JsonObject = { type: "string", pattern: "^[0-9]{1,15}$", maxLength: 15 };
/** A seq in a body. */
const SEQ: JsonObject = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const DIGEST: JsonObject = { type: "string", pattern: "^[0-9a-f]{64}$", maxLength: 64 };

/** What a new session may be given. */
export interface NewSession {
  readonly id?: string;
}
/** See {@linkcode NewSession}. */
export const NEW_SESSION: Schema<NewSession> = object({ id: ID });

/** Which sessions are listed. */
export interface ListQuery {
  readonly after?: string;
  readonly limit?: string;
}
/** See {@linkcode ListQuery}. */
export const LIST_QUERY: Schema<ListQuery> = object({
  after: { ...ID, description: "Only ids behind this one" },
  limit: { ...COUNT, description: `At most, 1 to ${LIST_ROWS_MAX}; default ${LIST_ROWS_MAX}` },
});

/** What is said to the agent. */
export interface Input {
  readonly text: string;
  readonly mode?: "followup" | "steer" | "inject";
}
/** See {@linkcode Input}. */
export const INPUT: Schema<Input> = object({
  text: { type: "string", minLength: 1, maxLength: INPUT_LENGTH_MAX },
  mode: {
    enum: ["followup", "steer", "inject"],
    description: "followup (default): a turn of its own. steer: the next step. inject: the next step, and wakes nobody",
  },
}, ["text"]);

/** The header that makes a repeated input one. */
export const IDEMPOTENCY_KEY: JsonObject = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  pattern: "^[\\x21-\\x7e]+$",
  description: "A repeat with the same key and body is the same input; with another body it is refused",
};

/** How a turn is cancelled. */
export interface Cancel {
  readonly keepInbox?: boolean;
}
/** See {@linkcode Cancel}. */
export const CANCEL: Schema<Cancel> = object({
  keepInbox: { type: "boolean", description: "Leaves what waits for the next message. Default false" },
});

/** How a question is answered. */
export interface DecisionBody {
  readonly decision: "allowed-once" | "rejected";
  readonly argumentsDigest?: string;
}
/** See {@linkcode DecisionBody}. */
export const DECISION: Schema<DecisionBody> = object({
  decision: { enum: ["allowed-once", "rejected"] },
  argumentsDigest: { ...DIGEST, description: "Of the arguments that were shown; required when the question has one" },
}, ["decision"]);

/** See the route: a compaction takes nothing yet. */
export const COMPACT: Schema<Record<never, never>> = object({});

/** What a person found out about a call whose outcome is unknown. */
export interface Settlement {
  readonly callSeq: number;
  readonly verdict: "happened" | "absent" | "retry";
  readonly note?: string;
}
/** See {@linkcode Settlement}. */
export const SETTLEMENT: Schema<Settlement> = object({
  callSeq: { ...SEQ, description: "Of the tool/call" },
  verdict: { enum: ["happened", "absent", "retry"] },
  note: { type: "string", maxLength: 4096, description: "How it is known; the model reads it" },
}, ["callSeq", "verdict"]);

/** Which events are read. */
export interface EventsQuery {
  readonly from?: string;
  readonly limit?: string;
  readonly live?: "true" | "false";
}
/** See {@linkcode EventsQuery}. */
export const EVENTS_QUERY: Schema<EventsQuery> = object({
  from: { ...COUNT, description: "First seq; default 0. Last-Event-ID goes before it" },
  limit: { ...COUNT, description: `Of a page: 1 to ${PAGE_EVENTS_MAX}; default ${PAGE_EVENTS_MAX}` },
  live: { enum: ["true", "false"], description: "Of a stream: whether frames come that are not durable. Default true" },
});

/** What an export looks like. */
export interface ExportQuery {
  readonly to?: "jsonl" | "zstd";
}
/** See {@linkcode ExportQuery}. */
export const EXPORT_QUERY: Schema<ExportQuery> = object({
  to: { enum: ["jsonl", "zstd"], description: "Default jsonl" },
});

/** Under which id an import is kept. */
export interface ImportQuery {
  readonly id?: string;
}
/** See {@linkcode ImportQuery}. */
export const IMPORT_QUERY: Schema<ImportQuery> = object({ id: { ...ID, description: "Default: that of the log" } });

/** Whether a session is deleted although something in it is unknown. */
export interface DeleteQuery {
  readonly force?: "true" | "false";
}
/** See {@linkcode DeleteQuery}. */
export const DELETE_QUERY: Schema<DeleteQuery> = object({
  force: { enum: ["true", "false"], description: "Also with effects whose outcome is unknown. Default false" },
});

/** One session in a list. */
export interface SessionSummary {
  readonly id: string;
  readonly state: "ok" | "open" | "damaged" | "unsupported" | "unchecked";
  readonly reason: string | null;
  readonly createdAt: number | null;
  readonly lastEventTime: number | null;
  readonly sizeBytes: number;
  /** Whether a writer holds it, here or elsewhere. */
  readonly live: boolean;
  /** `null` while the server does not have it open. */
  readonly status: "idle" | "running" | null;
}

/** An effect nobody knows the outcome of. */
export interface UnknownOutcome {
  readonly callSeq: number;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

/** One session. */
export interface SessionDetail extends SessionSummary {
  /** One more than the last event's seq, events that are not durable included. */
  readonly nextSeq: number;
  /** The last durable seq, −1 for none. */
  readonly durableSeq: number;
  readonly unresolved: readonly UnknownOutcome[];
  readonly openQuestions: number;
}

/** An open question. */
export interface QuestionView {
  readonly id: string;
  readonly toolName: string;
  readonly reason: string | null;
  readonly callId: string | null;
  readonly callSeq: number | null;
  /** The raw text the model wrote. */
  readonly arguments: string | null;
  readonly argumentsDigest: string | null;
  readonly askedAt: number;
}

/** What became of a question. */
export interface DecisionView {
  readonly id: string;
  readonly outcome: string;
  /** Of `approval/decided`, which is durable. */
  readonly seq: number;
  /** Whether it was answered before. */
  readonly already: boolean;
}

/** An input that is durable. */
export interface InputView {
  readonly messageId: string;
  /** Of the event that brought it. */
  readonly seq: number;
  /** Whether it was there already. */
  readonly repeated: boolean;
}

const TEXT: JsonObject = { type: "string" };
const NULLABLE_TEXT: JsonObject = { type: ["string", "null"] };
const NULLABLE_NUMBER: JsonObject = { type: ["number", "null"] };

const SUMMARY_PROPERTIES: JsonObject = {
  id: TEXT,
  state: { enum: ["ok", "open", "damaged", "unsupported", "unchecked"] },
  reason: NULLABLE_TEXT,
  createdAt: NULLABLE_NUMBER,
  lastEventTime: NULLABLE_NUMBER,
  sizeBytes: { type: "integer" },
  live: { type: "boolean" },
  status: { enum: ["idle", "running", null] },
};

const UNKNOWN_OUTCOME = object({ callSeq: SEQ, callId: TEXT, name: TEXT, arguments: TEXT }, [
  "callSeq",
  "callId",
  "name",
  "arguments",
]);

const LOST_TEXT = object({
  seq: { ...SEQ, description: "Of the result/spilled" },
  callId: TEXT,
  callSeq: SEQ,
  digest: DIGEST,
  sizeBytes: SEQ,
  code: TEXT,
  message: TEXT,
}, ["seq", "callId", "callSeq", "digest", "sizeBytes", "code", "message"]);

const SPILLED = object({
  count: { ...SEQ, description: "How many long results the log names" },
  missing: {
    type: "array",
    items: LOST_TEXT,
    description: "Those that did not come with it: they cannot be read here",
  },
  damaged: { type: "array", items: LOST_TEXT },
}, ["count", "missing", "damaged"]);

/** The answers, by name, for the OpenAPI document. */
export const ANSWERS: Readonly<Record<string, JsonObject>> = {
  SessionSummary: object(SUMMARY_PROPERTIES, Object.keys(SUMMARY_PROPERTIES)),
  SessionDetail: object({
    ...SUMMARY_PROPERTIES,
    nextSeq: SEQ,
    durableSeq: { type: "integer", minimum: -1 },
    unresolved: { type: "array", items: UNKNOWN_OUTCOME },
    openQuestions: SEQ,
  }, [...Object.keys(SUMMARY_PROPERTIES), "nextSeq", "durableSeq", "unresolved", "openQuestions"]),
  SessionList: object({
    sessions: { type: "array", items: { $ref: "#/components/schemas/SessionSummary" } },
    nextAfter: NULLABLE_TEXT,
  }, ["sessions", "nextAfter"]),
  EventPage: object({
    events: {
      type: "array",
      items: { type: "object" },
      description:
        `Rows of the log, as they are stored; at most ${PAGE_SIZE_BYTES_MAX} bytes. A row that is larger comes cut, with \`preview: {sizeBytes, href}\``,
    },
    nextFrom: NULLABLE_NUMBER,
  }, ["events", "nextFrom"]),
  Question: object({
    id: TEXT,
    toolName: TEXT,
    reason: NULLABLE_TEXT,
    callId: NULLABLE_TEXT,
    callSeq: NULLABLE_NUMBER,
    arguments: NULLABLE_TEXT,
    argumentsDigest: NULLABLE_TEXT,
    askedAt: { type: "number" },
  }, ["id", "toolName", "reason", "callId", "callSeq", "arguments", "argumentsDigest", "askedAt"]),
  QuestionList: object({ questions: { type: "array", items: { $ref: "#/components/schemas/Question" } } }, [
    "questions",
  ]),
  Decision: object({ id: TEXT, outcome: TEXT, seq: SEQ, already: { type: "boolean" } }, [
    "id",
    "outcome",
    "seq",
    "already",
  ]),
  Input: object({ messageId: TEXT, seq: SEQ, repeated: { type: "boolean" } }, ["messageId", "seq", "repeated"]),
  Status: object({ status: { enum: ["idle", "running"] } }, ["status"]),
  Settled: object({ callSeq: SEQ, verdict: TEXT, seq: SEQ }, ["callSeq", "verdict", "seq"]),
  Imported: object({ id: TEXT, events: SEQ, spilled: SPILLED }, ["id", "events", "spilled"]),
  Compaction: object({
    compacted: {
      type: ["object", "null"],
      description: "What was replaced; null when there was nothing to compact",
      properties: {
        compactionId: TEXT,
        shadowedCount: SEQ,
        shadowedTokens: SEQ,
        checkpointTokens: SEQ,
        summarySeq: SEQ,
        replacementSeq: SEQ,
      },
    },
  }, ["compacted"]),
  Effect: {
    type: "object",
    properties: {
      effectKey: TEXT,
      state: { enum: ["unseen", "running", "finished", "refused", "absent", "forgotten", "undecidable"] },
      outcome: { type: "object", description: "How the command ended; with `finished`" },
      refusal: { type: "object", description: "Why it did not run; with `refused`" },
    },
    required: ["effectKey", "state"],
  },
  ShellLimits: object({ modeMax: { enum: [...SHELL_MODES] }, allowNetwork: { type: "boolean" } }, [
    "modeMax",
    "allowNetwork",
  ]),
  Health: object({ status: TEXT }, ["status"]),
  Problem: {
    type: "object",
    description: "RFC 9457",
    properties: { type: TEXT, title: TEXT, status: { type: "integer" }, code: TEXT, detail: TEXT },
    required: ["type", "title", "status", "code", "detail"],
  },
};
