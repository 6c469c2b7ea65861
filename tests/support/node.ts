/**
 * Runs our plain-data suites on Node: finds a Node that is new enough, and bundles TypeScript into one file for it.
 *
 * @module
 */

import { repositoryDir } from "./paths.ts";

/** `node:zlib` has zstd since 22.15. */
export const NODE_VERSION_MIN = [22, 15] as const;
/** The Node that is fetched from npm when the machine has none that is new enough. */
const NODE_FROM_NPM = "24.22.3";
/** The oldest one that the package promises to run on. */
const OLDEST_NODE = "22.15.0";

let found: Promise<string> | undefined;
let oldest: Promise<string> | undefined;

/**
 * The path of a Node that is new enough: `$HOLDFAST_NODE`, else `node` on the PATH, else npm's copy in Deno's npm cache
 * (fetched when it is not there; deno.lock never hears of it).
 *
 * @throws {Error} when `$HOLDFAST_NODE` is set but does not fit, or when nothing fits; says what was tried
 */
export function findNode(): Promise<string> {
  return found ??= searchNode();
}

/**
 * The path of the oldest Node that the package promises to run on, from npm.
 *
 * @throws {Error} when npm's copy cannot be fetched
 */
export function findOldestNode(): Promise<string> {
  return oldest ??= nodeFromNpm(OLDEST_NODE);
}

async function searchNode(): Promise<string> {
  const named = Deno.env.get("HOLDFAST_NODE");
  if (named) {
    const version = await nodeVersion(named);
    if (isNewEnough(version)) return named;
    throw new Error(`Cannot use HOLDFAST_NODE "${named}": ${describe(version)}, wanted ${NODE_VERSION_MIN.join(".")}`);
  }
  const onPath = await nodeVersion("node");
  if (isNewEnough(onPath)) return "node";

  const fromNpm = await nodeFromNpm(NODE_FROM_NPM);
  const version = await nodeVersion(fromNpm);
  if (isNewEnough(version)) return fromNpm;
  throw new Error(
    `Cannot find Node ${NODE_VERSION_MIN.join(".")} or newer: "node" on the PATH is ${describe(onPath)}, ` +
      `"${fromNpm}" is ${describe(version)}. Set HOLDFAST_NODE to one`,
  );
}

/**
 * Bundles one entry and all it imports into a file that Node runs.
 *
 * @param entryPath relative to the repository, or absolute
 * @returns the path of an `.mjs` file in a new temporary folder; the caller removes the folder
 */
export async function bundleForNode(entryPath: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bundle-" });
  const output = `${folder}/bundle.mjs`;
  await run(Deno.execPath(), [
    "bundle",
    "--quiet",
    "--platform",
    "deno",
    "--format",
    "esm",
    "--output",
    output,
    entryPath,
  ]);
  return output;
}

/** The version a Node says it has, or null when it does not start. */
async function nodeVersion(path: string): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command(path, { args: ["--version"], stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout).trim() : null;
  } catch {
    return null;
  }
}

function isNewEnough(version: string | null): boolean {
  const [major = 0, minor = 0] = (version ?? "").replace(/^v/, "").split(".").map(Number);
  return major > NODE_VERSION_MIN[0] || (major === NODE_VERSION_MIN[0] && minor >= NODE_VERSION_MIN[1]);
}

function describe(version: string | null): string {
  return version ?? "not runnable";
}

async function nodeFromNpm(release: string): Promise<string> {
  const os = Deno.build.os === "windows" ? "win" : Deno.build.os;
  const name = `node-${os}-${Deno.build.arch === "x86_64" ? "x64" : "arm64"}`;
  return await binaryFromNpm(name, release, `bin/node${os === "win" ? ".exe" : ""}`);
}

/**
 * A program that a package of npm holds, in Deno's npm cache; fetched when it is not there. No script of the package runs.
 *
 * @throws {Error} when it cannot be fetched
 */
export async function binaryFromNpm(name: string, release: string, file: string): Promise<string> {
  // Outside of the repository and without a lock, so that deno.json and deno.lock stay as they are.
  const folder = await Deno.makeTempDir({ prefix: "holdfast-node-" });
  try {
    await run(
      Deno.execPath(),
      ["cache", "--quiet", "--no-config", "--no-lock", `npm:${name}@${release}`],
      folder,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const binary = `${name}/${release}/${file}`;
  for (const registry of await npmRegistries()) {
    if (await isFile(`${registry}/${binary}`)) return `${registry}/${binary}`;
  }
  throw new Error(
    `Cannot find ${name} in Deno's npm cache: no "${binary}" below ${(await npmRegistries()).join(", ")}`,
  );
}

/** Deno keeps npm packages in one folder per registry; its name depends on the machine's npm settings. */
async function npmRegistries(): Promise<string[]> {
  const info = JSON.parse(await run(Deno.execPath(), ["info", "--json", "--no-config"])) as { npmCache: string };
  const folders: string[] = [];
  for await (const entry of Deno.readDir(info.npmCache)) {
    if (entry.isDirectory) folders.push(`${info.npmCache}/${entry.name}`);
  }
  return folders;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}

async function run(command: string, args: string[], cwd = repositoryDir): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args, cwd, env: { NO_COLOR: "1" } }).output();
  if (!success) throw new Error(`"${command} ${args.join(" ")}" failed: ${new TextDecoder().decode(stderr).trim()}`);
  return new TextDecoder().decode(stdout);
}
