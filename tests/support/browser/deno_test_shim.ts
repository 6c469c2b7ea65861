/**
 * As much of `Deno` as tests of portable code use, inside a browser worker: `Deno.test`, which collects the tests of the files
 * that are imported after it, and reading fixtures, which the harness serves.
 *
 * Runs in the worker. Options about leaks are ignored: a worker has no resources that could be counted.
 *
 * @module
 */

import { type BrowserCase, say } from "./cases.ts";

/** What a test or a step is called with, as far as the tests use it. */
interface Context {
  readonly name: string;
  step(...args: unknown[]): Promise<boolean>;
}

interface Definition {
  readonly name: string;
  readonly fn: (context: Context) => void | Promise<void>;
  readonly isIgnored: boolean;
}

let collected: Definition[] = [];

/** Reads the arguments of `Deno.test` and of `t.step` in each of their forms. */
function definitionOf(args: readonly unknown[]): Definition {
  let name: string | undefined;
  let fn: Definition["fn"] | undefined;
  let isIgnored = false;
  for (const arg of args) {
    if (typeof arg === "string") name = arg;
    else if (typeof arg === "function") fn = arg as Definition["fn"];
    else {
      const options = arg as { name?: string; fn?: Definition["fn"]; ignore?: boolean };
      name = options.name ?? name;
      fn = options.fn ?? fn;
      isIgnored = options.ignore ?? isIgnored;
    }
  }
  name ??= fn?.name;
  if (!name || fn === undefined) throw new TypeError("Cannot collect a test: it has no name or no function");
  return { name, fn, isIgnored };
}

function contextOf(name: string): Context {
  return {
    name,
    async step(...args) {
      const definition = definitionOf(args);
      if (definition.isIgnored) return false;
      try {
        await definition.fn(contextOf(definition.name));
      } catch (error) {
        // The other steps of this test would run on; here its first failure is enough to judge it.
        const message = error instanceof Error ? error.message : String(error);
        throw new Error(`step "${definition.name}": ${message}`, { cause: error });
      }
      return true;
    },
  };
}

function test(...args: unknown[]): void {
  collected.push(definitionOf(args));
}
test.ignore = (...args: unknown[]) => void collected.push({ ...definitionOf(args), isIgnored: true });

/** Where the harness serves the large fixtures. The small ones are where a URL relative to the worker finds them. */
const LARGE_FIXTURES = "/large-fixtures";

/** Reads from the harness at once, as the functions of `Deno` do that end in Sync. */
function ask(path: string): { readonly bytes: Uint8Array<ArrayBuffer>; readonly isFolder: boolean } | null {
  const request = new XMLHttpRequest();
  request.open("GET", path, false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) return null;
  return { bytes: new Uint8Array(request.response), isFolder: request.getResponseHeader("x-kind") === "folder" };
}

function read(path: string, isFolder: boolean): Uint8Array<ArrayBuffer> {
  const answer = ask(path);
  if (answer === null || answer.isFolder !== isFolder) throw new Error(`Cannot read "${path}": not served`);
  return answer.bytes;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const disk = {
  readFileSync: (path: string) => read(path, false),
  readTextFileSync: (path: string) => text(read(path, false)),
  readDirSync: (path: string) => JSON.parse(text(read(`${path}/`, true))),
  statSync(path: string) {
    const answer = ask(`${path}/`) ?? ask(path);
    if (answer === null) throw new Error(`Cannot look at "${path}": not served`);
    return { isFile: !answer.isFolder, isDirectory: answer.isFolder };
  },
  env: {
    get(name: string) {
      return name === "HOLDFAST_FIXTURES" && ask(`${LARGE_FIXTURES}/`) !== null ? LARGE_FIXTURES : undefined;
    },
  },
};

Object.assign(globalThis, { Deno: { test, ...disk } });

const { log } = console;
console.log = (...values: unknown[]) => {
  // Cases that are left out are part of what came of the run.
  if (/^\d+ cases? not run: /.test(String(values[0]))) say(String(values[0]));
  log(...values);
};

// The tests make streams with it, the library does not; Chromium does not have it yet.
const streams = ReadableStream as unknown as { from?: (source: Iterable<unknown> | AsyncIterable<unknown>) => unknown };
streams.from ??= (source) => {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      await iterator.return?.(reason);
    },
  }, { highWaterMark: 0 });
};

/**
 * Imports test files one after the other, and yields their tests as cases.
 *
 * A file that cannot be imported, or that has no test, is a case that fails.
 */
export async function* casesOfFiles(
  files: Readonly<Record<string, () => Promise<unknown>>>,
): AsyncGenerator<BrowserCase> {
  for (const [file, load] of Object.entries(files)) {
    collected = [];
    let failure: unknown = null;
    try {
      await load();
    } catch (error) {
      failure = error;
    }
    const definitions = collected;
    if (failure !== null || definitions.length === 0) {
      yield {
        name: `${file} is loaded`,
        run() {
          throw failure ?? new Error("it has no test");
        },
      };
    }
    for (const { name, fn, isIgnored } of definitions) {
      yield {
        name: `${file}: ${name}`,
        skip: isIgnored ? "ignored there too" : null,
        run: () => fn(contextOf(name)),
      };
    }
  }
}
