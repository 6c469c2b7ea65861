/**
 * npm for the package tests: found, filled beforehand, and used without the network.
 *
 * @module
 */

import { repositoryDir } from "../support/paths.ts";
import { OPTIONAL_PEERS } from "../tasks/optional_peers.ts";

/** The bundler whose page imports us. */
export const VITE = "vite@8.3.8";
/** The compiler that reads our types. */
export const TYPESCRIPT = "typescript@6.0.3";
/** The types of Node, for the exports that name what it has. */
export const NODE_TYPES = "@types/node@24.19.4";
/** What our package may depend on; each comes in the version of deno.json. */
export const DEPENDENCIES: readonly string[] = ["@cfworker/json-schema", "fzstd"];

const OPTIONS = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];

/** The version of npm on the PATH, or null. */
export async function npmVersion(): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command("npm", { args: ["--version"], stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout).trim() : null;
  } catch {
    return null;
  }
}

/**
 * Fills npm's cache with everything that the package tests install, so that they need no network themselves.
 *
 * @returns a line that says what was done
 */
export async function fillNpmCache(): Promise<string> {
  const version = await npmVersion();
  if (version === null) return "npm: not on the PATH (installs our package as a stranger does)";
  const packages = await packagesOf([...DEPENDENCIES, ...OPTIONAL_PEERS]);
  const folder = await Deno.makeTempDir({ prefix: "holdfast-npm-" });
  try {
    await Deno.writeTextFile(`${folder}/package.json`, '{"private":true}');
    await install(folder, [...packages, VITE, TYPESCRIPT, NODE_TYPES]);
    return `npm: ${version}, with ${[...packages, VITE, TYPESCRIPT, NODE_TYPES].join(", ")} in its cache`;
  } catch (error) {
    return `npm: ${version}; ${error instanceof Error ? error.message : error}`;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Packages of deno.json as npm takes them, in its versions. */
export async function packagesOf(names: readonly string[]): Promise<string[]> {
  const { imports } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`)) as {
    imports: Record<string, string>;
  };
  return names.flatMap((name) => imports[name]?.replace("npm:", "") ?? []);
}

/** Installs packages or tarballs into a project. What the cache has is not asked for again. */
export async function install(folder: string, packages: readonly string[]): Promise<void> {
  await run("npm", ["install", "--prefer-offline", ...OPTIONS, ...packages], folder);
}

/** Runs a command in a folder and returns its standard output. A failure throws with all that was said. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (success) return text;
  throw new Error(`"${command} ${args.join(" ")}" failed:\n${text}${new TextDecoder().decode(stderr)}`.trim());
}
