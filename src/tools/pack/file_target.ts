/**
 * Files that are written at most once for each key, so that it can always be said whether one was.
 *
 * What a key leaves lies in the folder `.holdfast-effects`. In this order a write makes `KEY.new` (the content), `KEY.begun` (a second
 * name of it), and moves `KEY.new` to its place. So:
 *
 * | there is | then |
 * |---|---|
 * | `KEY.closed` | it was closed, and nothing was written |
 * | `KEY.new` | not written: whoever takes `KEY.new` away makes the last move impossible |
 * | `KEY.begun` and no `KEY.new` | written, also when somebody has changed the file since |
 * | neither | not written: a folder named `KEY.new` makes the first step impossible |
 *
 * Each of these steps is one call that the file system does whole or not at all.
 *
 * @module
 */
import * as nodeFs from "node:fs";
import { createHash } from "node:crypto";
import { dirname, sep } from "node:path";
import type { Tool } from "../../tool/mod.ts";
import { isCode, WorkspaceFence, type WorkspaceFs, type WorkspaceOptions } from "../workspace_fence.ts";
import { type KeyedTarget, keyedTool, type KeyState, type OrderAnswer } from "./keyed_target.ts";

/** Where keys are kept, below the workspace. */
export const EFFECTS_FOLDER = ".holdfast-effects";

/** What is written. */
export interface FileOrder {
  readonly path: string;
  readonly content: string;
}

/** What is needed of the file system. */
export type KeyedFs = WorkspaceFs & Pick<typeof nodeFs, "linkSync" | "readFileSync">;

/**
 * Makes the tool `put_file`.
 *
 * @throws the file system's error when the root does not exist
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { putFileTool } from "./file_target.ts";
 *
 * const tool = putFileTool({ root: mkdtempSync(join(tmpdir(), "files-")) });
 * if (tool.effectOf({ path: "a.txt", content: "" }) !== "idempotent") throw new Error("unreachable");
 * ```
 */
export function putFileTool(options: WorkspaceOptions & { readonly fs?: KeyedFs }): Tool {
  return keyedTool<FileOrder>({
    name: "put_file",
    description: "Writes a text file of the workspace, replacing what was there. Missing folders are made.",
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, content: { type: "string" } },
      required: ["path", "content"],
    },
    effect: "idempotent",
    reason: ({ path, content }) => `write ${content.length} characters to ${JSON.stringify(path)}`,
    target: fileTarget(options),
  });
}

/**
 * A workspace as a target that keeps keys.
 *
 * @throws the file system's error when the root does not exist
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { fileTarget } from "./file_target.ts";
 *
 * const target = fileTarget({ root: mkdtempSync(join(tmpdir(), "files-")) });
 * const order = { path: "a.txt", content: "x" };
 * const { signal } = new AbortController();
 * await target.close("k", order, signal);
 * if ((await target.perform("k", order, signal)).state !== "closed") throw new Error("unreachable");
 * ```
 */
export function fileTarget(options: WorkspaceOptions & { readonly fs?: KeyedFs }): KeyedTarget<FileOrder> {
  const effects = new WorkspaceFence(options);
  // What is written by order never gets at what keys left.
  const fence = new WorkspaceFence({
    ...options,
    closed: [...options.closed ?? [], `${effects.root}${sep}${EFFECTS_FOLDER}`],
  });
  const fs = options.fs ?? nodeFs;
  const inEffects = <Result>(key: string, use: (names: KeyNames) => Result) =>
    effects.at(`${EFFECTS_FOLDER}/${key}`, { create: true }, (name) =>
      use({
        folder: dirname(name),
        staged: `${name}.new`,
        begun: `${name}.begun`,
        closed: `${name}.closed`,
      }));
  return {
    // A promise that is made this way rejects with what is thrown inside.
    perform: (key, { path, content }) =>
      new Promise((answer) => answer(inEffects(key, (names) => write(fs, fence, names, path, bytesOf(content))))),
    close: (key, { path, content }) =>
      new Promise((answer) => {
        const state = inEffects(key, (names) => close(fs, names, bytesOf(content)));
        if (state.state === "done") makeDurable(fs, fence, path);
        answer(state);
      }),
  };
}

