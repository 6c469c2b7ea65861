/**
 * Read, write and list inside a workspace.
 *
 * @module
 */
import * as nodeFs from "node:fs";
import { dirname } from "node:path";
import {
  defineTool,
  INVALID_ARGS,
  type LookupAnswer,
  readArguments,
  type Tool,
  type ToolCall,
  ToolError,
  type ToolOutput,
} from "../tool/mod.ts";
import { isCode, WorkspaceFence, type WorkspaceFs, type WorkspaceOptions } from "./workspace_fence.ts";

/** How much of a file one call reads. */
export const READ_SIZE_BYTES_MAX = 256 * 1024;
/** How much one call writes. */
export const WRITE_SIZE_BYTES_MAX = 4 * 1024 * 1024;
/** How many entries of a folder one call lists. */
export const LIST_ENTRIES_MAX = 1000;

const PATH = { type: "string", description: "Path in the workspace, such as notes/today.txt" };

/**
 * Makes the tools `read_file`, `write_file` and `list_files` for one workspace.
 *
 * Reading and listing have no effect and run unasked. Writing replaces the whole file at once (readers and a crash see the
 * old content or the new one), is durable when it returns, and asks first. What became of a write that a crash cut short is
 * looked up in the file.
 *
 * @throws the file system's error when the root does not exist
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { workspaceTools } from "./workspace_tools.ts";
 *
 * const tools = workspaceTools({ root: mkdtempSync(join(tmpdir(), "workspace-")) });
 * if (tools.length !== 3) throw new Error("unreachable");
 * ```
 */
export function workspaceTools(options: WorkspaceOptions): Tool[] {
  const fence = new WorkspaceFence(options);
  const fs = options.fs ?? nodeFs;
  return [
    defineTool({
      name: "list_files",
      description: "Lists a folder of the workspace, one entry per line; folders end in a slash.",
      parameters: { type: "object", properties: { path: { ...PATH, description: "Folder; default the workspace" } } },
      effect: "none",
      execute: (args) => listFiles(fence, fs, readArguments(args, { path: "string?" }).path ?? "."),
    }),
    defineTool({
      name: "read_file",
      description: `Reads a text file of the workspace, at most ${READ_SIZE_BYTES_MAX} bytes of it from an offset on.`,
      parameters: {
        type: "object",
        properties: { path: PATH, offsetBytes: { type: "integer", minimum: 0, description: "Default 0" } },
        required: ["path"],
      },
      effect: "none",
      execute: (args) => {
        const { path, offsetBytes = 0 } = readArguments(args, { path: "string", offsetBytes: "number?" });
        return readFile(fence, fs, path, offsetBytes);
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
      execute: (args, call) => {
        const { path, content } = readArguments(args, { path: "string", content: "string" });
        return writeFile(fence, fs, path, content, call);
      },
      reconcile: ({ args }) => {
        const { path, content } = readArguments(args, { path: "string", content: "string" });
        return lookUpWrite(fence, fs, path, content);
      },
    }),
  ];
}

function listFiles(fence: WorkspaceFence, fs: WorkspaceFs, path: string): string {
  return worded("list", path, () =>
    fence.in(path, (folder) => {
      // A descriptor's path is itself a link; the slash makes the system follow it.
      const names = fs.readdirSync(`${folder}/`).sort();
      const lines = names.slice(0, LIST_ENTRIES_MAX).map((name) => entryLine(fs, `${folder}/${name}`, name));
      if (names.length > LIST_ENTRIES_MAX) lines.push(`… and ${names.length - LIST_ENTRIES_MAX} more`);
      return lines.length === 0 ? "The folder is empty." : lines.join("\n");
    }));
}

function entryLine(fs: WorkspaceFs, path: string, name: string): string {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return `${name} (vanished)`;
  if (stat.isDirectory()) return `${name}/`;
  if (stat.isSymbolicLink()) return `${name} (link)`;
  return stat.isFile() ? `${name} (${stat.size} bytes)` : `${name} (not a file)`;
}

function readFile(fence: WorkspaceFence, fs: WorkspaceFs, path: string, offsetBytes: number): string {
  if (!Number.isSafeInteger(offsetBytes) || offsetBytes < 0) {
    throw new ToolError(INVALID_ARGS, "invalid arguments: offsetBytes must be an integer from 0");
  }
  return worded("read", path, () =>
    fence.at(path, {}, (name) => {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
      // Not blocking: opening a pipe that nobody writes to would wait for ever.
      const descriptor = fs.openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        const stat = fs.fstatSync(descriptor);
        if (!stat.isFile()) throw new ToolError(INVALID_ARGS, `Cannot read "${path}": it is not a file`);
        const bytes = readRange(fs, descriptor, offsetBytes, Math.min(stat.size - offsetBytes, READ_SIZE_BYTES_MAX));
        if (bytes.includes(0)) throw new ToolError(INVALID_ARGS, `Cannot read "${path}": it is not a text file`);
        const text = new TextDecoder().decode(bytes);
        const endBytes = offsetBytes + bytes.length;
        return endBytes >= stat.size ? text : `${text}\n[${endBytes} of ${stat.size} bytes; the file goes on]`;
      } finally {
        fs.closeSync(descriptor);
      }
    }));
}

