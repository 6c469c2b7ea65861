/**
 * The folders below the root: found, made, and remembered.
 *
 * A handle of a folder is a path and no more: it works again when the folder was removed and made anew, and says
 * `NotFoundError` to a reader exactly when nothing is there. So a remembered one is as good as a fresh one, and saves messages
 * to another process, which is what OPFS costs.
 *
 * @see https://fs.spec.whatwg.org/#concept for what a handle is
 * @module
 */

import { StorageLostError } from "../../errors.ts";
import type { FileHandle, FolderHandle, OpfsPlatform } from "./platform.ts";
import { isMissing, isOtherKind, nameOf, refusal } from "./refusal.ts";
import { storedPart } from "./stored_names.ts";

/** How many folders are remembered; the one that was not used for longest is forgotten first. */
const REMEMBERED_FOLDERS_MAX = 256;

/** How often a folder may be removed while we make what lies in it. */
const MAKE_TRIES_MAX = 5;

/** A file and the folder it is in. */
export interface FoundFile {
  readonly folder: FolderHandle;
  readonly file: FileHandle;
}

/** The folders of one storage. */
export class Tree {
  readonly #platform: OpfsPlatform;
  readonly #root: readonly string[];
  /** By their stored paths from the origin's root. */
  readonly #remembered = new Map<string, FolderHandle>();

  /** @param root the parts of the root's name below the origin's */
  constructor(platform: OpfsPlatform, root: readonly string[]) {
    this.#platform = platform;
    this.#root = root.map(storedPart);
  }

  /** The folder of these parts, `null` when it is not there. Creates nothing. */
  async findFolder(parts: readonly string[], what: string): Promise<FolderHandle | null> {
    return await this.attempt(what, () => this.#walk(this.#pathOf(parts), false));
  }

  /**
   * The file of these parts, `null` when there is none.
   *
   * @throws {StorageLostError} when it, or a folder on the way, is of the other kind
   */
  async findFile(parts: readonly string[], what: string): Promise<FoundFile | null> {
    const [folderPath, name] = this.#splitFile(parts);
    return await this.attempt(what, async () => {
      const folder = await this.#walk(folderPath, false);
      return { folder, file: await folder.getFileHandle(name) };
    });
  }

  /** The file of these parts, made together with its folders when it is missing. */
  async makeFile(parts: readonly string[], what: string): Promise<FoundFile> {
    const [folderPath, name] = this.#splitFile(parts);
    return await this.#make(folderPath, what, async (folder) => {
      return { folder, file: await folder.getFileHandle(name, { create: true }) };
    });
  }

  /** Makes a file in a folder that is made when it is missing, under a name as it is stored. */
  async makeStored(parts: readonly string[], stored: string, what: string): Promise<FoundFile> {
    return await this.#make(this.#pathOf(parts), what, async (folder) => {
      return { folder, file: await folder.getFileHandle(stored, { create: true }) };
    });
  }

  /** Runs `act`; `null` when a `NotFoundError` stopped it, and everything else the browser throws is translated. */
  async attempt<Result>(what: string, act: () => Promise<Result>): Promise<Result | null> {
    try {
      return await act();
    } catch (error) {
      if (isMissing(error)) return null;
      throw await this.#refusal(error, what);
    }
  }

  /** Forgets every folder: one was removed. */
  forget(): void {
    this.#remembered.clear();
  }

  async #make<Result>(
    path: readonly string[],
    what: string,
    act: (folder: FolderHandle) => Promise<Result>,
  ): Promise<Result> {
    for (let tries = 1;; tries++) {
      try {
        return await act(await this.#walk(path, true));
      } catch (error) {
        if (!isWithoutFolder(error) || tries >= MAKE_TRIES_MAX) throw await this.#refusal(error, what);
        this.forget(); // Something on the way was removed: it is made from the top.
      }
    }
  }

  /** Goes down from the deepest folder that is remembered. */
  async #walk(path: readonly string[], create: boolean): Promise<FolderHandle> {
    let depth = path.length;
    while (depth > 0 && !this.#remembered.has(keyOf(path, depth))) depth--;
    let folder = this.#remembered.get(keyOf(path, depth)) ?? this.#platform.origin;
    if (depth > 0) this.#remember(keyOf(path, depth), folder);
    for (; depth < path.length; depth++) {
      folder = await folder.getDirectoryHandle(path[depth]!, { create });
      this.#remember(keyOf(path, depth + 1), folder);
    }
    return folder;
  }

  #remember(key: string, folder: FolderHandle): void {
    this.#remembered.delete(key);
    this.#remembered.set(key, folder);
    if (this.#remembered.size <= REMEMBERED_FOLDERS_MAX) return;
    const [oldest] = this.#remembered.keys();
    this.#remembered.delete(oldest!);
  }

  #pathOf(parts: readonly string[]): readonly string[] {
    return [...this.#root, ...parts.map(storedPart)];
  }

  #splitFile(parts: readonly string[]): [folder: readonly string[], name: string] {
    return [this.#pathOf(parts.slice(0, -1)), storedPart(parts.at(-1) ?? "")];
  }

  async #refusal(error: unknown, what: string): Promise<Error> {
    if (error instanceof RangeError) return error;
    if (!isOtherKind(error)) return await refusal(this.#platform, error, what);
    return new StorageLostError(
      `Cannot ${what}: a file stands where a folder should, or a folder where a file should`,
      {
        cause: error,
      },
    );
  }
}

/** Firefox says `UnknownError` to whoever makes something in a folder that was removed. */
function isWithoutFolder(error: unknown): boolean {
  return isMissing(error) || nameOf(error) === "UnknownError";
}

function keyOf(path: readonly string[], depth: number): string {
  return path.slice(0, depth).join("/");
}
