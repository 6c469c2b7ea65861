/**
 * The OpenAPI document, from the schemas that requests are checked with.
 *
 * @see OpenAPI Specification 3.1
 * @module
 */
import type { JsonObject, JsonValue } from "../../mod.ts";
import {
  ANSWERS,
  CANCEL,
  COMPACT,
  COUNT,
  DECISION,
  DELETE_QUERY,
  EFFECT_KEY,
  EVENTS_QUERY,
  EXPORT_QUERY,
  ID,
  IDEMPOTENCY_KEY,
  IMPORT_QUERY,
  INPUT,
  LIST_QUERY,
  NEW_SESSION,
  QUESTION_ID,
  SETTLEMENT,
} from "./schemas.ts";

/** One operation. */
export interface Operation {
  readonly method: "get" | "post" | "delete";
  /** With `{name}` for what is in the path. */
  readonly path: string;
  readonly summary: string;
  readonly query?: JsonObject;
  readonly headers?: Readonly<Record<string, JsonObject>>;
  /** The JSON body. */
  readonly body?: JsonObject;
  /** Content types of a body that is no JSON. */
  readonly bytes?: readonly string[];
  /** Status, and what is answered: a name of `ANSWERS`, a content type or one of several, or nothing. */
  readonly answers: Readonly<Record<number, string | null | readonly string[]>>;
  /** Whether it is answered without a token. */
  readonly isOpen?: true;
}

const PATH_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  id: ID,
  question: QUESTION_ID,
  effectKey: EFFECT_KEY,
  seq: COUNT,
};

/** Everything that can be asked. A test compares it with the routes. */
export const OPERATIONS: readonly Operation[] = [
  { method: "get", path: "/healthz", summary: "Whether the server is there", answers: { 200: "Health" }, isOpen: true },
  {
    method: "get",
    path: "/readyz",
    summary: "Whether the server takes new work",
    answers: { 200: "Health", 503: "Health" },
    isOpen: true,
  },
  {
    method: "get",
    path: "/openapi.json",
    summary: "This document",
    answers: { 200: "application/json" },
    isOpen: true,
  },
  {
    method: "post",
    path: "/v1/sessions",
    summary: "Starts a session. Its log is durable when this is answered",
    body: NEW_SESSION,
    answers: { 201: "SessionDetail" },
  },
  {
    method: "get",
    path: "/v1/sessions",
    summary: "Lists sessions, ascending by id",
    query: LIST_QUERY,
    answers: { 200: "SessionList" },
  },
  { method: "get", path: "/v1/sessions/{id}", summary: "Looks at a session", answers: { 200: "SessionDetail" } },
  {
    method: "delete",
    path: "/v1/sessions/{id}",
    summary: "Deletes a session; not while a turn runs, and not with unknown outcomes unless forced",
    query: DELETE_QUERY,
    answers: { 204: null },
  },
  {
    method: "post",
    path: "/v1/sessions/{id}/inputs",
    summary: "Says something to the agent. The input is durable when this is answered; its turn goes on behind it",
    headers: { "Idempotency-Key": IDEMPOTENCY_KEY },
    body: INPUT,
    answers: { 202: "Input" },
  },
  {
    method: "post",
    path: "/v1/sessions/{id}/cancel",
    summary: "Cancels the running turn",
    body: CANCEL,
    answers: { 202: "Status" },
  },
  {
    method: "post",
    path: "/v1/sessions/{id}/compact",
    summary:
      "Summarises the conversation, between turns: the model reads less, the log keeps everything. Durable when this is answered",
    body: COMPACT,
    answers: { 200: "Compaction" },
  },
  {
    method: "get",
    path: "/v1/sessions/{id}/events",
    summary:
      "A page of the durable log; with Accept: text/event-stream a stream that goes on, resumed by Last-Event-ID",
    query: EVENTS_QUERY,
    headers: { "Last-Event-ID": { type: "string", pattern: "^[0-9]{0,15}$" } },
    answers: { 200: "EventPage" },
  },
  {
    method: "get",
    path: "/v1/sessions/{id}/events/{seq}",
    summary: "One event of the durable log, whole, as it is stored",
    answers: { 200: "application/json" },
  },
  {
    method: "get",
    path: "/v1/sessions/{id}/approvals",
    summary: "The questions that wait for an answer",
    answers: { 200: "QuestionList" },
  },
  {
    method: "post",
    path: "/v1/sessions/{id}/approvals/{question}",
    summary: "Answers a question. The answer is durable when this is answered; the first one counts",
    body: DECISION,
    answers: { 200: "Decision" },
  },
  {
    method: "post",
    path: "/v1/sessions/{id}/settle",
    summary: "Says what became of a call whose outcome is unknown",
    body: SETTLEMENT,
    answers: { 200: "Settled" },
  },
  {
    method: "get",
    path: "/v1/sessions/{id}/export",
    summary:
      "The log as a file; with long results beside it, a zip archive of the log and them. Of a damaged log what lies before the damage, named in the header Holdfast-Damage; Holdfast-Missing-Results counts long results that are lost",
    query: EXPORT_QUERY,
    answers: { 200: ["application/x-ndjson", "application/zstd", "application/zip"] },
  },
  {
    method: "post",
    path: "/v1/sessions/import",
    summary:
      "Takes a log in, whatever its encoding, or a zip archive of a log and its long results. All of what came, or nothing; the answer says which long results did not come with it",
    query: IMPORT_QUERY,
    bytes: ["application/zstd", "application/x-ndjson", "application/zip", "application/octet-stream"],
    answers: { 201: "Imported" },
  },
];

