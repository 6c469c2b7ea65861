/**
 * The bounds of what a server of tools may say and take. What it says is a stranger's.
 *
 * @module
 */

/** How many tools of one server are taken. A server that lists more is refused. */
export const MCP_TOOLS_MAX = 512;
/** How many pages its list of tools may have. */
export const MCP_LIST_PAGES_MAX = 64;
/** The longest description of a tool that a model reads, in UTF-16 units. What is longer is cut. */
export const MCP_DESCRIPTION_SIZE_MAX = 8192;
/**
 * The largest message of a server, in bytes. A larger one ends the connection; the call it may have answered is unknown. About as
 * much as a result in the log may have.
 */
export const MCP_MESSAGE_SIZE_BYTES_MAX: number = 8 * 1024 * 1024;
/** How many blocks of one result are kept. The rest is counted. */
export const MCP_BLOCKS_MAX = 1000;
/** How much of what a server says about a failure is told, in UTF-16 units. */
export const MCP_MESSAGE_TOLD_MAX = 2000;
/** How much of what a tool says about its own failure the model reads, in UTF-16 units. */
export const MCP_FAILURE_SIZE_MAX = 50_000;
/** The largest value of an answer that is kept as a fact for whoever shows the call, as JSON, in UTF-16 units. */
export const MCP_STRUCTURED_SIZE_MAX = 65_536;
/** How many calls of one server may be under way at once. One more is refused before it is sent. */
export const MCP_CALLS_MAX = 256;
/** How long connecting may take, the list of tools included, in milliseconds. */
export const MCP_CONNECT_TIMEOUT_MS = 30_000;
/** How long a call may take, in milliseconds. Then it is cancelled at the server, and its outcome is unknown. */
export const MCP_CALL_TIMEOUT_MS = 300_000;
/** The longest name of a server: beside it, the name of a tool must have room. */
export const MCP_SERVER_NAME_MAX = 32;
/** How long to wait at least before a server that let go of a stream is asked for the rest, whatever it says, in milliseconds. */
export const MCP_RECONNECT_DELAY_MS_MIN = 1000;
/** How long the farewell to a server may take, in milliseconds. */
export const MCP_FAREWELL_TIMEOUT_MS = 2000;
