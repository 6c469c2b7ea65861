/**
 * Servers of tools that the command line names.
 *
 * @module
 */
import type { Tool } from "../../mod.ts";
import type { McpEndpoint, McpServer } from "../mcp/mod.ts";
import type { CommandContext } from "./command.ts";
import { printable } from "./printable.ts";
import { type Flag, UsageError } from "./usage.ts";

/** What a program that is started here always gets, when we have it. Everything else is named by a flag. */
const USUAL_ENVIRONMENT: readonly string[] = ["PATH", "HOME", "LANG", "USER", "TMPDIR"];

/** The flags. */
export const MCP_FLAGS: Readonly<Record<string, Flag>> = {
  mcp: { value: "NAME=WHERE", many: true, help: "tools of an MCP server: NAME='command arg…' or NAME=https://…" },
  "mcp-env": { value: "VAR", many: true, help: `hand on this variable to MCP commands, beside ${USUAL_ENVIRONMENT}` },
};

/** Connected servers. */
export interface McpServers extends AsyncDisposable {
  readonly tools: readonly Tool[];
}

/** A server that a flag names. */
export interface WantedServer {
  readonly name: string;
  readonly endpoint: McpEndpoint;
}

/**
 * What the flags name. Connects nothing.
 *
 * @throws {UsageError} when a flag is written wrong
 */
export function wantedServers(context: CommandContext): WantedServer[] {
  return context.args.texts("mcp").map((text) => serverOf(text, context));
}

/**
 * Connects every server that the flags name, and says what it offers.
 *
 * @throws {UsageError} when a flag is written wrong
 * @throws {McpUnavailableError} when a server cannot be connected; those that were are closed
 */
export async function connectServers(context: CommandContext): Promise<McpServers> {
  const { out } = context;
  const wanted = wantedServers(context);
  const servers: McpServer[] = [];
  const close = async () => void await Promise.all(servers.map((server) => server.close()));
  try {
    // Loaded only when it is wanted: it brings a client of some size.
    const { connectMcp } = wanted.length === 0 ? { connectMcp: null } : await import("../mcp/mod.ts");
    for (const { name, endpoint } of wanted) {
      using _ = out.progress(`connecting MCP server ${name}`);
      servers.push(await connectMcp!({ name, endpoint }));
    }
  } catch (error) {
    await close();
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
  for (const { name, tools, refused } of servers) {
    out.note(`MCP server ${name}: ${tools.length} tools; each call asks first`);
    for (const { remoteName, reason } of refused) {
      out.note(`MCP server ${name}: "${printable(remoteName)}" is left out: ${printable(reason)}`);
    }
  }
  return { tools: servers.flatMap(({ tools }) => tools), [Symbol.asyncDispose]: close };
}

function serverOf(text: string, { args, env, cwd }: CommandContext): WantedServer {
  const at = text.indexOf("=");
  const name = text.slice(0, Math.max(at, 0));
  const where = text.slice(at + 1).trim();
  if (name === "" || where === "") throw new UsageError(`Cannot use --mcp "${text}": wanted NAME=COMMAND or NAME=URL`);
  if (/^https?:\/\//.test(where)) return { name, endpoint: { url: where } };
  const [command, ...rest] = wordsOf(where);
  if (command === undefined) throw new UsageError(`Cannot use --mcp "${text}": there is no command`);
  const given = args.texts("mcp-env");
  const missing = given.find((each) => env[each] === undefined);
  if (missing !== undefined) throw new UsageError(`Cannot use --mcp-env "${missing}": there is no such variable`);
  const names = [...USUAL_ENVIRONMENT, ...given];
  const own = Object.fromEntries(names.flatMap((each) => env[each] === undefined ? [] : [[each, env[each]]]));
  return { name, endpoint: { command, args: rest, env: own as Record<string, string>, cwd } };
}

/** Words as a shell would part them, as far as quotes go: nothing is replaced, and no shell is started. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const word = /^(?:[^\s'"]|'[^']*'|"[^"]*")+(?=\s|$)/.exec(rest)?.[0];
    if (word === undefined) throw new UsageError(`Cannot use --mcp: a quote is not closed in ${JSON.stringify(text)}`);
    words.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
    rest = rest.slice(word.length).trimStart();
  }
  return words;
}