/**
 * The document.
 *
 * @param extra what can be asked of routes that a host adds
 *
 * @example
 * ```ts
 * import { openApi } from "./openapi.ts";
 *
 * if (openApi()["openapi"] !== "3.1.0") throw new Error("unreachable");
 * ```
 */
export function openApi(extra: readonly Operation[] = []): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const operation of [...OPERATIONS, ...extra]) {
    (paths[operation.path] ??= {})[operation.method] = describe(operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast", version: "1", description: "Agents whose intents are durable before their effects" },
    paths,
    security: [{ token: [] }],
    components: {
      schemas: { ...ANSWERS },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function describe(operation: Operation): JsonObject {
  const { summary, body, bytes, answers, isOpen } = operation;
  const content = body !== undefined
    ? { "application/json": { schema: body } }
    : bytes !== undefined
    ? Object.fromEntries(bytes.map((type) => [type, { schema: { type: "string", format: "binary" } }]))
    : null;
  return {
    summary,
    parameters: parametersOf(operation),
    ...(content === null ? {} : { requestBody: { required: true, content } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, responseOf(answer)])),
      default: {
        description: "A problem",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
    ...(isOpen === true ? { security: [] } : {}),
  };
}

function parametersOf({ path, query, headers }: Operation): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: "path",
    required: true,
    schema: PATH_SCHEMAS[name!]!,
  }));
  const inQuery = Object.entries((query?.["properties"] ?? {}) as JsonObject)
    .map(([name, schema]) => ({ name, in: "query", required: false, schema: schema! }));
  const inHeaders = Object.entries(headers ?? {})
    .map(([name, schema]) => ({ name, in: "header", required: false, schema }));
  return [...inPath, ...inQuery, ...inHeaders];
}

function responseOf(answer: string | null | readonly string[]): JsonObject {
  if (answer === null) return { description: "Done" };
  if (typeof answer !== "string") {
    return { description: "Done", content: Object.fromEntries(answer.map((type) => [type, {}])) };
  }
  if (answer.includes("/")) return { description: "Done", content: { [answer]: {} } };
  const schema = { $ref: `#/components/schemas/${answer}` };
  const content: JsonObject = { "application/json": { schema } };
  const stream: JsonObject = { "text/event-stream": { schema: { type: "string" } } };
  return { description: "Done", content: answer === "EventPage" ? { ...content, ...stream } : content };
}
