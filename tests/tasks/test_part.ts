/**
 * One run of `deno test`, shown as it happens and counted.
 *
 * @module
 */

import { killTree } from "../support/browser/launch.ts";
import { repositoryDir } from "../support/paths.ts";

/** The runs of `deno test` that live now. */
const running = new Set<Deno.ChildProcess>();

/** Kills every run that lives, and all processes they started, and resolves when they are gone. */
export async function killParts(): Promise<void> {
  await Promise.allSettled([...running].map(({ pid }) => killTree(pid)));
}

/** What one run of `deno test` came to. */
export interface Part {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly ignored: number;
  /** Lines that say which cases were left out, and why. */
  readonly notRun: readonly string[];
}

/** Variables that would make a test behave by the machine's settings instead of its own. */
const FOREIGN_VARIABLES =
  /^(HOLDFAST_(ROOT|API_KEY|SECRET_.*|SERVER|TOKEN)|OPENAI_API_KEY|DENO_(FUTURE|COVERAGE_DIR))$/;

/** Runs `deno test` with these arguments. A run that ends without a summary, or without success, counts as a failure. */
export async function runPart(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
  show: (line: string) => void = console.log,
): Promise<Part> {
  const inherited = Object.entries(Deno.env.toObject()).filter(([key]) => !FOREIGN_VARIABLES.test(key));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", ...args],
    cwd: repositoryDir,
    clearEnv: true,
    env: { ...Object.fromEntries(inherited), NO_COLOR: "1", TZ: "UTC", LC_ALL: "C.UTF-8", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  running.add(child);

  let passed = 0;
  let failed = 0;
  let ignored = 0;
  const notRun: string[] = [];
  for await (const line of lines(child.stdout)) {
    show(line);
    if (/^\d+ cases? not run: /.test(line)) notRun.push(line);
    const summary = /^(?:ok|FAILED) \| (\d+) passed(?: \(.*?\))? \| (\d+) failed(?: \(.*?\))?(?: \| (\d+) ignored)?/
      .exec(line);
    if (summary === null) continue;
    passed = Number(summary[1]);
    failed = Number(summary[2]);
    ignored = Number(summary[3] ?? 0);
  }
  const { success } = await child.status;
  running.delete(child);
  // A type error, a crash or a leak outside of a test: no failed test, and yet no success.
  if (!success && failed === 0) failed = 1;
  return { name, passed, failed, ignored, notRun };
}

async function* lines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
  if (rest !== "") yield rest;
}
