/**
 * Cases that run inside a browser worker, and how they tell the outside what came of them.
 *
 * Runs in the worker: nothing here may need Deno or Node.
 *
 * @module
 */

/** One case. Rejecting, or throwing, is failing. */
export interface BrowserCase {
  readonly name: string;
  run(): void | Promise<void>;
  /** Why it cannot be run here, or null. */
  readonly skip?: string | null;
}

/** What came of a case. */
export interface BrowserCaseResult {
  readonly name: string;
  /** Why it was not run, or null. */
  readonly skipped: string | null;
  /** The stack of what it threw, or null when it passed. */
  readonly error: string | null;
  readonly ms: number;
}

/** What a worker posts to its page, and the page to the harness. */
export type BrowserReport =
  | { readonly kind: "start"; readonly name: string }
  | { readonly kind: "result"; readonly result: BrowserCaseResult }
  /** A line for people. */
  | { readonly kind: "say"; readonly line: string }
  | { readonly kind: "end" }
  /** The worker is of no use any more. */
  | { readonly kind: "crash"; readonly error: string };

/** How long one case may take. It cannot be stopped, so the others are then run beside it. */
export const CASE_MS_MAX = 60_000;

const post = (report: BrowserReport) => globalThis.postMessage(report);

/** Runs cases one after the other and posts what comes of each, then the end. */
export async function reportCases(cases: Iterable<BrowserCase> | AsyncIterable<BrowserCase>): Promise<void> {
  let last = "the suite";
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    // The browser tells of it in a later task, when the next case may have begun.
    const name = `nothing is rejected unheard (in or soon before "${last}")`;
    post({ kind: "result", result: { name, skipped: null, error: textOf(event.reason), ms: 0 } });
  });
  try {
    for await (const each of cases) {
      const skipped = each.skip ?? null;
      last = each.name;
      post({ kind: "start", name: each.name });
      const startMs = performance.now();
      const error = skipped === null ? await run(each) : null;
      post({ kind: "result", result: { name: each.name, skipped, error, ms: performance.now() - startMs } });
    }
    await new Promise((resolve) => setTimeout(resolve));
    post({ kind: "end" });
  } catch (error) {
    post({ kind: "crash", error: textOf(error) });
  }
}

/** Says something to whoever watches the tests. */
export function say(line: string): void {
  post({ kind: "say", line });
}

async function run({ run }: BrowserCase): Promise<string | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${CASE_MS_MAX} ms`)), CASE_MS_MAX);
  });
  try {
    await Promise.race([run(), tooLong]);
    return null;
  } catch (error) {
    return textOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/** An error with its causes. Firefox's stacks do not begin with the message. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const head = `${error.name}: ${error.message}`;
  const stack = error.stack ?? "";
  const whole = stack.includes(error.message) ? stack : `${head}\n${stack}`;
  return error.cause === undefined ? whole : `${whole}\nCaused by: ${textOf(error.cause)}`;
}
