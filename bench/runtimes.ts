/**
 * The runtimes that can be measured, and where they are on this machine. Nothing is installed.
 *
 * @module
 */
import { stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";

/** The runtimes, in the order in which they are measured. */
export const RUNTIME_NAMES = ["deno", "node", "bun", "chromium", "firefox"] as const;
/** One of them. */
export type RuntimeName = typeof RUNTIME_NAMES[number];

/** What is measured when nobody asks for more; the others are measured too where they are there. */
const USUAL: readonly RuntimeName[] = ["deno", "node", "chromium"];

/** `node:zlib` has zstd since 22.15. */
const NODE_VERSION_MIN = [22, 15] as const;
const BUN_COMMANDS = ["bun"];
const FIREFOX_COMMANDS = ["firefox", "firefox-esr"];
const CHROMIUM_COMMANDS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** A process that measures: it takes a folder and a request and writes messages as JSON lines. */
export interface BenchProcess {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Variables of the environment: `HOLDFAST_NODE`, `BUN`, `CHROMIUM` and `FIREFOX` name what the PATH does not have, and
 * `HOLDFAST_CHROMIUM_LIBRARIES` is where such a Chromium has libraries of its own.
 */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Makes ready to measure in a runtime. Files that this needs go into the folder.
 *
 * @throws {Error} when the machine does not have it; says how to name one
 *
 * @example
 * ```ts
 * import { benchProcess } from "./runtimes.ts";
 *
 * const { command } = await benchProcess("deno", "/nowhere", {});
 * if (command !== Deno.execPath()) throw new Error("unreachable");
 * ```
 */
export async function benchProcess(name: RuntimeName, folder: string, variables: Variables): Promise<BenchProcess> {
  switch (name) {
    case "deno":
      return { command: Deno.execPath(), args: ["run", "-A", "--quiet", pathOf("./file_main.ts")], env: {} };
    case "node": {
      const command = await findNode(variables);
      const output = join(folder, "file_main.mjs");
      await bundle(pathOf("./file_main.ts"), "deno", output);
      return { command, args: ["--no-warnings", output], env: {} };
    }
    case "bun": {
      const command = await findBun(variables);
      const output = join(folder, "file_main.mjs");
      await bundle(pathOf("./file_main.ts"), "deno", output);
      return { command, args: ["run", output], env: {} };
    }
    case "chromium": {
      const args = ["run", "-A", "--quiet", pathOf("./chromium_main.ts")];
      const libraries = variables["HOLDFAST_CHROMIUM_LIBRARIES"];
      const env = { CHROMIUM: await findChromium(variables), ...(libraries ? { LD_LIBRARY_PATH: libraries } : {}) };
      return { command: Deno.execPath(), args, env };
    }
    case "firefox": {
      const args = ["run", "-A", "--quiet", pathOf("./firefox_main.ts")];
      return { command: Deno.execPath(), args, env: { FIREFOX: await findFirefox(variables) } };
    }
  }
}

/**
 * The runtimes that are measured when nobody chooses: Deno, Node and Chromium, and of the others those that are there.
 *
 * @example
 * ```ts
 * import { usualRuntimes } from "./runtimes.ts";
 *
 * if ((await usualRuntimes({})).join() !== "deno,node,chromium") throw new Error("unreachable");
 * ```
 */
export async function usualRuntimes(variables: Variables): Promise<RuntimeName[]> {
  const hasBun = await findBun(variables).then(() => true, () => false);
  const hasFirefox = await findFirefox(variables).then(() => true, () => false);
  return RUNTIME_NAMES.filter((name) =>
    USUAL.includes(name) || (name === "bun" && hasBun) || (name === "firefox" && hasFirefox)
  );
}

async function findBun(variables: Variables): Promise<string> {
  const found = variables["BUN"] || await onPath(BUN_COMMANDS, variables);
  if (found) return found;
  throw new Error("Cannot measure Bun: no bun on the PATH; BUN names one");
}

async function findNode(variables: Variables): Promise<string> {
  const command = variables["HOLDFAST_NODE"] ?? "node";
  const version = await versionOf(command);
  const [major = 0, minor = 0] = (version ?? "").replace(/^v/, "").split(".").map(Number);
  if (major > NODE_VERSION_MIN[0] || (major === NODE_VERSION_MIN[0] && minor >= NODE_VERSION_MIN[1])) return command;
  throw new Error(
    `Cannot measure Node: "${command}" is ${version ?? "not runnable"}, wanted ${
      NODE_VERSION_MIN.join(".")
    } or newer; ` +
      "HOLDFAST_NODE names one",
  );
}

async function versionOf(command: string): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command(command, { args: ["--version"], stderr: "null" }).output();
    return success ? new TextDecoder().decode(stdout).trim() : null;
  } catch {
    return null;
  }
}

async function findChromium(variables: Variables): Promise<string> {
  const found = variables["CHROMIUM"] || await onPath(CHROMIUM_COMMANDS, variables);
  if (found) return found;
  throw new Error(`Cannot measure Chromium: no ${CHROMIUM_COMMANDS.join(", ")} on the PATH; CHROMIUM names one`);
}

async function findFirefox(variables: Variables): Promise<string> {
  const found = variables["FIREFOX"] || await onPath(FIREFOX_COMMANDS, variables);
  if (found) return found;
  throw new Error(`Cannot measure Firefox: no ${FIREFOX_COMMANDS.join(", ")} on the PATH; FIREFOX names one`);
}

async function onPath(commands: readonly string[], variables: Variables): Promise<string | null> {
  for (const folder of (variables["PATH"] ?? "").split(delimiter)) {
    for (const command of commands) {
      const path = join(folder, command);
      if ((await stat(path).catch(() => null))?.isFile()) return path;
    }
  }
  return null;
}

function pathOf(module: string): string {
  return fileURLToPath(new URL(module, import.meta.url));
}
