/**
 * Runs cases in a dedicated module worker of a real browser, and registers what came of each as a test.
 *
 * The page posts its reports to our own server, so any browser that opens a URL will do.
 *
 * @module
 */

import { bundle } from "../../../src/cli/web_build.ts";
import { repositoryDir } from "../paths.ts";
import type { BrowserCaseResult, BrowserReport } from "./cases.ts";
import { launchChromium } from "./launch.ts";
import { launchFirefox } from "./firefox.ts";
import { serveSite, textResponse } from "./site.ts";

/** How long a browser may be silent: longer than any one case may take. */
const SILENCE_MS_MAX = 90_000;

/** What to run. */
export interface WorkerRun {
  /** The worker's module, which calls `reportCases()`; relative to the repository, or absolute. */
  readonly entry: string;
  /** More bundles served beside it: name, such as `other.js`, → path. */
  readonly beside?: Readonly<Record<string, string>>;
  /** Folders for the worker to read: where they are served → path. */
  readonly folders?: Readonly<Record<string, string>>;
  /** The configuration that bundles it. Default: deno.json of this repository. */
  readonly config?: string;
  readonly browser?: "chromium" | "firefox";
  /** Hears lines for people. Default: console.log. */
  readonly say?: (line: string) => void;
}

/** What came of a run. */
export interface WorkerRunResult {
  readonly results: readonly BrowserCaseResult[];
  /** Why it ended before its end, or null. */
  readonly failure: string | null;
  readonly ms: number;
}

const PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Tests</title>' +
  '<script type="module" src="/start.js"></script></html>';

/** Starts the worker, and posts what it says in order, one request at a time. */
const START = `
  const waiting = [];
  let isSending = false;
  async function report(message) {
    waiting.push(message);
    if (isSending) return;
    isSending = true;
    while (waiting.length > 0) {
      await fetch("/reports", { method: "POST", body: JSON.stringify(waiting.splice(0)) });
    }
    isSending = false;
  }
  const worker = new Worker("/worker.js", { type: "module" });
  worker.onmessage = ({ data }) => report(data);
  worker.onerror = (event) => report({ kind: "crash", error: event.message || "the worker's module does not load" });
  document.addEventListener("securitypolicyviolation", (event) => {
    report({ kind: "crash", error: "the page's policy forbids " + event.violatedDirective + " " + event.blockedURI });
  });
`;

