/**
 * What a server lists, read as a stranger's: names that a provider takes, schemas that can be checked, bounded texts.
 *
 * Pure. A tool that cannot be taken is told with its reason and harms no other.
 *
 * @module
 */
import type { JsonObject } from "../event/mod.ts";
import { type CompiledSchema, compileSchema } from "../tool/mod.ts";
import { isJsonRecord, type JsonRecord } from "./json_record.ts";
import { MCP_DESCRIPTION_SIZE_MAX, MCP_SERVER_NAME_MAX } from "./limits.ts";
import { toldText } from "./told_text.ts";

/** Between the name of a server and that of its tool. */
const SEPARATOR = "__";
/** The longest name of a tool that providers take. */
const TOOL_NAME_MAX = 64;

/** A tool as a server lists it, checked. */
export interface ListedTool {
  /** As the model calls it: server and tool. */
  readonly name: string;
  /** As the server calls it. */
  readonly remoteName: string;
  /** The server's words, and whose they are. */
  readonly description: string;
  /** What the arguments must be. */
  readonly parameters: JsonObject;
  /** What its value must be; `null` when it promises nothing. */
  readonly output: CompiledSchema | null;
}

/** A tool of a server that is not offered. */
export interface RefusedMcpTool {
  /** As the server calls it, cut where it is too long; empty when it has no name. */
  readonly remoteName: string;
  /**
   * - `NAME_COLLISION`: another tool of this server has the same name, or would be called the same
   * - `NAME_TOO_LONG`: with the server's name before it, it has over 64 characters
   * - `INVALID_TOOL`: it has no name, or a schema that cannot be checked
   */
  readonly code: "NAME_COLLISION" | "NAME_TOO_LONG" | "INVALID_TOOL";
  /** What was found, for a person. */
  readonly reason: string;
}

/** A list of tools, sorted out. */
export interface SortedTools {
  readonly tools: readonly ListedTool[];
  readonly refused: readonly RefusedMcpTool[];
}

/**
 * Checks the name of a server: 1 to MCP_SERVER_NAME_MAX of `A-Z a-z 0-9 _ -`, without `__`, so that the name of a tool can be
 * read in one way only.
 *
 * @throws {TypeError}
 *
 * @example
 * ```ts
 * import { checkServerName } from "./tool_list.ts";
 *
 * checkServerName("bank");
 * ```
 */
export function checkServerName(name: string): void {
  const isFine = /^[A-Za-z0-9_-]+$/.test(name) && name.length <= MCP_SERVER_NAME_MAX && !name.includes(SEPARATOR) &&
    !name.endsWith("_");
  if (isFine) return;
  throw new TypeError(
    `Cannot name an MCP server "${name}": a name is 1 to ${MCP_SERVER_NAME_MAX} of A-Z a-z 0-9 _ -, without "${SEPARATOR}", ` +
      'and does not end with "_"',
  );
}

/**
 * Sorts out what a server lists. Characters that no provider takes become `_`; tools that would then be called the same are all
 * refused, because which of them was meant could change from one list to the next.
 *
 * @example
 * ```ts
 * import { sortTools } from "./tool_list.ts";
 *
 * const schema = { inputSchema: { type: "object" } };
 * const { tools, refused } = sortTools("fs", [{ name: "read", ...schema }, { name: "a.b", ...schema }, { name: "a/b", ...schema }]);
 * if (tools.length !== 1 || tools[0]?.name !== "fs__read") throw new Error("unreachable");
 * if (refused.some(({ code }) => code !== "NAME_COLLISION") || refused.length !== 2) throw new Error("unreachable");
 * ```
 */
export function sortTools(server: string, listed: readonly unknown[]): SortedTools {
  const found = listed.map((value) => readTool(server, value));
  const counts = new Map<string, number>();
  for (const { name } of found) counts.set(name, (counts.get(name) ?? 0) + 1);
  const tools: ListedTool[] = [];
  const refused: RefusedMcpTool[] = [];
  for (const tool of found) {
    if (tool.name !== "" && counts.get(tool.name)! > 1) {
      const reason = `${counts.get(tool.name)} tools of the server would be called "${tool.name}"`;
      refused.push({ remoteName: toldText(tool.remoteName, 200), code: "NAME_COLLISION", reason });
    } else if ("code" in tool) {
      const { remoteName, code, reason } = tool;
      refused.push({ remoteName: toldText(remoteName, 200), code, reason });
    } else tools.push(tool);
  }
  return { tools, refused };
}

type Read = ListedTool | RefusedMcpTool & { readonly name: string };

function readTool(server: string, value: unknown): Read {
  if (!isJsonRecord(value) || typeof value.name !== "string" || value.name === "") {
    return { name: "", remoteName: "", code: "INVALID_TOOL", reason: "it has no name" };
  }
  const remoteName = value.name;
  const name = `${server}${SEPARATOR}${remoteName.replace(/[^A-Za-z0-9_-]/g, "_")}`;
  if (name.length > TOOL_NAME_MAX) {
    const reason = `"${toldText(name, 200)}" has ${name.length} characters, and at most ${TOOL_NAME_MAX} are taken`;
    return { name, remoteName, code: "NAME_TOO_LONG", reason };
  }
  try {
    return {
      name,
      remoteName,
      description: descriptionOf(server, value),
      parameters: compileSchema(schemaOf(value.inputSchema), `the parameters of "${name}"`).jsonSchema,
      output: value.outputSchema === undefined
        ? null
        : compileSchema(schemaOf(value.outputSchema), `the output of "${name}"`),
    };
  } catch (error) {
    return { name, remoteName, code: "INVALID_TOOL", reason: toldText(error) };
  }
}

function descriptionOf(server: string, { description, title }: JsonRecord): string {
  const said = [title, description].filter((part): part is string => typeof part === "string" && part !== "");
  return `[tool of the server "${server}"] ${toldText(said.join(": "), MCP_DESCRIPTION_SIZE_MAX)}`.trim();
}

function schemaOf(schema: unknown): JsonObject {
  if (!isJsonRecord(schema)) throw new TypeError("its schema is no object");
  // A member of this name would make it look like a validator of ours, whose functions are called.
  const { "~standard": _, ...plain } = schema;
  return plain as JsonObject;
}
