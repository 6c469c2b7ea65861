/**
 * Tools of other programs, over the Model Context Protocol. Needs the package `@modelcontextprotocol/client`, and a runtime with
 * processes for servers that are started here.
 *
 * @module
 */
export { connectMcp, type McpOptions, type McpServer } from "./connect_mcp.ts";
export type { McpAddress, McpCommand, McpEndpoint } from "./endpoint.ts";
export { CALL_ID_META, EFFECT_KEY_META, MCP_TOOL_FAILED, type McpToolDeclaration } from "./mcp_tool.ts";
export type { RefusedMcpTool } from "./tool_list.ts";
export {
  MCP_BLOCKS_MAX,
  MCP_CALL_TIMEOUT_MS,
  MCP_CALLS_MAX,
  MCP_CONNECT_TIMEOUT_MS,
  MCP_DESCRIPTION_SIZE_MAX,
  MCP_FAILURE_SIZE_MAX,
  MCP_FAREWELL_TIMEOUT_MS,
  MCP_LIST_PAGES_MAX,
  MCP_MESSAGE_SIZE_BYTES_MAX,
  MCP_MESSAGE_TOLD_MAX,
  MCP_RECONNECT_DELAY_MS_MIN,
  MCP_SERVER_NAME_MAX,
  MCP_STRUCTURED_SIZE_MAX,
  MCP_TOOLS_MAX,
} from "./limits.ts";
