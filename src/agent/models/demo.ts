/**
 * A model without a key: it turns a few plain sentences into tool calls, and says that it is one.
 *
 * It decides from the request alone, like any other model, so a run with it can be repeated and resumed.
 *
 * @module
 */
import {
  ABSENT_TEXT,
  HAPPENED_TEXT,
  type JsonObject,
  type Message,
  NOT_DISPATCHED_TEXT,
  NOT_STARTED_TEXT,
  OUTCOME_UNKNOWN_TEXT,
  type StreamChunk,
} from "../../event/mod.ts";
import type { Model, ModelRequest } from "../../model/model.ts";
import { callChunks, textChunks } from "./chunks.ts";
import { demoSummary } from "./demo_summary.ts";

/** What the log says of a call whose turn ended before it began. */
const WITHDRAWN_TEXT = "Error: tool call aborted before dispatch";
/** How much of a result's first line is repeated in the answer, in UTF-16 units. */
const OUTCOME_LENGTH_MAX = 120;

/** The sentences it knows, with the tool that each needs. */
const SENTENCES: readonly (readonly [tool: string, sentence: string])[] = [
  ["list_files", "list the files"],
  ["read_file", "read notes.txt"],
  ["write_file", "write hello to notes.txt"],
  ["delete_file", "delete notes.txt"],
  ["http_request", "get http://127.0.0.1:8080/"],
  ["http_request", "post some text to http://127.0.0.1:8080/"],
  ["http_request", "pay 10 to alice at http://127.0.0.1:8080"],
  ["pay", "pay 10 to alice"],
  ["shell", "run ls -l"],
  ["shell", "run touch made.txt in workspace-write because I want the file"],
];

/** What can be said where these tools are. */
function help(offered: ReadonlySet<string>): string {
  return [
    "I am the demo model: no language model is connected, and I understand only a few sentences.",
    "Try one of these, or two of them joined by “and”:",
    "",
    ...SENTENCES.filter(([tool]) => offered.has(tool)).map(([, sentence]) => `- ${sentence}`),
  ].join("\n");
}

/**
 * Makes the demo model.
 *
 * @example
 * ```ts
 * import { demo } from "./demo.ts";
 *
 * const request = {
 *   sessionId: "s",
 *   header: { config: { provider: "demo", model: "demo" }, tools: [{ name: "read_file", description: "", parameters: {} }] },
 *   messages: [{ id: "m", role: "user" as const, content: [{ type: "text" as const, text: "read a.txt" }], source: { kind: "user" } }],
 * };
 * const chunks = await Array.fromAsync(demo().stream(request, new AbortController().signal));
 * if (!chunks.some((chunk) => chunk.type === "tool-call-delta" && chunk.name === "read_file")) throw new Error("unreachable");
 * ```
 */
export function demo(): Model {
  return {
    provider: "demo",
    id: "demo",
    contextWindow: 32_000,
    async *stream(request, signal) {
      const { text, calls } = decide(request);
      yield* words(text, 0);
      let index = text === "" ? 0 : 1;
      const firstNumber = callBlocks(request.messages).length + 1;
      for (const [position, call] of calls.entries()) {
        if (signal.aborted) throw signal.reason;
        const id = `call_${firstNumber + position}`;
        yield* callChunks(index++, { id, name: call.name, args: JSON.stringify(call.arguments) });
      }
      yield { type: "usage", usage: { inputTokens: tokensOf(request.messages), outputTokens: tokens(text) } };
      yield { type: "finish", reason: { kind: calls.length > 0 ? "tool-calls" : "stop" } };
    },
  };
}

interface Decision {
  readonly text: string;
  readonly calls: readonly Call[];
}

interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
}

function decide(request: ModelRequest): Decision {
  if (request.purpose === "compaction") return { text: demoSummary(request.messages.slice(0, -1)), calls: [] };
  // What plugins add, such as a snapshot of the policy behind the prompt, is no request.
  const last = request.messages.findLast((message) => message.source.kind !== "plugin");
  if (last !== undefined && isResult(last)) return { text: report(request.messages), calls: [] };
  const offered = new Set(request.header.tools?.map((tool) => tool.name));
  const said = last === undefined || last.role !== "user" ? "" : textOf(last);
  if (/^(please )?(continue|go on|what happened|and\?)/i.test(said.trim())) {
    return { text: report(request.messages) || help(offered), calls: [] };
  }
  const clauses = said.trim().split(CLAUSE_END);
  const calls = clauses.map((clause) => understand(clause, offered));
  const understood = calls.filter((call) => call !== null);
  if (understood.length === 0) return { text: bankless(said, offered) ?? help(offered), calls: [] };
  const missing = understood.find((call) => !offered.has(call.name));
  if (missing !== undefined) {
    return { text: `I am the demo model. That needs the tool ${missing.name}, which I do not have here.`, calls: [] };
  }
  const lost = clauses.filter((_, index) => calls[index] === null);
  const remark = lost.length === 0 ? "" : ` I did not understand “${lost.join("”, “")}”.`;
  return { text: `I am the demo model, and I will try.${remark}`, calls: understood };
}

/** "and" ends a clause only before a verb we know, so that a text may hold the word. */
const CLAUSE_END =
  /\s*[,;]?\s+(?:and then|and|then)\s+(?=(?:list|read|show|write|delete|remove|pay|get|fetch|post|run)\b)/i;

