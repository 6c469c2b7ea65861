/**
 * A folder of the origin's private file system that the agent may read and write.
 *
 * @module
 */
import { INVALID_ARGS, type Tool, ToolError } from "../../mod.ts";
import { fileTools, LIST_ENTRIES_MAX, type Listing } from "../../src/tools/file_tools.ts";
import type { FileChange } from "./questions.ts";

/** What is used of a file of the browser. */
export interface WorkspaceFile {
  readonly kind: "file";
  getFile(): Promise<Blob>;
  createWritable(): Promise<{ write(bytes: Uint8Array<ArrayBuffer>): Promise<void>; close(): Promise<void> }>;
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
 * Writing replaces the whole file at once: a crash leaves the old content or the new one.
 */
export function workspaceTools(open: OpenWorkspace): Tool[] {
  return fileTools({
    list: (path) => list(open, path),
    async read(path, offsetBytes, sizeBytes) {
      const file = await fileAt(open, path);
      if (file === null) throw new Error(`Cannot read "${path}": there is no such file`);
      const part = await file.slice(offsetBytes, offsetBytes + sizeBytes).arrayBuffer();
      return { bytes: new Uint8Array(part), sizeBytes: file.size };
    },
    async write(path, bytes) {
      const { folder, name } = await place(open, path, true);
      const writable = await (await folder.getFileHandle(name, { create: true })).createWritable();
      await writable.write(bytes);
      await writable.close();
    },
    async holds(path, bytes) {
      const file = await fileAt(open, path);
      if (file?.size !== bytes.length) return false;
      const found = new Uint8Array(await file.arrayBuffer());
      return found.every((byte, at) => byte === bytes[at]);
    },
    async remove(path) {
      try {
        const { folder, name } = await place(open, path, false);
        await folder.removeEntry(name);
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    },
  });
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
  const before = await (await fileAt(open, path))?.text() ?? null;
  return { path, before, after: content };
}

async function list(open: OpenWorkspace, path: string): Promise<Listing> {
  const lines: string[] = [];
  let folder: WorkspaceFolder;
  try {
    folder = await open(false);
    for (const part of partsOf(path)) folder = await folder.getDirectoryHandle(part);
  } catch (error) {
    if (!isMissing(error)) throw error;
    // The workspace is made by the first write.
    if (partsOf(path).length === 0) return { lines, total: 0 };
    throw new Error(`Cannot list "${path}": there is no such folder`);
  }
  for await (const [name, { kind }] of folder.entries()) lines.push(kind === "directory" ? `${name}/` : name);
  return { lines: lines.sort().slice(0, LIST_ENTRIES_MAX), total: lines.length };
}

/** A file; `null` when there is none. */
async function fileAt(open: OpenWorkspace, path: string): Promise<Blob | null> {
  try {
    const { folder, name } = await place(open, path, false);
    return await (await folder.getFileHandle(name)).getFile();
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
