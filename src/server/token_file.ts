/**
 * The token of a server that was given none: made at its first start, kept in a file that only its owner reads.
 *
 * @module
 */
import { StorageLostError } from "../../mod.ts";
import { systemRandom } from "../entry/file.ts";
import { newToken } from "./auth.ts";

/** The name of the file in the root. */
export const TOKEN_FILE = "server-token";

/** The bits of a mode that others than the owner have. */
const OTHERS = 0o077;

/**
 * Reads the token of a root, or makes one.
 *
 * @returns the token, and whether it is new: then it is shown, once
 * @throws {StorageLostError} when the file cannot be read or made, holds no token, or can be read by others
 *
 * @example
 * ```ts
 * import { tokenOfRoot } from "./token_file.ts";
 *
 * const root = await Deno.makeTempDir();
 * const { token, isNew } = await tokenOfRoot(root);
 * if (!isNew || (await tokenOfRoot(root)).token !== token) throw new Error("unreachable");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function tokenOfRoot(root: string): Promise<{ readonly token: string; readonly isNew: boolean }> {
  const path = `${root}/${TOKEN_FILE}`;
  try {
    await Deno.mkdir(root, { recursive: true, mode: 0o700 });
    const token = newToken(systemRandom);
    using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    await file.write(new TextEncoder().encode(token + "\n"));
    await file.sync();
    return { token, isNew: true };
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw lost(path, (error as Error).message, error);
  }
  return { token: await readToken(path), isNew: false };
}

async function readToken(path: string): Promise<string> {
  let text: string;
  let mode: number | null;
  try {
    const stat = await Deno.lstat(path);
    if (!stat.isFile) throw new Error("it is no file");
    mode = stat.mode;
    text = (await Deno.readTextFile(path)).trim();
  } catch (error) {
    throw lost(path, (error as Error).message, error);
  }
  if (mode !== null && (mode & OTHERS) !== 0) {
    throw lost(path, `its mode is ${(mode & 0o777).toString(8)}, so that others can read it (chmod 600 it)`);
  }
  if (text === "") throw lost(path, "it is empty (remove it, and a new one is made)");
  return text;
}

function lost(path: string, found: string, cause?: unknown): StorageLostError {
  return new StorageLostError(`Cannot use token file "${path}": ${found}`, { cause });
}
