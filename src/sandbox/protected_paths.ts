/**
 * What inside a workspace must stay as it is, because a program outside of the sandbox will run or obey it later.
 *
 * @module
 */

/** Names in the workspace itself. Everything below them is protected too. */
export const PROTECTED_NAMES: readonly string[] = [
  // Hooks and settings that version control runs.
  ".git",
  ".gitmodules",
  ".gitattributes",
  ".hg",
  ".svn",
  ".husky",
  ".githooks",
  ".pre-commit-config.yaml",
  "lefthook.yml",
  // Settings that editors and shells run when the folder is opened.
  ".vscode",
  ".idea",
  ".envrc",
  ".bashrc",
  ".profile",
  ".zshrc",
  ".npmrc",
  // Sessions and tokens.
  ".holdfast",
];

/** How deep repositories inside of the workspace are looked for. */
export const SCAN_DEPTH_MAX = 3;
/** How many folders are looked into for them. */
export const SCAN_FOLDERS_MAX = 1000;

/** What is asked of the file system. */
export interface FileView {
  /** The path without links. @throws when there is nothing */
  readonly realPath: (path: string) => string;
  /** What is at a path, links not followed; `null` = nothing, or not to be seen. */
  readonly kindOf: (path: string) => "file" | "folder" | "link" | "other" | null;
  /** The names of the folders in a folder; empty when it cannot be read. */
  readonly foldersIn: (path: string) => readonly string[];
}

/** What was found in a workspace. */
export interface FoundPaths {
  /** They can be re-bound read-only. */
  readonly protectedPaths: readonly string[];
  /** Links: whoever may write beside one can put another in its place. */
  readonly unprotectable: readonly string[];
  /** Whether the search for repositories ended before its bound. */
  readonly isScanned: boolean;
}

/**
 * Finds what must be protected: the names above, and `.git` of repositories up to SCAN_DEPTH_MAX folders down. A name that is
 * not there is not protected: it would have to be created for that, in the workspace of somebody else.
 *
 * @example
 * ```ts
 * import { findProtected } from "./protected_paths.ts";
 *
 * const files = {
 *   realPath: (path: string) => path,
 *   kindOf: (path: string) => path === "/ws/.git" ? "folder" as const : null,
 *   foldersIn: () => [],
 * };
 * if (findProtected("/ws", files).protectedPaths[0] !== "/ws/.git") throw new Error("unreachable");
 * ```
 */
export function findProtected(workspace: string, files: FileView): FoundPaths {
  const protectedPaths: string[] = [];
  const unprotectable: string[] = [];
  const look = (path: string) => {
    const kind = files.kindOf(path);
    if (kind === "file" || kind === "folder") protectedPaths.push(path);
    else if (kind !== null) unprotectable.push(path);
  };
  for (const name of PROTECTED_NAMES) look(`${workspace}/${name}`);

  let seen = 0;
  let level = [workspace];
  for (let depth = 1; depth <= SCAN_DEPTH_MAX; depth++) {
    const next: string[] = [];
    for (const folder of level) {
      for (const name of files.foldersIn(folder)) {
        if (name === "node_modules" || PROTECTED_NAMES.includes(name)) continue;
        if (++seen > SCAN_FOLDERS_MAX) return { protectedPaths, unprotectable, isScanned: false };
        look(`${folder}/${name}/.git`);
        next.push(`${folder}/${name}`);
      }
    }
    level = next;
  }
  return { protectedPaths, unprotectable, isScanned: true };
}

/** The file system of this runtime. */
export const systemFiles: FileView = {
  realPath: (path) => Deno.realPathSync(path),
  kindOf(path) {
    try {
      const { isFile, isDirectory, isSymlink } = Deno.lstatSync(path);
      return isSymlink ? "link" : isDirectory ? "folder" : isFile ? "file" : "other";
    } catch (error) {
      // Where Deno itself may not look we cannot say that there is nothing.
      if (error instanceof Deno.errors.NotCapable) throw error;
      return null;
    }
  },
  foldersIn(path) {
    try {
      return [...Deno.readDirSync(path)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
    } catch {
      return [];
    }
  },
};
