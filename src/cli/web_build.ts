/**
 * Builds the web page: the one place that bundles for browsers.
 *
 * As a program (`deno task build [FOLDER]`) it writes `web/dist`, which any static host can serve.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

const REPOSITORY_DIR = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");
const WEB_DIR = `${REPOSITORY_DIR}/web`;

/** Output name → what is bundled into it. Each is whole: a worker shares no chunk with its page. */
const ENTRIES: Readonly<Record<string, string>> = {
  "page.js": `${WEB_DIR}/page.tsx`,
  "worker.js": `${WEB_DIR}/worker.ts`,
  "inspector.js": `${WEB_DIR}/inspector.ts`,
  "lab.js": `${WEB_DIR}/lab.tsx`,
  "bench.js": `${WEB_DIR}/bench/page.ts`,
  "bench_worker.js": `${WEB_DIR}/bench/worker.ts`,
};

/** A bundler that says nothing for this long is probably being downloaded, and the person is told so. */
const SLOW_MS = 3000;

/** One file of a build. */
export interface BuiltFile {
  /** Relative to the folder of the build. */
  readonly name: string;
  readonly sizeBytes: number;
  /** What a host that compresses sends. */
  readonly gzipBytes: number;
}

/** How to bundle. */
export interface BundleOptions {
  /** Default: readable output. */
  readonly minify?: boolean;
  /** The configuration whose import map is used. Default: deno.json of this repository, held to its lock. */
  readonly config?: string;
  /** Where to say that it takes long. Default: standard error. */
  readonly say?: (line: string) => void;
}

/**
 * Bundles the page, its worker, the crash lab and the benchmark, and copies the static files of `web/` beside them.
 *
 * The folder is made when it is missing. What an earlier build left there under another name stays.
 *
 * @returns every file written, in the order of their names
 * @throws {Error} with the bundler's output, when something does not bundle
 *
 * @example
 * ```ts
 * import { buildWeb } from "./web_build.ts";
 *
 * const build = (folder: string) => buildWeb(folder, { minify: true });
 * if (typeof build !== "function") throw new Error("unreachable");
 * ```
 */
export async function buildWeb(outDir: string, options: BundleOptions = {}): Promise<BuiltFile[]> {
  await bundle(ENTRIES, outDir, { minify: true, ...options });
  const copied = await copyStatic(WEB_DIR, outDir, "");
  const names = [...Object.keys(ENTRIES), ...copied].sort();
  return await Promise.all(names.map((name) => measure(outDir, name)));
}

/**
 * Bundles each entry with all it imports into one module for browsers, with `deno bundle` and the import map of deno.json.
 *
 * `deno bundle` fetches its own bundler once, of a version that belongs to the version of Deno.
 *
 * @param entries output name, such as `worker.js`, → path of a `.ts` or `.tsx` file, absolute
 * @throws {Error} with the bundler's output, when an entry does not bundle
 *
 * @example
 * ```ts
 * import { bundle } from "./web_build.ts";
 *
 * const build = (folder: string) => bundle({ "worker.js": "/somewhere/worker.ts" }, folder);
 * if (typeof build !== "function") throw new Error("unreachable");
 * ```
 */
export async function bundle(
  entries: Readonly<Record<string, string>>,
  outDir: string,
  { minify = false, config, say = console.error }: BundleOptions = {},
): Promise<void> {
  await Deno.mkdir(outDir, { recursive: true });
  // One after the other: the bundler uses every core by itself.
  for (const [name, entry] of Object.entries(entries)) {
    const slow = setTimeout(() => say(`Bundling ${name}: the first time, Deno downloads its bundler`), SLOW_MS);
    try {
      await runBundler(entry, `${outDir}/${name}`, config, minify);
    } finally {
      clearTimeout(slow);
    }
  }
}

async function runBundler(entry: string, output: string, config: string | undefined, minify: boolean): Promise<void> {
  const flags = ["--quiet", "--platform", "browser", "--format", "esm", "--no-check"];
  if (config === undefined) flags.push("--frozen", "--config", `${REPOSITORY_DIR}/deno.json`);
  else flags.push("--config", config);
  if (minify) flags.push("--minify");
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", ...flags, "--output", output, entry],
    cwd: REPOSITORY_DIR,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
  }).output();
  if (!success) throw new Error(`Cannot bundle "${entry}": ${new TextDecoder().decode(stderr).trim()}`);
}

/** Copies what is no source and no output. Returns the names, relative to the folder. */
async function copyStatic(sourceDir: string, targetDir: string, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(`${sourceDir}/${prefix}`)) {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory) {
      if (entry.name !== "dist") names.push(...await copyStatic(sourceDir, targetDir, `${name}/`));
    } else if (!/\.tsx?$|^\./.test(entry.name)) {
      await Deno.mkdir(`${targetDir}/${prefix}`, { recursive: true });
      await Deno.copyFile(`${sourceDir}/${name}`, `${targetDir}/${name}`);
      names.push(name);
    }
  }
  return names;
}

async function measure(folder: string, name: string): Promise<BuiltFile> {
  const bytes = await Deno.readFile(`${folder}/${name}`);
  const zipped = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return { name, sizeBytes: bytes.length, gzipBytes: (await new Response(zipped).arrayBuffer()).byteLength };
}

if (import.meta.main) {
  const folder = Deno.args[0] ?? `${WEB_DIR}/dist`;
  const files = await buildWeb(folder);
  for (const { name, sizeBytes, gzipBytes } of files) {
    console.log(`${name.padEnd(24)} ${kib(sizeBytes)} KiB, gzip ${kib(gzipBytes)} KiB`);
  }
  console.log(`Written to ${folder}`);
}

function kib(bytes: number): string {
  return (bytes / 1024).toFixed(1).padStart(7);
}
