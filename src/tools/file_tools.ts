/**
 * The tools for files of a workspace, over whatever keeps the files.
 *
 * @module
 */
import type { JsonValue } from "../event/mod.ts";
import { defineTool, INVALID_ARGS, readArguments, type Tool, type ToolCall, ToolError } from "../tool/mod.ts";

/** How much of a file one call reads. */
export const READ_SIZE_BYTES_MAX = 256 * 1024;
/** How much one call writes. */
export const WRITE_SIZE_BYTES_MAX = 4 * 1024 * 1024;
/** How many entries of a folder one call lists. */
export const LIST_ENTRIES_MAX = 1000;

/** What the tools need of a place with files. Paths come from a model: each verb refuses those that lead out of the workspace. */
export interface FilePlace {
  /** A line for each entry of a folder, at most LIST_ENTRIES_MAX of them, and how many entries there are. */
  list(path: string): Listing | Promise<Listing>;
  /** At most `sizeBytes` from `offsetBytes` on, and the size of the whole file. */
  read(path: string, offsetBytes: number, sizeBytes: number): FileRange | Promise<FileRange>;
  /** Replaces the whole file at once, durably, and makes the folders that are missing. */
  write(path: string, bytes: Uint8Array<ArrayBuffer>, call: ToolCall): void | Promise<void>;
  /** Whether the file has exactly this content, durably. */
  holds(path: string, bytes: Uint8Array<ArrayBuffer>): boolean | Promise<boolean>;
  /** Removes a file; whether it was there. A place without it has no `delete_file`. */
  remove?(path: string): boolean | Promise<boolean>;
}

/** The entries of a folder, one line each. */
export interface Listing {
  /** Folders end in a slash. */
  readonly lines: readonly string[];
  /** How many entries the folder has. */
  readonly total: number;
}

/** A part of a file. */
export interface FileRange {
  /** What was read. */
  readonly bytes: Uint8Array;
  /** The size of the whole file. */
  readonly sizeBytes: number;
}

const PATH = { type: "string", description: "Path in the workspace, such as notes/today.txt" };

/**
 * Makes the tools `list_files`, `read_file`, `write_file` and, where the place can, `delete_file`.
 *
 * Reading and listing have no effect and run unasked; the others ask first. What became of a write that a crash cut short is
 * looked up in the file.
 *
 * @example
 * ```ts
 * import { fileTools } from "./file_tools.ts";
 *
 * const none = new Uint8Array();
 * const tools = fileTools({
 *   list: () => ({ lines: [], total: 0 }),
 *   read: () => ({ bytes: none, sizeBytes: 0 }),
 *   write: () => {},
 *   holds: () => false,
 * });
 * if (tools.length !== 3) throw new Error("unreachable");
 * ```
 */
export function fileTools(place: FilePlace): Tool[] {
  const tools = [listFiles(place), readFile(place), writeFile(place)];
  return place.remove === undefined ? tools : [...tools, deleteFile(place.remove.bind(place))];
}

function listFiles(place: FilePlace): Tool {
  return defineTool({
    name: "list_files",
    description: "Lists a folder of the workspace, one entry per line; folders end in a slash.",
    parameters: { type: "object", properties: { path: { ...PATH, description: "Folder; default the workspace" } } },
    effect: "none",
    execute: async (args) => {
      const { lines, total } = await place.list(readArguments(args, { path: "string?" }).path ?? ".");
      if (lines.length === 0) return "The folder is empty.";
      return [...lines, ...(total > lines.length ? [`… and ${total - lines.length} more`] : [])].join("\n");
    },
  });
}

function readFile(place: FilePlace): Tool {
  return defineTool({
    name: "read_file",
    description: `Reads a text file of the workspace, at most ${READ_SIZE_BYTES_MAX} bytes of it from an offset on.`,
    parameters: {
      type: "object",
      properties: { path: PATH, offsetBytes: { type: "integer", minimum: 0, description: "Default 0" } },
      required: ["path"],
    },
    effect: "none",
    execute: async (args) => {
      const { path, offsetBytes = 0 } = readArguments(args, { path: "string", offsetBytes: "number?" });
      if (!Number.isSafeInteger(offsetBytes) || offsetBytes < 0) {
        throw new ToolError(INVALID_ARGS, "invalid arguments: offsetBytes must be an integer from 0");
      }
      const { bytes, sizeBytes } = await place.read(path, offsetBytes, READ_SIZE_BYTES_MAX);
      if (bytes.includes(0)) throw new ToolError(INVALID_ARGS, `Cannot read "${path}": it is not a text file`);
      const text = new TextDecoder().decode(bytes);
      const endBytes = offsetBytes + bytes.length;
      return endBytes >= sizeBytes ? text : `${text}\n[${endBytes} of ${sizeBytes} bytes; the file goes on]`;
    },
  });
}

function writeFile(place: FilePlace): Tool {
  const textOf = (args: JsonValue) => readArguments(args, { path: "string", content: "string" });
  const wrote = (path: string, bytes: Uint8Array) => `Wrote ${bytes.length} bytes to ${path}.`;
  return defineTool({
    name: "write_file",
    description: "Writes a text file of the workspace, replacing what was there. Missing folders are made.",
    parameters: {
      type: "object",
      properties: { path: PATH, content: { type: "string" } },
      required: ["path", "content"],
    },
    effect: "idempotent",
    permission: (args) => {
      const { path, content } = textOf(args);
      return { decision: "ask", reason: `write ${content.length} characters to ${JSON.stringify(path)}` };
    },
    execute: async (args, call) => {
      const { path, content } = textOf(args);
      const bytes = new TextEncoder().encode(content);
      if (bytes.length > WRITE_SIZE_BYTES_MAX) {
        throw new ToolError(INVALID_ARGS, `invalid arguments: content is over ${WRITE_SIZE_BYTES_MAX} bytes`);
      }
      await place.write(path, bytes, call);
      return wrote(path, bytes);
    },
    // Only the content can tell. If it is another, the file may have been written and changed since, so that this is never
    // "absent"; writing it again under the same key is harmless. `put_file` of the pack keeps more, and always knows.
    reconcile: async ({ args }) => {
      const { path, content } = textOf(args);
      const bytes = new TextEncoder().encode(content);
      return await place.holds(path, bytes)
        ? { verdict: "happened", result: wrote(path, bytes), note: "the file has this content" }
        : { verdict: "undecidable", note: "the file does not have this content" };
    },
  });
}

function deleteFile(remove: NonNullable<FilePlace["remove"]>): Tool {
  const pathOf = (args: JsonValue) => readArguments(args, { path: "string" }).path;
  return defineTool({
    name: "delete_file",
    description: "Deletes a file of the workspace.",
    parameters: { type: "object", properties: { path: PATH }, required: ["path"] },
    effect: "idempotent",
    permission: (args) => ({ decision: "ask", reason: `delete ${JSON.stringify(pathOf(args))}` }),
    execute: async (args) => {
      const path = pathOf(args);
      return await remove(path) ? `Deleted ${path}.` : `There is no ${path}.`;
    },
  });
}
