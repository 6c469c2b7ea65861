/**
 * Makes one file of an entry and all it imports, for a runtime that reads neither TypeScript nor our import map.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

const REPOSITORY_FOLDER = fileURLToPath(new URL("..", import.meta.url));

/**
 * Bundles with `deno bundle`. Node takes what is made for Deno: both have `node:`.
 *
 * @throws {Error} with the bundler's own words
 *
 * @example
 * ```ts
 * import { bundle } from "./bundle.ts";
 *
 * const forNode = (entry: string, output: string) => bundle(entry, "deno", output);
 * if (typeof forNode !== "function") throw new Error("unreachable");
 * ```
 */
export async function bundle(entryPath: string, platform: "deno" | "browser", outputPath: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "bundle",
      "--quiet",
      "--no-check",
      "--platform",
      platform,
      "--format",
      "esm",
      "--output",
      outputPath,
      entryPath,
    ],
    cwd: REPOSITORY_FOLDER,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
  }).output();
  if (!success) throw new Error(`Cannot bundle "${entryPath}": ${new TextDecoder().decode(stderr).trim()}`);
}
