/**
 * A tool of a server as a tool of ours.
 *
 * What the server says about its tools' harmlessness is a stranger's hint and decides nothing: a call asks first, and a call
 * that was cut short is unknown, unless whoever connects the server declares something else.
 *
 * @module
 */
import type { EffectClass, JsonObject, JsonValue } from "../event/mod.ts";
import {
  defineTool,
  INVALID_ARGS,
  INVALID_TOOL_OUTPUT,
  outcomeUnknown,
  type Tool,
  type ToolCall,
  type ToolDefinition,
  ToolError,
  type ToolOutput,
  type ToolTraits,
} from "../tool/mod.ts";
import { McpUnavailableError } from "../errors.ts";
import { callFailure } from "./call_failure.ts";
import { type McpAnswer, readAnswer } from "./content.ts";
import { isJsonRecord } from "./json_record.ts";
import type { Link } from "./link.ts";
import { MCP_CALLS_MAX, MCP_FAILURE_SIZE_MAX, MCP_STRUCTURED_SIZE_MAX } from "./limits.ts";
import { toldText } from "./told_text.ts";
import type { ListedTool } from "./tool_list.ts";

/** The code of a failure that the tool itself reported, in the log. */
export const MCP_TOOL_FAILED = "MCP_TOOL_FAILED";

/** Where a request carries the id of its call (`_meta`). */
export const CALL_ID_META = "holdfast/callId";
/** Where a request carries the effect key of its call (`_meta`): what a server that knows it can deduplicate by. */
export const EFFECT_KEY_META = "holdfast/effectKey";

/** What whoever connects a server knows about one of its tools, and vouches for. */
export interface McpToolDeclaration {
  /** Default "opaque". "keyed" only for a server that deduplicates by the effect key in `_meta`. */
  readonly effect?: EffectClass | ((args: JsonValue) => EffectClass);
  /** Default: every call asks, also of a tool whose effect is declared as "none". */
  readonly permission?: ToolTraits["permission"];
  /** Finds out what became of a call whose outcome is unknown. Default: nobody can tell. */
  readonly reconcile?: ToolDefinition["reconcile"];
  /** In milliseconds. Default: that of the server. */
  readonly timeoutMs?: number;
  /** See `ToolTraits`. Default: never. */
  readonly isConcurrencySafe?: ToolTraits["isConcurrencySafe"];
}

/** What a tool is made from. */
export interface McpToolParts {
  readonly server: string;
  readonly link: Link;
  readonly listed: ListedTool;
  readonly declaration: McpToolDeclaration;
  readonly timeoutMs: number;
  /** Calls of the server that are under way. */
  readonly underway: Set<ToolCall>;
}

/**
 * Makes the tool.
 *
 * Its body connects when the connection was lost, sends the call once, and never again. Where the server died, answered nonsense
 * or ran out of time after the call was sent, it ends with `TOOL_OUTCOME_UNKNOWN`.
 *
 * @throws {RangeError} when a declared `timeoutMs` is out of its range
 *
 * @example
 * ```ts
 * import { type McpToolParts, mcpTool } from "./mcp_tool.ts";
 *
 * function nameOf(parts: McpToolParts): string {
 *   return mcpTool(parts).name; // "bank__pay"
 * }
 * ```
 */
export function mcpTool(parts: McpToolParts): Tool {
  const { server, listed, declaration } = parts;
  const { effect = "opaque", reconcile, isConcurrencySafe, timeoutMs = parts.timeoutMs } = declaration;
  const reason = `call "${toldText(listed.remoteName, 200)}" of the MCP server "${server}"`;
  return defineTool({
    name: listed.name,
    description: listed.description,
    parameters: listed.parameters,
    effect,
    permission: declaration.permission ?? (() => ({ decision: "ask", reason })),
    timeoutMs,
    isConcurrencySafe,
    reconcile,
    execute: (args, call) => execute(args, call, parts),
  });
}

