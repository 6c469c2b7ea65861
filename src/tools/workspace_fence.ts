/**
 * A fence around a folder: paths that a model names are opened inside of it, or not at all.
 *
 * A path is resolved by hand, link by link, so that one which leaves the folder is refused even when it comes back. What was
 * resolved is then opened folder by folder without following links, each from the descriptor of the one before, so a link
 * planted between check and use opens nothing. Where the system has no `/proc/self/fd` (macOS), the last step is a second
 * check of the real path, which leaves a window of microseconds to whoever can already write in the folder.
 *
 * Not fenced: hard links to files outside, and mounts inside.
 *
 * @module
 */
import * as nodeFs from "node:fs";
import { isAbsolute, join, sep } from "node:path";
import { ToolError } from "../tool/mod.ts";

/** A path names something outside the workspace. */
export const OUTSIDE_WORKSPACE = "OUTSIDE_WORKSPACE";

/** How many links one path may go through. */
const LINKS_MAX = 40;

/** The part of `node:fs` that the fence and its tools use. */
export type WorkspaceFs = Pick<
  typeof nodeFs,
  | "closeSync"
  | "constants"
  | "existsSync"
  | "fchmodSync"
  | "fstatSync"
  | "fsyncSync"
  | "lstatSync"
  | "mkdirSync"
  | "openSync"
  | "readdirSync"
  | "readlinkSync"
  | "readSync"
  | "realpathSync"
  | "renameSync"
  | "statSync"
  | "unlinkSync"
  | "writeSync"
>;

/** What a fence is put around. */
export interface WorkspaceOptions {
  /** The folder. It must exist. */
  readonly root: string;
  /** Folders inside that stay closed, such as the one that keeps the session logs. They need not exist. */
  readonly closed?: readonly string[];
  /** Default `node:fs`. */
  readonly fs?: WorkspaceFs;
}

/**
 * The fence.
 *
 * @example
 * ```ts
 * import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { WorkspaceFence } from "./workspace_fence.ts";
 *
 * const root = mkdtempSync(join(tmpdir(), "fence-"));
 * writeFileSync(join(root, "a.txt"), "inside");
 * const fence = new WorkspaceFence({ root });
 * if (fence.at("a.txt", {}, (path) => readFileSync(path, "utf8")) !== "inside") throw new Error("unreachable");
 * ```
 */
export class WorkspaceFence {
  readonly #root: string;
  readonly #closed: readonly string[];
  readonly #fs: WorkspaceFs;

  /** Resolves the root at once, links included, and throws the file system's error when it is not there. */
  constructor(options: WorkspaceOptions) {
    this.#fs = options.fs ?? nodeFs;
    this.#root = this.#fs.realpathSync(options.root);
    this.#closed = options.closed ?? [];
  }

  /** The real path of the workspace. */
  get root(): string {
    return this.#root;
  }

  /**
   * Resolves a path of the model's and calls `use` with its last part, in its open folder. The last part need not exist.
   *
   * @param options.create makes missing folders on the way
   * @throws {ToolError} with `OUTSIDE_WORKSPACE` when the path, or a link on the way, leaves the workspace
   */
  at<Result>(path: string, options: { readonly create?: boolean }, use: (path: string) => Result): Result {
    const parts = this.#resolve(path);
    const name = parts.pop();
    if (name === undefined) throw outside(path, "it is the workspace itself");
    return this.#inOpen(parts, path, options.create === true, (folder) => use(`${folder}${sep}${name}`));
  }

  /**
   * Resolves a path of the model's to a folder and calls `use` with it, open.
   *
   * @throws {ToolError} with `OUTSIDE_WORKSPACE` when the path, or a link on the way, leaves the workspace
   */
  in<Result>(path: string, use: (folder: string) => Result): Result {
    return this.#inOpen(this.#resolve(path), path, false, use);
  }

