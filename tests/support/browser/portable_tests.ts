/**
 * Finds the test files that can run in a browser worker, and makes one worker module of them.
 *
 * @module
 */

import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { nameProblems } from "../layers.ts";
import { type ModuleGraph, readModuleGraph, sourceFiles } from "../module_graph.ts";
import { fixturesDir, ownFixturesDir } from "../fixtures.ts";
import { repositoryDir } from "../paths.ts";

/** npm packages that need neither Deno nor Node. */
const PACKAGES = ["fast-check", "fzstd", "@cfworker/json-schema", "zod"];

/** Modules that need a runtime → what stands in for them in a browser. */
export const STAND_INS: Readonly<Record<string, string>> = {
  "src/frame/node_zstd.ts": "tests/support/browser/browser_zstd.ts",
};

/** Files that could run in a browser and do not, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "tests/fold/log_fold_test.ts": "measures time, and workers share the machine",
  "tests/frame/codec_contract_test.ts": "tests/browser/suites/codec.ts runs its cases",
};

/** What deno_test_shim.ts gives to the tests. */
const SHIMMED = /\bDeno\.(?:test|readFileSync|readTextFileSync|readDirSync|statSync|env\.get)\b/g;

/** What was found. */
export interface PortableTests {
  readonly files: readonly string[];
  /** File → why it cannot run in a browser. */
  readonly others: ReadonlyMap<string, string>;
}

/** Sorts the test files of these folders into those that run in a browser and those that do not, by what they import. */
export async function findPortableTests(folders: readonly string[]): Promise<PortableTests> {
  const tests = folders.flatMap(sourceFiles).filter((path) => path.endsWith("_test.ts"));
  const { graph, problems } = await readModuleGraph(tests);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const files: string[] = [];
  const others = new Map<string, string>();
  for (const test of tests) {
    const reason = LEFT_OUT[test] ?? whyNot(graph, test, (path) => Deno.readTextFileSync(`${repositoryDir}/${path}`));
    if (reason === null) files.push(test);
    else others.set(test, reason);
  }
  return { files, others };
}

/** The first thing a file reaches that a browser does not have, or null. Types are erased, so they do not count. */
export function whyNot(graph: ModuleGraph, file: string, read: (path: string) => string): string | null {
  const paths = new Set([file]);
  // A Set is walked in insertion order, entries added on the way included.
  for (const path of paths) {
    if (STAND_INS[path] !== undefined) continue;
    const problem = /^[a-z]+:/.test(path) ? packageProblem(path) : sourceProblem(path, read(path));
    if (problem !== null) return problem;
    for (const { target, isTypeOnly } of graph.get(path) ?? []) {
      if (!isTypeOnly) paths.add(target);
    }
  }
  return null;
}

function packageProblem(specifier: string): string | null {
  // What is linked for `jsr:` is our own.
  if (specifier.startsWith("jsr:")) return null;
  const name = specifier.replace(/^npm:\/?/, "").replace(/(?<=.)@.*$/, "");
  return specifier.startsWith("npm:") && PACKAGES.includes(name) ? null : `needs ${specifier}`;
}

function sourceProblem(path: string, source: string): string | null {
  const [problem] = nameProblems(path, source.replaceAll(SHIMMED, "shimmed"), "portable");
  if (problem !== undefined) return problem.replace(/: it must run.*/, "");
  if (/\bnew Worker\(\s*(?:new URL|import\.meta)/.test(source)) return `${path} starts a worker from a source file`;
  return null;
}

/** Writes a configuration and a lock like those of this repository, with the stand-ins in the import map. */
export async function writePortableConfig(folder: string): Promise<string> {
  const { imports, links, compilerOptions, nodeModulesDir } = JSON.parse(
    await Deno.readTextFile(`${repositoryDir}/deno.json`),
  );
  for (const [path, standIn] of Object.entries(STAND_INS)) {
    imports[toFileUrl(`${repositoryDir}/${path}`)] = toFileUrl(`${repositoryDir}/${standIn}`);
  }
  const config = {
    nodeModulesDir,
    imports,
    // A link is given relative to the configuration.
    links: links?.map((link: string) => relative(folder, `${repositoryDir}/${link}`)),
    compilerOptions,
  };
  // A copy, because Deno notes in a lock which configuration it belongs to.
  await Deno.copyFile(`${repositoryDir}/deno.lock`, `${folder}/deno.lock`);
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(config));
  return `${folder}/deno.json`;
}

/** The folders that deno_test_shim.ts reads from, by where the harness has to serve them. */
export function portableFolders(): Record<string, string> {
  const large = fixturesDir();
  return { "/fixtures": ownFixturesDir, ...(large === null ? {} : { "/large-fixtures": large }) };
}

/** The text of a worker module that runs these files. */
export function portableEntry(files: readonly string[]): string {
  const url = (path: string) => JSON.stringify(toFileUrl(`${repositoryDir}/${path}`));
  const loads = files.map((file) => `  ${JSON.stringify(file)}: () => import(${url(file)}),\n`);
  return `import { casesOfFiles } from ${url("tests/support/browser/deno_test_shim.ts")};\n` +
    `import { reportCases } from ${url("tests/support/browser/cases.ts")};\n` +
    `await reportCases(casesOfFiles({\n${loads.join("")}}));\n`;
}

function toFileUrl(path: string): string {
  return pathToFileURL(path).href;
}
