/**
 * A folder of the origin's private file system that the agent may read and write.
 *
 * @module
 */
import { defineTool, INVALID_ARGS, readArguments, type Tool, ToolError } from "../../mod.ts";
import type { FileChange } from "./questions.ts";

/** How much of a file one call reads, in characters. */
export const READ_LENGTH_MAX = 256 * 1024;
/** How much one call writes, in characters. */
export const WRITE_LENGTH_MAX = 4 * 1024 * 1024;
/** How many entries of a folder one call lists. */
export const LIST_ENTRIES_MAX = 1_000;

const PATH = { type: "string", description: "Path in the workspace, such as notes/today.txt" };

/** What is used of a file of the browser. */
export interface WorkspaceFile {
  readonly kind: "file";
  getFile(): Promise<{ readonly size: number; text(): Promise<string> }>;
  createWritable(): Promise<{ write(text: string): Promise<void>; close(): Promise<void> }>;
}

/** What is used of a folder of the browser. */
export interface WorkspaceFolder {
  readonly kind: "directory";
  getDirectoryHandle(name: string, options?: { readonly create?: boolean }): Promise<WorkspaceFolder>;
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<WorkspaceFile>;
  removeEntry(name: string): Promise<void>;
  entries(): AsyncIterable<[string, WorkspaceFile | WorkspaceFolder]>;
}

/** Opens the folder, and makes it when `create` says so and it is not there. Rejects with a `NotFoundError` otherwise. */
export type OpenWorkspace = (create: boolean) => Promise<WorkspaceFolder>;

/** The folder `name` below the origin's root. */
export function opfsWorkspace(name: string): OpenWorkspace {
  return async (create) => {
    const root = await navigator.storage.getDirectory();
    return await root.getDirectoryHandle(name, { create }) as unknown as WorkspaceFolder;
  };
}

/**
 * Makes the tools `list_files`, `read_file`, `write_file` and `delete_file` for a workspace.
 *
 * Reading and listing run unasked. Writing replaces the whole file at once: a crash leaves the old content or the new one.
 */
export function workspaceTools(open: OpenWorkspace): Tool[] {
  const parameters = { type: "object", properties: { path: PATH }, required: ["path"] };
  return [
    defineTool({
      name: "list_files",
      description: "Lists a folder of the workspace, one entry per line; folders end in a slash.",
      parameters: { type: "object", properties: { path: { ...PATH, description: "Folder; default the workspace" } } },
      effect: "none",
      execute: (args) => list(open, readArguments(args, { path: "string?" }).path ?? "."),
    }),
    defineTool({
      name: "read_file",
      description: `Reads a text file of the workspace, at most ${READ_LENGTH_MAX} characters of it.`,
      parameters,
      effect: "none",
      execute: async (args) => {
        const { path } = readArguments(args, { path: "string" });
        const text = await readText(open, path);
        if (text === null) throw new Error(`Cannot read "${path}": there is no such file`);
        return text.length > READ_LENGTH_MAX ? `${text.slice(0, READ_LENGTH_MAX)}\n[the file goes on]` : text;
      },
    }),
    defineTool({
      name: "write_file",
      description: "Writes a text file of the workspace, replacing what was there. Missing folders are made.",
      parameters: {
        type: "object",
        properties: { path: PATH, content: { type: "string" } },
        required: ["path", "content"],
      },
      effect: "idempotent",
      permission: (args) => {
        const { path, content } = readArguments(args, { path: "string", content: "string" });
        return { decision: "ask", reason: `write ${content.length} characters to ${JSON.stringify(path)}` };
      },
      execute: async (args) => {
        const { path, content } = readArguments(args, { path: "string", content: "string" });
        if (content.length > WRITE_LENGTH_MAX) {
          throw new ToolError(INVALID_ARGS, `invalid arguments: content is over ${WRITE_LENGTH_MAX} characters`);
        }
        const { folder, name } = await place(open, path, true);
        const writable = await (await folder.getFileHandle(name, { create: true })).createWritable();
        await writable.write(content);
        await writable.close();
        return `Wrote ${content.length} characters to ${path}.`;
      },
    }),
    defineTool({
      name: "delete_file",
      description: "Deletes a file of the workspace.",
      parameters,
      effect: "idempotent",
      permission: (args) => {
        return { decision: "ask", reason: `delete ${JSON.stringify(readArguments(args, { path: "string" }).path)}` };
      },
      execute: async (args) => {
        const { path } = readArguments(args, { path: "string" });
        try {
          const { folder, name } = await place(open, path, false);
          await folder.removeEntry(name);
        } catch (error) {
          if (!isMissing(error)) throw error;
          return `There is no ${path}.`;
        }
        return `Deleted ${path}.`;
      },
    }),
  ];
}

/** What a call of one of these tools would change in a file; `null` for one that changes none. */
export async function fileChangeIn(
  open: OpenWorkspace,
  name: string,
  argumentsText: string,
): Promise<FileChange | null> {
  if (name !== "write_file" && name !== "delete_file") return null;
  const { path, content = "" } = JSON.parse(argumentsText) as { readonly path?: unknown; readonly content?: unknown };
  if (typeof path !== "string" || typeof content !== "string") return null;
  const before = await readText(open, path);
  return { path, before, after: content };
}

async function list(open: OpenWorkspace, path: string): Promise<string> {
  const lines: string[] = [];
  let folder: WorkspaceFolder;
  try {
    folder = await open(false);
    for (const part of partsOf(path)) folder = await folder.getDirectoryHandle(part);
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (partsOf(path).length === 0) return "The folder is empty.";
    throw new Error(`Cannot list "${path}": there is no such folder`);
  }
  for await (const [name, { kind }] of folder.entries()) {
    if (lines.length === LIST_ENTRIES_MAX) break;
    lines.push(kind === "directory" ? `${name}/` : name);
  }
  return lines.length === 0 ? "The folder is empty." : lines.sort().join("\n");
}

/** The text of a file; `null` when there is none. */
async function readText(open: OpenWorkspace, path: string): Promise<string | null> {
  try {
    const { folder, name } = await place(open, path, false);
    return await (await (await folder.getFileHandle(name)).getFile()).text();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function place(
  open: OpenWorkspace,
  path: string,
  create: boolean,
): Promise<{ readonly folder: WorkspaceFolder; readonly name: string }> {
  const parts = partsOf(path);
  const name = parts.pop();
  if (name === undefined) throw new ToolError(INVALID_ARGS, `Cannot use "${path}": it names no file`);
  let folder = await open(create);
  for (const part of parts) folder = await folder.getDirectoryHandle(part, { create });
  return { folder, name };
}

/** @throws {ToolError} for a path that leads out of the workspace */
function partsOf(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (path.startsWith("/") || parts.includes("..")) {
    throw new ToolError(INVALID_ARGS, `Cannot use "${path}": it leads out of the workspace`);
  }
  return parts;
}

function isMissing(error: unknown): boolean {
  return typeof error === "object" && error !== null && "name" in error && error.name === "NotFoundError";
}