async function execute(args: JsonValue, call: ToolCall, parts: McpToolParts): Promise<ToolOutput> {
  const { server, underway, listed } = parts;
  if (!isJsonRecord(args)) throw new ToolError(INVALID_ARGS, "invalid arguments: expected an object");
  if (underway.size >= MCP_CALLS_MAX) {
    const found = `${MCP_CALLS_MAX} calls are under way; nothing was sent`;
    throw new McpUnavailableError(`Cannot call a tool of MCP server "${server}": ${found}`);
  }
  underway.add(call);
  try {
    const result = await send(args as JsonObject, call, parts);
    const answer = read(result, call, listed);
    if (answer.isError) throw new ToolError(MCP_TOOL_FAILED, failureText(answer));
    await checkOutput(answer, listed);
    return { content: answer.content, meta: { mcp: { server, tool: listed.remoteName, ...structuredFact(answer) } } };
  } finally {
    underway.delete(call);
  }
}

async function send(args: JsonObject, call: ToolCall, { link, listed, server }: McpToolParts): Promise<unknown> {
  const { callId, effectKey, signal, effect } = call;
  const _meta = { [CALL_ID_META]: callId, [EFFECT_KEY_META]: effectKey };
  try {
    await link.connect(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new McpUnavailableError(`Cannot call a tool of MCP server "${server}": cancelled before it was sent`);
  }
  try {
    return await link.send(
      { method: "tools/call", params: { name: listed.remoteName, arguments: args, _meta } },
      signal,
    );
  } catch (error) {
    const { kind, found, isForgotten } = callFailure(error);
    if (isForgotten) await link.drop();
    if (kind === "not-run") {
      throw new McpUnavailableError(`Cannot call "${listed.name}": ${found}. It did not run`, { cause: error });
    }
    if (effect === "none") throw signal.aborted ? signal.reason : new Error(`Cannot call "${listed.name}": ${found}`);
    const said = signal.aborted ? "the call was cancelled while it was under way" : `no result came: ${found}`;
    throw outcomeUnknown(`${said}. ${UNKNOWN}`, error);
  }
}

const UNKNOWN = "Whether it took effect is unknown: check before repeating it.";

/** An answer that makes no sense came from a tool that may have run. */
function read(result: unknown, { effect }: ToolCall, { name }: ListedTool): McpAnswer {
  try {
    return readAnswer(result);
  } catch (error) {
    const found = `the server's answer cannot be read: ${toldText(error)}`;
    if (effect === "none") throw new Error(`Cannot call "${name}": ${found}`);
    throw outcomeUnknown(`${found}. ${UNKNOWN}`, error);
  }
}

function failureText({ content }: McpAnswer): string {
  const said = content.flatMap((block) => block.type === "text" ? [block.text] : []).join("\n");
  if (said === "") return "the tool failed and said nothing";
  return said.length > MCP_FAILURE_SIZE_MAX ? `${said.slice(0, MCP_FAILURE_SIZE_MAX)}…` : said;
}

/** A large value stands in the text beside it already; twice it might be too much for the log. */
function structuredFact({ structured }: McpAnswer): { readonly structuredContent?: JsonValue } {
  const isKept = structured !== undefined && JSON.stringify(structured).length <= MCP_STRUCTURED_SIZE_MAX;
  return isKept ? { structuredContent: structured } : {};
}

/** A server that promises a value of some shape is held to it. */
async function checkOutput({ structured }: McpAnswer, { output }: ListedTool): Promise<void> {
  if (output === null) return;
  if (structured === undefined) {
    throw new ToolError(INVALID_TOOL_OUTPUT, "the tool ran; its answer lacks the value that its server promises");
  }
  const check = await output.check(structured);
  if (check.ok) return;
  const problems = check.problems.map(({ path, message }) => `${path || "it"} ${message}`).join("; ");
  throw new ToolError(INVALID_TOOL_OUTPUT, `the tool ran; the value of its answer is not as promised: ${problems}`);
}