function understand(clause: string, offered: ReadonlySet<string>): Call | null {
  const text = clause.trim().replace(/^please\s+/i, "").replace(/[.!]$/, "");
  let found: RegExpMatchArray | null;
  if ((found = text.match(/^list(?: (?:all|the|my))* files(?: (?:in|of) (\S+))?$/i))) {
    return { name: "list_files", arguments: { path: found[1] ?? "." } };
  }
  if ((found = text.match(/^(?:read|show)(?: the file)? (\S+)$/i))) {
    return { name: "read_file", arguments: { path: found[1]! } };
  }
  if ((found = text.match(/^write ([^]+) (?:to|into) (\S+)$/i))) {
    return { name: "write_file", arguments: { path: found[2]!, content: unquoted(found[1]!) } };
  }
  if ((found = text.match(/^(?:delete|remove)(?: the file)? (\S+)$/i))) {
    return { name: "delete_file", arguments: { path: found[1]! } };
  }
  if ((found = text.match(/^pay (\d+(?:\.\d+)?) to (\S+) at (\S+)$/i))) {
    const payment = { amount: Number(found[1]), to: found[2]! };
    const url = paymentUrl(found[3]!);
    return url === null ? null : { name: "http_request", arguments: post(url, JSON.stringify(payment), true) };
  }
  if (offered.has("pay") && (found = text.match(/^pay (\d+(?:\.\d+)?) to (\S+)$/i))) {
    return { name: "pay", arguments: { to: found[2]!, amount: found[1]! } };
  }
  if (
    offered.has("shell") &&
    (found = text.match(/^run ([^]+?)(?: in (workspace-write|danger-full-access) because ([^]+))?$/i))
  ) {
    const [, command, mode, justification] = found;
    const wider = mode === undefined ? {} : { sandbox_permissions: mode.toLowerCase(), justification: justification! };
    return { name: "shell", arguments: { command: command!, ...wider } };
  }
  if ((found = text.match(/^(?:get|fetch) (https?:\S+)$/i))) {
    return { name: "http_request", arguments: { method: "GET", url: found[1]! } };
  }
  if ((found = text.match(/^post ([^]+) to (https?:\S+)$/i))) {
    return { name: "http_request", arguments: post(found[2]!, unquoted(found[1]!), false) };
  }
  return null;
}

/** A payment that says nowhere to pay, where there is no bank: what to type instead. `null` for anything else. */
function bankless(said: string, offered: ReadonlySet<string>): string | null {
  const payment = said.trim().match(/^(?:please\s+)?(pay \d+(?:\.\d+)? to \S+?)[.!]?$/i)?.[1];
  if (payment === undefined || offered.has("pay")) return null;
  return [
    "I am the demo model. There is no bank here that I know of.",
    ...(offered.has("http_request")
      ? [`If you run one that takes HTTP, say where it is: “${payment} at http://127.0.0.1:8080”.`]
      : []),
    "A pretend bank is built into the page that `deno task start` opens, and into `deno task demo`.",
  ].join("\n");
}

function post(url: string, body: string, isJson: boolean): JsonObject {
  const type = isJson ? "application/json" : "text/plain; charset=utf-8";
  return { method: "POST", url, headers: { "content-type": type }, body };
}

/** A bank named by its origin alone takes payments at /payments. */
function paymentUrl(text: string): string | null {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.pathname === "/") url.pathname = "/payments";
  return url.href;
}

function unquoted(text: string): string {
  return text.trim().replace(/^["“](.*)["”]$/s, "$1");
}

/**
 * What became of the calls of the newest message that proposed some, a short sentence each; "" when there was none. Calls and
 * results are on the screen already.
 */
function report(messages: readonly Message[]): string {
  const calling = messages.findLastIndex((message) => callBlocks([message]).length > 0);
  if (calling < 0) return "";
  const results = messages.slice(calling + 1).flatMap((message) =>
    message.content.filter((block) => block.type === "tool-result")
  );
  const sentences = callBlocks([messages[calling]!]).map(({ id }) => {
    const result = results.find((result) => result.toolCallId === id);
    const text = (result?.content ?? []).map((block) => block.type === "text" ? block.text : "").join("\n");
    return verdict(text, result?.isError === true);
  });
  return sentences.length === 1 ? sentences[0]! : sentences.map((text, index) => `${index + 1}. ${text}`).join("\n");
}

function verdict(text: string, isError: boolean): string {
  switch (text) {
    case NOT_STARTED_TEXT:
    case NOT_DISPATCHED_TEXT:
      return "The crash came before it ran: it had no effect. Ask again if you still want it.";
    case WITHDRAWN_TEXT:
      return "It was cut off before it ran: it had no effect. Ask again if you still want it.";
    case OUTCOME_UNKNOWN_TEXT:
      return "I cannot know whether it happened. Check before you ask for it again.";
    case HAPPENED_TEXT:
      return "It happened, although the answer was lost.";
    case ABSENT_TEXT:
      return "It did not happen. Ask again if you still want it.";
    default:
      return isError ? `That did not work: ${beginning(text.replace(/^Error: /, ""))}` : `Done: ${beginning(text)}`;
  }
}

/** The first line, cut where it is long. */
function beginning(text: string): string {
  const [line = "", ...rest] = text.split("\n");
  const isCut = line.length > OUTCOME_LENGTH_MAX || rest.some((more) => more !== "");
  return isCut ? `${line.slice(0, OUTCOME_LENGTH_MAX).trimEnd()} …` : line;
}

function* words(text: string, index: number): Generator<StreamChunk> {
  if (text !== "") yield* textChunks(index, text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text]);
}

function isResult(message: Message): boolean {
  return message.content.some((block) => block.type === "tool-result");
}

function callBlocks(messages: readonly Message[]) {
  return messages.flatMap((message) => message.content.filter((block) => block.type === "tool-call"));
}

function textOf(message: Message): string {
  return message.content.map((block) => block.type === "text" ? block.text : "").join("\n");
}

/** A word is about a token: enough for a demo to show that tokens are counted. */
function tokens(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokens(textOf(message)), 0);
}
