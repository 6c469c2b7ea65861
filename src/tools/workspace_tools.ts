/**
 * Read, write and list inside a folder of this machine.
 *
 * @module
 */
import * as nodeFs from "node:fs";
import { dirname } from "node:path";
import { INVALID_ARGS, type Tool, type ToolCall, ToolError } from "../tool/mod.ts";
import { type FileRange, fileTools, LIST_ENTRIES_MAX, type Listing } from "./file_tools.ts";
import { isCode, WorkspaceFence, type WorkspaceFs, type WorkspaceOptions } from "./workspace_fence.ts";

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
  return fileTools({
    list: (path) => list(fence, fs, path),
    read: (path, offsetBytes, sizeBytes) => read(fence, fs, path, { offsetBytes, sizeBytes }),
    write: (path, bytes, call) => write(fence, fs, path, { bytes, call }),
    holds: (path, bytes) => holds(fence, fs, path, bytes),
  });
}

function list(fence: WorkspaceFence, fs: WorkspaceFs, path: string): Listing {
  return worded("list", path, () =>
    fence.in(path, (folder) => {
      // A descriptor's path is itself a link; the slash makes the system follow it.
      const names = fs.readdirSync(`${folder}/`).sort();
      const lines = names.slice(0, LIST_ENTRIES_MAX).map((name) => entryLine(fs, `${folder}/${name}`, name));
      return { lines, total: names.length };
    }));
}

function entryLine(fs: WorkspaceFs, path: string, name: string): string {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return `${name} (vanished)`;
  if (stat.isDirectory()) return `${name}/`;
  if (stat.isSymbolicLink()) return `${name} (link)`;
  return stat.isFile() ? `${name} (${stat.size} bytes)` : `${name} (not a file)`;
}

function read(
  fence: WorkspaceFence,
  fs: WorkspaceFs,
  path: string,
  { offsetBytes, sizeBytes }: { readonly offsetBytes: number; readonly sizeBytes: number },
): FileRange {
  return worded("read", path, () =>
    fence.at(path, {}, (name) => {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
      // Not blocking: opening a pipe that nobody writes to would wait for ever.
      const descriptor = fs.openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        const stat = fs.fstatSync(descriptor);
        if (!stat.isFile()) throw new ToolError(INVALID_ARGS, `Cannot read "${path}": it is not a file`);
        const bytes = readRange(fs, descriptor, offsetBytes, Math.min(stat.size - offsetBytes, sizeBytes));
        return { bytes, sizeBytes: stat.size };
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

function write(
  fence: WorkspaceFence,
  fs: WorkspaceFs,
  path: string,
  { bytes, call }: { readonly bytes: Uint8Array; readonly call: ToolCall },
): void {
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
    }));
}

function holds(fence: WorkspaceFence, fs: WorkspaceFs, path: string, bytes: Uint8Array): boolean {
  return worded("look up", path, () =>
    fence.at(path, {}, (name) => {
      if (!hasContent(fs, name, bytes)) return false;
      // Seen in the cache is not yet on the disk.
      syncFile(fs, name);
      syncFolderOf(fs, name);
      return true;
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
