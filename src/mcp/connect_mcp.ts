/**
 * Connects a server of tools (Model Context Protocol) and makes its tools ours.
 *
 * @see https://modelcontextprotocol.io/specification
 * @module
 */
import type { Transport } from "@modelcontextprotocol/client";
import { systemClock } from "../entry/system.ts";
import { McpUnavailableError } from "../errors.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { Tool, ToolCall } from "../tool/mod.ts";
import { type McpEndpoint, transportTo } from "./endpoint.ts";
import { isJsonRecord } from "./json_record.ts";
import { Link } from "./link.ts";
import { MCP_CALL_TIMEOUT_MS, MCP_CONNECT_TIMEOUT_MS, MCP_LIST_PAGES_MAX, MCP_TOOLS_MAX } from "./limits.ts";
import { mcpTool, type McpToolDeclaration } from "./mcp_tool.ts";
import { toldText } from "./told_text.ts";
import { checkServerName, type RefusedMcpTool, sortTools } from "./tool_list.ts";

/** How a server is connected. */
export interface McpOptions {
  /**
   * What it is called here: 1 to MCP_SERVER_NAME_MAX of `A-Z a-z 0-9 _ -`, without `__`. Its tools are `name__tool`; they keep their
   * names only as long as it does, and a log knows them by these names.
   */
  readonly name: string;
  /** Where it is. */
  readonly endpoint: McpEndpoint;
  /** What you know about its tools, by the server's names for them. Default: nothing, so that each call asks. */
  readonly declarations?: Readonly<Record<string, McpToolDeclaration>>;
  /** Only these tools are offered, by the server's names for them. Default: all. */
  readonly only?: readonly string[];
  /** Default MCP_CONNECT_TIMEOUT_MS. */
  readonly connectTimeoutMs?: number;
  /** Default MCP_CALL_TIMEOUT_MS. */
  readonly callTimeoutMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Ends the connecting. */
  readonly signal?: AbortSignal;
}

/** A connected server. */
export interface McpServer extends AsyncDisposable {
  /** What it is called here. */
  readonly name: string;
  /** Its tools, for `createAgent`. They are those of the first list: what the server lists later does not change them. */
  readonly tools: readonly Tool[];
  /** Which of its tools are not offered, and why. */
  readonly refused: readonly RefusedMcpTool[];
  /** Whether there is a connection now. A lost one is made again before the next call. */
  readonly isConnected: boolean;
  /** Ends the connection, and a server that was started here. Calls that are under way are then unknown. */
  close(): Promise<void>;
}

/**
 * Connects a server and reads its list of tools.
 *
 * Each of its tools asks before every call, counts as "opaque", and is unknown after a crash, whatever the server says about it.
 * `declarations` can say otherwise, for those you vouch for. The server is given the id and the effect key of each call in
 * `_meta`, and no capabilities: it can ask nothing of the model or the person.
 *
 * @throws {McpUnavailableError} when it cannot be reached, takes too long, or its list is too long or no list
 * @throws {TypeError} when a name, an address, or a declared tool is none
 * @throws the signal's reason
 *
 * @example
 * ```ts
 * import type { Agent, Model, SessionStore } from "../../mod.ts";
 * import { createAgent } from "../../mod.ts";
 * import { connectMcp } from "./connect_mcp.ts";
 *
 * async function withBank(store: SessionStore, model: Model, path: string): Promise<Agent> {
 *   const bank = await connectMcp({
 *     name: "bank",
 *     endpoint: { command: "node", args: ["bank.mjs"], env: { PATH: path } },
 *     declarations: { balance: { effect: "none", permission: () => ({ decision: "allow" }) } },
 *   });
 *   return createAgent({ store, model, tools: bank.tools });
 * }
 * ```
 */
export async function connectMcp(options: McpOptions): Promise<McpServer> {
  const { name, endpoint, declarations = {}, only, clock = systemClock } = options;
  const { connectTimeoutMs = MCP_CONNECT_TIMEOUT_MS, callTimeoutMs = MCP_CALL_TIMEOUT_MS } = options;
  checkServerName(name);
  // The first is made now, so that an address that is none is the caller's mistake.
  let first: Transport | null = transportTo(endpoint, clock);
  const transport = () => {
    const made = first ?? transportTo(endpoint, clock);
    first = null;
    return made;
  };
  const link = new Link({ name, transport, connectTimeoutMs, clock });
  const deadline = new AbortController();
  const stopTimer = clock.schedule(connectTimeoutMs, () => deadline.abort());
  const signal = AbortSignal.any([deadline.signal, ...options.signal === undefined ? [] : [options.signal]]);
  try {
    await link.connect(signal);
    const { tools: listed, refused } = sortTools(name, await listOf(link, name, signal));
    const offered = listed.filter(({ remoteName }) => only === undefined || only.includes(remoteName));
    const wanted = [...only ?? [], ...Object.keys(declarations)];
    const missing = wanted.find((each) => !offered.some(({ remoteName }) => remoteName === each));
    if (missing !== undefined) {
      throw new TypeError(`Cannot use tool "${missing}" of MCP server "${name}": the server offers none of this name`);
    }
    const underway = new Set<ToolCall>();
    const tools = offered.map((listed) =>
      mcpTool({
        ...{ server: name, link, listed, timeoutMs: callTimeoutMs, underway },
        declaration: Object.hasOwn(declarations, listed.remoteName) ? declarations[listed.remoteName]! : {},
      })
    );
    return connected(link, name, tools, refused);
  } catch (error) {
    await link.close();
    options.signal?.throwIfAborted();
    if (!deadline.signal.aborted) throw error;
    throw unavailable(name, `it did not answer within ${connectTimeoutMs} ms`, error);
  } finally {
    stopTimer();
  }
}

function connected(link: Link, name: string, tools: readonly Tool[], refused: McpServer["refused"]): McpServer {
  return Object.freeze({
    ...{ name, tools, refused },
    get isConnected() {
      return link.isConnected;
    },
    close: () => link.close(),
    [Symbol.asyncDispose]: () => link.close(),
  });
}

/** The whole list, page by page, unchecked but for its bounds. */
async function listOf(link: Link, name: string, signal: AbortSignal): Promise<unknown[]> {
  const found: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MCP_LIST_PAGES_MAX; pages++) {
    const page = await pageOf(link, name, cursor, signal);
    if (!isJsonRecord(page) || !Array.isArray(page.tools)) throw unavailable(name, "its list of tools is no list");
    found.push(...page.tools.slice(0, MCP_TOOLS_MAX + 1));
    if (found.length > MCP_TOOLS_MAX) throw unavailable(name, `it lists over ${MCP_TOOLS_MAX} tools`);
    if (typeof page.nextCursor !== "string") return found;
    cursor = page.nextCursor;
  }
  throw unavailable(name, `its list of tools has over ${MCP_LIST_PAGES_MAX} pages`);
}

async function pageOf(link: Link, name: string, cursor: string | undefined, signal: AbortSignal): Promise<unknown> {
  try {
    return await link.send({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw unavailable(name, `it does not list its tools: ${toldText(error)}`, error);
  }
}

function unavailable(name: string, found: string, cause?: unknown): McpUnavailableError {
  return new McpUnavailableError(`Cannot connect MCP server "${name}": ${found}`, { cause });
}
