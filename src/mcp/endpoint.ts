/**
 * Where a server of tools is: a command that is started here, or an address.
 *
 * @module
 */
import type { Transport } from "@modelcontextprotocol/client";
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../runtime/runtime.ts";
import { boundedFetch } from "./bounded_fetch.ts";
import { HttpTransport } from "./http_transport.ts";
import { MCP_MESSAGE_SIZE_BYTES_MAX } from "./limits.ts";

/** A server that is a process of its own and speaks through its standard input and output. */
export interface McpCommand {
  /** The program: a path, or a name that is looked up in the `PATH` of `env`. */
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /**
   * The whole environment of the process: nothing is inherited. Most programs want at least `PATH` and `HOME`. Default: empty.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the current folder. */
  readonly cwd?: string;
  /** Told what it writes to standard error, as it comes. It is a stranger's text. Default: nobody is. */
  readonly onStderr?: (text: string) => void;
}

/** A server that is reached by streamable HTTP. */
export interface McpAddress {
  /** `http:` or `https:`, the one endpoint of the server. */
  readonly url: string | URL;
  /** Sent with every request, such as `authorization`. No tool and no log ever sees them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends the requests. Default: the runtime's. Redirects are not followed. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Where a server is. */
export type McpEndpoint = McpCommand | McpAddress;

/**
 * A new connection to an endpoint, not started.
 *
 * @throws {TypeError} when the address is no address of the web
 *
 * @example
 * ```ts
 * import { systemClock } from "../entry/system.ts";
 * import { transportTo } from "./endpoint.ts";
 *
 * const transport = transportTo({ url: "http://127.0.0.1:1/mcp" }, systemClock);
 * await transport.close();
 * ```
 */
export function transportTo(endpoint: McpEndpoint, clock: Clock): Transport {
  return "command" in endpoint ? processTransport(endpoint) : httpTransport(endpoint, clock);
}

function processTransport({ command, args = [], env = {}, cwd, onStderr }: McpCommand): Transport {
  // The transport adds some variables of ours to those it is given. One that is given as undefined is not there.
  const none = Object.fromEntries(DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined]));
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...none, ...env } as Record<string, string>,
    stderr: onStderr === undefined ? "ignore" : "pipe",
    cwd,
    maxBufferSize: MCP_MESSAGE_SIZE_BYTES_MAX,
  });
  if (onStderr !== undefined) {
    const decoder = new TextDecoder();
    transport.stderr?.on("data", (chunk: Uint8Array) => onStderr(decoder.decode(chunk, { stream: true })));
  }
  return transport;
}

function httpTransport({ url, headers = {}, fetch = globalThis.fetch }: McpAddress, clock: Clock): Transport {
  if (!URL.canParse(url)) throw new TypeError(`Cannot reach MCP server "${url}": it is no address`);
  const address = new URL(url);
  if (address.protocol !== "http:" && address.protocol !== "https:") {
    throw new TypeError(`Cannot reach MCP server "${address.href}": found ${address.protocol}, wanted http: or https:`);
  }
  return new HttpTransport(address, { headers, fetch: boundedFetch(fetch, MCP_MESSAGE_SIZE_BYTES_MAX), clock });
}