function bytesOf(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

interface KeyNames {
  readonly folder: string;
  readonly staged: string;
  readonly begun: string;
  readonly closed: string;
}

const CLOSED: KeyState = Object.freeze({ state: "closed" });

function write(fs: KeyedFs, fence: WorkspaceFence, names: KeyNames, path: string, bytes: Uint8Array): OrderAnswer {
  const isClosed = () => exists(fs, names.closed) || isFolder(fs, names.staged);
  if (isClosed()) return CLOSED;
  const isStaged = exists(fs, names.staged);
  if (!isStaged && exists(fs, names.begun)) {
    makeDurable(fs, fence, path);
    return written(bytes);
  }
  return fence.at(path, { create: true }, (name): OrderAnswer => {
    if (isFolder(fs, name)) return refused("it is a folder");
    try {
      if (isStaged) {
        // An earlier try under this key died on the way. In this order: `begun` alone would say that it was written.
        removeIfThere(fs, names.begun);
        fs.unlinkSync(names.staged);
      }
      stage(fs, names, bytes);
      fs.linkSync(names.staged, names.begun);
      syncFolder(fs, names.folder);
      if (exists(fs, names.closed)) return CLOSED;
      fs.renameSync(names.staged, name);
    } catch (error) {
      // Somebody closed the key under our hands: no step of ours can be the last one now.
      return isClosed() ? CLOSED : refused((error as { code?: string }).code ?? "it failed");
    }
    syncFolder(fs, dirname(name));
    syncFolder(fs, names.folder);
    return written(bytes);
  });

  function refused(found: string): OrderAnswer {
    return { state: "refused", reason: `Cannot write "${path}": ${found}` };
  }
}

function removeIfThere(fs: KeyedFs, path: string): void {
  try {
    fs.unlinkSync(path);
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
}

function stage(fs: KeyedFs, { staged }: KeyNames, bytes: Uint8Array): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
  const descriptor = fs.openSync(staged, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
  try {
    for (let at = 0; at < bytes.length;) at += fs.writeSync(descriptor, bytes, at, bytes.length - at);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function close(fs: KeyedFs, names: KeyNames, bytes: Uint8Array): KeyState {
  if (exists(fs, names.closed) || isFolder(fs, names.staged)) return CLOSED;
  try {
    fs.renameSync(names.staged, names.closed);
    syncFolder(fs, names.folder);
    return CLOSED;
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
  if (exists(fs, names.begun)) return written(bytes);
  try {
    fs.mkdirSync(names.staged);
  } catch (error) {
    // It began in this very moment: the next look says what became of it.
    if (isCode(error, "EEXIST")) return close(fs, names, bytes);
    throw error;
  }
  syncFolder(fs, names.folder);
  return CLOSED;
}

function written(bytes: Uint8Array): KeyState {
  const digest = createHash("sha256").update(bytes).digest("hex");
  return { state: "done", receipt: `Wrote ${bytes.length} bytes, SHA-256 ${digest}.` };
}

/** What is seen after a crash may be in the cache only. Where the folder is gone, there is nothing left to keep. */
function makeDurable(fs: KeyedFs, fence: WorkspaceFence, path: string): void {
  try {
    fence.at(path, {}, (name) => syncFolder(fs, dirname(name)));
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
}

function exists(fs: KeyedFs, path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isFolder(fs: KeyedFs, path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A new name is only durable with its folder. */
function syncFolder(fs: KeyedFs, folder: string): void {
  const descriptor = fs.openSync(`${folder}/`, fs.constants.O_RDONLY);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
