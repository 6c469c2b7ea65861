/**
 * The program in C that bytes are appended with for comparison, compiled with what the machine has.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const COMPILERS: readonly string[] = ["cc", "gcc", "clang"];
const SOURCE = fileURLToPath(new URL("./append_sync.c", import.meta.url));

/**
 * Compiles `append_sync.c` into the folder.
 *
 * @returns the path of the program; `null` when no compiler is there that makes one
 *
 * @example
 * ```ts
 * import { compileNative } from "./native.ts";
 *
 * const folder = await Deno.makeTempDir();
 * const program = await compileNative(folder);
 * if (program !== null && !(await Deno.stat(program)).isFile) throw new Error("unreachable");
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function compileNative(folder: string): Promise<string | null> {
  const program = join(folder, "append_sync");
  for (const compiler of COMPILERS) {
    try {
      const { success } = await new Deno.Command(compiler, {
        args: ["-O2", "-o", program, SOURCE],
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).output();
      if (success) return program;
    } catch {
      // It is not there; the next one may be.
    }
  }
  return null;
}