/** Runs a worker module in a browser on a fresh profile, and gives the result of each case. Never rejects for a case. */
export async function runInWorker(run: WorkerRun): Promise<WorkerRunResult> {
  const startMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-browser-" });
  try {
    const entries = { "worker.js": run.entry, ...run.beside };
    const absolute = Object.entries(entries).map(([name, path]) => [name, inRepository(path)]);
    await bundle(Object.fromEntries(absolute), `${folder}/site`, { config: run.config });
    const { results, failure } = await runOnSite(run, folder);
    const sources = await readSourceMarks(`${folder}/site/worker.js`);
    const readable = results.map((each) => ({ ...each, error: each.error && withSources(each.error, sources) }));
    return { results: readable, failure: failure && withSources(failure, sources), ms: performance.now() - startMs };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function runOnSite(run: WorkerRun, folder: string): Promise<Omit<WorkerRunResult, "ms">> {
  const { browser = "chromium", say = console.log } = run;
  const results: BrowserCaseResult[] = [];
  const over = Promise.withResolvers<string | null>();
  let running: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function watch(): void {
    clearTimeout(timer);
    const what = () => running === null ? "nothing was run" : `in "${running}"`;
    timer = setTimeout(() => over.resolve(`silent for ${SILENCE_MS_MAX} ms, ${what()}`), SILENCE_MS_MAX);
  }
  function hear(report: BrowserReport): void {
    if (report.kind === "start") running = report.name;
    else if (report.kind === "result") results.push(report.result);
    else if (report.kind === "say") say(report.line);
    else over.resolve(report.kind === "end" ? null : report.error);
  }

  await using site = serveSite({
    folder: `${folder}/site`,
    route: (request, path) => {
      if (path === "/") return textResponse(PAGE, "html");
      if (path === "/start.js") return textResponse(START, "js");
      const served = Object.keys(run.folders ?? {}).find((prefix) => path.startsWith(`${prefix}/`));
      if (served !== undefined) return diskResponse(run.folders![served]!, path.slice(served.length));
      if (path !== "/reports") return null;
      return request.json().then((reports: BrowserReport[]) => {
        watch();
        for (const report of reports) hear(report);
        return new Response(null, { status: 204 });
      });
    },
  });
  watch();
  const profileDir = `${folder}/profile`;
  await Deno.mkdir(profileDir);
  try {
    const { kill } = await open(browser, profileDir, `${site.origin}/`);
    try {
      return { results, failure: await over.promise };
    } finally {
      await kill();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** A file, or the entries of a folder when the path ends in a slash. */
async function diskResponse(folder: string, path: string): Promise<Response> {
  if (path.split("/").includes("..")) return new Response("Not found", { status: 404 });
  try {
    if (!path.endsWith("/")) return new Response(await Deno.readFile(folder + path));
    return Response.json(await Array.fromAsync(Deno.readDir(folder + path)), { headers: { "x-kind": "folder" } });
  } catch {
    return new Response("Not found", { status: 404 });
  }
}

/** Opens a URL in a browser on an empty profile. Gives what ends the browser. */
async function open(
  browser: "chromium" | "firefox",
  profileDir: string,
  url: string,
): Promise<{ kill(): Promise<void> }> {
  if (browser === "firefox") return await launchFirefox({ profileDir, url });
  const chromium = await launchChromium({ profileDir });
  try {
    await chromium.cdp.openPage(url);
  } catch (error) {
    await chromium.kill();
    throw error;
  }
  return chromium;
}

/** How to register the cases as tests. */
export interface TestInWorker extends WorkerRun {
  /** Set before the name of each case. */
  readonly label: string;
}

/**
 * Runs the cases now, and registers one test for each, plus one that fails when the run did not reach its end.
 *
 * The names are known only to the worker, so it has run before the tests are registered.
 */
export async function testInWorker({ label, ...run }: TestInWorker): Promise<WorkerRunResult> {
  let result: WorkerRunResult;
  try {
    result = await runInWorker(run);
  } catch (error) {
    result = { results: [], failure: error instanceof Error ? error.stack! : String(error), ms: 0 };
  }
  const say = run.say ?? console.log;
  say(`${label}: ${result.results.length} cases in ${(result.ms / 1000).toFixed(1)} s`);
  for (const { name, skipped, error } of result.results) {
    Deno.test({
      name: `${label}: ${name}${skipped === null || name.includes("(not run: ") ? "" : ` (not run: ${skipped})`}`,
      ignore: skipped !== null,
      fn() {
        if (error !== null) throw new Error(error);
      },
    });
  }
  Deno.test(`${label}: the worker ran to its end`, () => {
    if (result.failure !== null) throw new Error(`after ${result.results.length} cases: ${result.failure}`);
    if (result.results.length === 0) throw new Error("it ran no case");
  });
  return result;
}

function inRepository(path: string): string {
  return path.startsWith("/") ? path : `${repositoryDir}/${path}`;
}

interface SourceMark {
  readonly line: number;
  readonly path: string;
}

/** The bundler names each module in a comment before it. */
async function readSourceMarks(bundlePath: string): Promise<SourceMark[]> {
  const lines = (await Deno.readTextFile(bundlePath)).split("\n");
  return lines.flatMap((line, index) => {
    const [, path] = /^\s*\/\/ (\S+\.tsx?)$/.exec(line) ?? [];
    return path === undefined ? [] : [{ line: index + 1, path }];
  });
}

/** Adds to each place in the bundle the module it came from. */
function withSources(stack: string, marks: readonly SourceMark[]): string {
  return stack.replace(/http:\/\/127\.0\.0\.1:\d+\/worker\.js:(\d+):(\d+)/g, (_, line, column) => {
    const mark = marks.findLast((each) => each.line <= Number(line));
    return `worker.js:${line}:${column}${mark === undefined ? "" : ` of ${mark.path}`}`;
  });
}