function readRange(fs: WorkspaceFs, descriptor: number, offsetBytes: number, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, sizeBytes));
  let at = 0;
  while (at < bytes.length) {
    const count = fs.readSync(descriptor, bytes, at, bytes.length - at, offsetBytes + at);
    if (count === 0) break;
    at += count;
  }
  return bytes.subarray(0, at);
}

function writeFile(fence: WorkspaceFence, fs: WorkspaceFs, path: string, content: string, call: ToolCall): string {
  const bytes = new TextEncoder().encode(content);
  if (bytes.length > WRITE_SIZE_BYTES_MAX) {
    throw new ToolError(INVALID_ARGS, `invalid arguments: content is over ${WRITE_SIZE_BYTES_MAX} bytes`);
  }
  return worded("write", path, () =>
    fence.at(path, { create: true }, (name) => {
      const old = fs.lstatSync(name, { throwIfNoEntry: false });
      if (old !== undefined && !old.isFile()) {
        throw new ToolError(INVALID_ARGS, `Cannot write "${path}": it is no file`);
      }
      // Named by the effect key: a repetition of this call finds and replaces what a crash left. Not by the file: its name may
      // be as long as a name can be.
      const temporary = `${dirname(name)}/.holdfast-${call.effectKey.slice(0, 12)}.tmp`;
      try {
        writeNew(fs, temporary, bytes, old?.mode);
        fs.renameSync(temporary, name);
      } catch (error) {
        removeIfThere(fs, temporary);
        throw error;
      }
      syncFolderOf(fs, name);
      return `Wrote ${bytes.length} bytes to ${path}.`;
    }));
}

/**
 * Whether a write happened whose process is gone: only the content can tell. If it is another, the file may have been written and
 * changed since, so that this is never "absent"; writing it again under the same key is harmless. `put_file` of the pack keeps
 * more, and always knows.
 */
function lookUpWrite(fence: WorkspaceFence, fs: WorkspaceFs, path: string, content: string): LookupAnswer<ToolOutput> {
  const bytes = new TextEncoder().encode(content);
  return worded("look up", path, () =>
    fence.at(path, {}, (name): LookupAnswer<ToolOutput> => {
      if (!hasContent(fs, name, bytes)) return { verdict: "undecidable", note: "the file does not have this content" };
      // Seen in the cache is not yet on the disk.
      syncFile(fs, name);
      syncFolderOf(fs, name);
      return {
        verdict: "happened",
        result: `Wrote ${bytes.length} bytes to ${path}.`,
        note: "the file has this content",
      };
    }));
}

function hasContent(fs: WorkspaceFs, name: string, bytes: Uint8Array): boolean {
  const stat = fs.lstatSync(name, { throwIfNoEntry: false });
  if (stat?.isFile() !== true || stat.size !== bytes.length) return false;
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const descriptor = fs.openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = readRange(fs, descriptor, 0, bytes.length);
    return found.length === bytes.length && found.every((byte, index) => byte === bytes[index]);
  } finally {
    fs.closeSync(descriptor);
  }
}

function syncFile(fs: WorkspaceFs, name: string): void {
  const descriptor = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function writeNew(fs: WorkspaceFs, path: string, bytes: Uint8Array, mode: number | undefined): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
  removeIfThere(fs, path);
  const descriptor = fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
  try {
    for (let at = 0; at < bytes.length;) at += fs.writeSync(descriptor, bytes, at, bytes.length - at);
    if (mode !== undefined) fs.fchmodSync(descriptor, mode & 0o777);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function removeIfThere(fs: WorkspaceFs, path: string): void {
  try {
    fs.unlinkSync(path);
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
}

/** The new name is only durable with its folder. */
function syncFolderOf(fs: WorkspaceFs, name: string): void {
  const descriptor = fs.openSync(`${dirname(name)}/`, fs.constants.O_RDONLY);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** The file system's errors in words that hold the model's path, not a descriptor's. */
function worded<Result>(verb: string, path: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (error instanceof ToolError || !(error instanceof Error)) throw error;
    const code = (error as { code?: unknown }).code;
    const found = typeof code === "string" ? WORDS[code] ?? code : error.message;
    throw new Error(`Cannot ${verb} "${path}": ${found}`);
  }
}

const WORDS: Readonly<Record<string, string>> = {
  EACCES: "not permitted",
  EISDIR: "it is a folder",
  ELOOP: "it is a link",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "there is no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is not a folder",
  ENXIO: "it is not a file",
  EPERM: "not permitted",
  EROFS: "the disk is read-only",
};
