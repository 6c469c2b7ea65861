/**
 * The programs that some tests use to judge us from outside, found or installed, and what was done said aloud.
 *
 * @module
 */

import { fillNpmCache } from "../package/npm.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { findFirefox } from "../support/browser/firefox.ts";
import { findBun } from "../support/bun.ts";
import { findNode, findOldestNode } from "../support/node.ts";

/** Command → the Debian package that brings it. */
const TOOLS: readonly [command: string, package_: string, use: string][] = [
  ["zstd", "zstd", "checks the files we write"],
  ["flock", "util-linux", "holds locks from another process, and locks for Node"],
  ["bwrap", "bubblewrap", "confines the commands of the sandbox, so that ways out of it can be tried"],
  ["perl", "perl-base", "makes the system calls of those who try to get out"],
  ["prlimit", "util-linux", "changes the limits of another process, as an attempt"],
];

/** Finds or installs what the tests use. Returns the environment for them. */
export async function prepareTools(): Promise<Record<string, string>> {
  const missing: string[] = [];
  for (const [command, package_, use] of TOOLS) {
    const path = await findCommand(command);
    console.log(path === null ? `${command}: not on the PATH (${use})` : `${command}: ${path}`);
    if (path === null && !missing.includes(package_)) missing.push(package_);
  }
  if (missing.length > 0) await install(missing);
  console.log(await fillNpmCache());

  return { ...await prepareNode(), ...await prepareBun(), ...await prepareBrowsers() };
}

async function prepareNode(): Promise<Record<string, string>> {
  try {
    const node = await findNode();
    console.log(`node: ${node}; the oldest that is promised: ${await findOldestNode()}`);
    return { HOLDFAST_NODE: node };
  } catch (error) {
    // The tests that need Node fail and say the same; the others still run.
    console.log(`node: ${messageOf(error)}`);
    return {};
  }
}

async function prepareBun(): Promise<Record<string, string>> {
  try {
    const bun = await findBun();
    console.log(`bun: ${bun}`);
    return { HOLDFAST_BUN: bun };
  } catch (error) {
    console.log(`bun: ${messageOf(error)}`);
    return {};
  }
}

/** Finds Chromium, or installs one. Firefox is used only when it is there. */
async function prepareBrowsers(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  try {
    const { executablePath, env } = await findChromium();
    console.log(`chromium: ${executablePath}`);
    found.CHROMIUM = executablePath;
    if (env.LD_LIBRARY_PATH !== undefined) found.HOLDFAST_CHROMIUM_LIBRARIES = env.LD_LIBRARY_PATH;
  } catch (error) {
    // The tests that need it fail and say the same; the others still run.
    console.log(`chromium: ${messageOf(error)}`);
  }
  try {
    const firefox = await findFirefox();
    console.log(firefox === null ? "firefox: not installed (its cases are not run)" : `firefox: ${firefox}`);
  } catch (error) {
    console.log(`firefox: ${messageOf(error)}`);
  }
  return found;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function findCommand(command: string): Promise<string | null> {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    const path = `${folder}/${command}`;
    const info = await Deno.stat(path).catch(() => null);
    if (info?.isFile && ((info.mode ?? 0o111) & 0o111) !== 0) return path;
  }
  return null;
}

async function install(packages: string[]): Promise<void> {
  const line = `apt-get install -y ${packages.join(" ")}`;
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || (await findCommand("apt-get")) === null) {
    console.log(`Not installed (needs root and apt-get): ${packages.join(", ")}. By hand: sudo ${line}`);
    return;
  }
  console.log(`Installing: ${line}`);
  await apt(["update", "-qq"]);
  const isInstalled = await apt(["install", "-y", "-qq", "--no-install-recommends", ...packages]);
  console.log(isInstalled ? `Installed ${packages.join(", ")}` : `Could not install ${packages.join(", ")}`);
}

async function apt(args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command("apt-get", {
    args,
    env: { DEBIAN_FRONTEND: "noninteractive" },
    stdin: "null",
    stdout: "null",
  }).spawn().status;
  return success;
}
