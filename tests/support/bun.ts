/**
 * Finds a Bun: the third runtime that runs our plain-data suites.
 *
 * @module
 */
import { binaryFromNpm } from "./node.ts";

/** The Bun that is fetched from npm when the machine has none. */
const BUN_FROM_NPM = "1.4.5";

/**
 * The path of a Bun: `$HOLDFAST_BUN`, else `bun` on the PATH, else npm's copy in Deno's npm cache (fetched when it is not there;
 * deno.lock never hears of it).
 *
 * @throws {Error} when none starts; says what was tried
 */
export async function findBun(): Promise<string> {
  const named = Deno.env.get("HOLDFAST_BUN");
  if (named) return await checked(named, "HOLDFAST_BUN");
  if (await starts("bun")) return "bun";
  const os = Deno.build.os === "windows" ? "windows" : Deno.build.os;
  const arch = Deno.build.arch === "x86_64" ? "x64" : "aarch64";
  const file = `bin/bun${os === "windows" ? ".exe" : ""}`;
  return await checked(await binaryFromNpm(`@oven/bun-${os}-${arch}`, BUN_FROM_NPM, file), "npm's copy");
}

async function checked(path: string, what: string): Promise<string> {
  if (await starts(path)) return path;
  throw new Error(`Cannot use ${what} "${path}": it does not start. Set HOLDFAST_BUN to a Bun`);
}

async function starts(path: string): Promise<boolean> {
  try {
    return (await new Deno.Command(path, { args: ["--version"], stdout: "null", stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}