  /** The parts of the path below the root, without links, as far as they exist. */
  #resolve(path: string): string[] {
    if (path.includes("\0")) throw outside(path, "it holds a NUL");
    const resolved: string[] = [];
    const todo = this.#fromRoot(path, path);
    let links = 0;
    while (todo.length > 0) {
      const part = todo.shift()!;
      if (part === "" || part === ".") continue;
      if (part === "..") {
        if (resolved.pop() === undefined) throw outside(path, "it leads out of the workspace");
        continue;
      }
      const target = this.#linkTarget([...resolved, part]);
      if (target === null) {
        resolved.push(part);
        continue;
      }
      if (++links > LINKS_MAX) throw outside(path, `it goes through more than ${LINKS_MAX} links`);
      if (isAbsolute(target)) resolved.length = 0;
      todo.unshift(...this.#fromRoot(target, path));
    }
    return resolved;
  }

  /** A relative path is cut into parts as it is; an absolute one must lie below the root. */
  #fromRoot(path: string, asked: string): string[] {
    if (!isAbsolute(path)) return path.split(PARTS);
    if (path === this.#root) return [];
    const prefix = this.#root.endsWith(sep) ? this.#root : this.#root + sep;
    if (!path.startsWith(prefix)) throw outside(asked, "it is not below the workspace");
    return path.slice(prefix.length).split(PARTS);
  }

  /** Where a link points; `null` for everything else, missing files included. */
  #linkTarget(parts: readonly string[]): string | null {
    const path = join(this.#root, ...parts);
    try {
      return this.#fs.lstatSync(path).isSymbolicLink() ? this.#fs.readlinkSync(path) : null;
    } catch (error) {
      if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return null;
      throw error;
    }
  }

  /** Opens folder after folder, following no link, and calls `use` with a path that names the last of them. */
  #inOpen<Result>(parts: readonly string[], asked: string, create: boolean, use: (folder: string) => Result): Result {
    const hasDescriptors = this.#fs.existsSync("/proc/self/fd");
    const open: number[] = [];
    try {
      let folder = this.#root;
      for (const part of [null, ...parts]) {
        const path = part === null ? folder : `${folder}${sep}${part}`;
        if (part !== null && create) this.#makeFolder(path);
        const descriptor = this.#openOne(path, asked);
        open.push(descriptor);
        this.#checkNotClosed(descriptor, asked);
        folder = hasDescriptors ? `/proc/self/fd/${descriptor}` : path;
      }
      if (!hasDescriptors && this.#fs.realpathSync(folder) !== join(this.#root, ...parts)) throw moved(asked);
      return use(folder);
    } finally {
      for (const descriptor of open) this.#fs.closeSync(descriptor);
    }
  }

  #openOne(path: string, asked: string): number {
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = this.#fs.constants;
    try {
      return this.#fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    } catch (error) {
      // A link that was not one when the path was resolved: ELOOP, or ENOTDIR because of O_DIRECTORY.
      if (isCode(error, "ELOOP") || (isCode(error, "ENOTDIR") && this.#isLink(path))) throw moved(asked);
      throw error;
    }
  }

  #isLink(path: string): boolean {
    try {
      return this.#fs.lstatSync(path).isSymbolicLink();
    } catch {
      return false;
    }
  }

  #makeFolder(path: string): void {
    try {
      this.#fs.mkdirSync(path);
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
    }
  }

  /** By identity, not by name: another spelling of a closed folder, or a second mount of it, is the same folder. */
  #checkNotClosed(descriptor: number, asked: string): void {
    if (this.#closed.length === 0) return;
    const found = this.#fs.fstatSync(descriptor);
    for (const closed of this.#closed) {
      const stat = this.#fs.statSync(closed, { throwIfNoEntry: false });
      if (stat?.dev === found.dev && stat.ino === found.ino) throw outside(asked, "that folder is closed to tools");
    }
  }
}

const PARTS = sep === "\\" ? /[\\/]/ : /\//;

/**
 * Whether an error of the file system has this code.
 *
 * @example
 * ```ts
 * import { isCode } from "./workspace_fence.ts";
 *
 * if (!isCode(Object.assign(new Error("x"), { code: "ENOENT" }), "ENOENT")) throw new Error("unreachable");
 * ```
 */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === code;
}

function outside(path: string, found: string): ToolError {
  return new ToolError(OUTSIDE_WORKSPACE, `Cannot use path "${path}": ${found}`);
}

function moved(path: string): ToolError {
  return outside(path, "it was changed into a link while it was used");
}
