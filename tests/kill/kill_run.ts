/**
 * What every run of kills is made of: processes that die at a given instant, several at the same time, and verdicts that name
 * their seed.
 *
 * @module
 */
import { Child } from "./child.ts";
import type { TraceLine } from "./stretched_disk.ts";

/** How many payers live at the same time: most of them sleep. */
export const WORKERS = 4;
/** From one kill to the end of its judgement. */
const KILL_MS_MAX = 60_000;

/** Does the work for every item, so many at the same time. @throws {Error} the first failure; the others end what they are at */
export async function forEach<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  lanes: number = WORKERS,
): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  const workers = Array.from({ length: lanes }, () =>
    worker().catch((error) => {
      waiting.length = 0;
      throw error;
    }));
  for (const ended of await Promise.allSettled(workers)) if (ended.status === "rejected") throw ended.reason;
}

/** How much longer a run takes here than planned: how long `program` takes from "ready" to "over", by its plan. */
export async function slownessOf(program: string, runs: readonly { order: unknown; runMs: number }[]): Promise<number> {
  const ratios = await Promise.all(runs.map(async ({ order, runMs }) => {
    await using child = new Child(program, order);
    await child.line("ready");
    const beganMs = performance.now();
    await child.line("over");
    return (performance.now() - beganMs) / runMs;
  }));
  return ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
}

/** Starts a part and kills it, so long after it is ready, or has said what is aimed at. @returns whether it was still alive */
export async function runUntilKilled(
  program: string,
  order: unknown,
  killAfterMs: number,
  aim: string | null = null,
): Promise<boolean> {
  await using child = new Child(program, order);
  await child.line("ready");
  if (aim !== null) await child.line(aim);
  await new Promise((over) => setTimeout(over, killAfterMs));
  return await child.kill();
}

/** Runs a judgement; whatever it throws names the seed, and how to run it alone. */
export async function tried<Result>(
  { seed }: { readonly seed: number },
  judge: () => Result | Promise<Result>,
  msMax: number = KILL_MS_MAX,
): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no verdict after ${msMax} ms`)), msMax);
  });
  try {
    return await Promise.race([judge(), tooLong]);
  } catch (error) {
    const found = error instanceof Error ? error.stack : error;
    throw new Error(`seed ${seed} (again with HOLDFAST_KILL_SEEDS=${seed}): ${found}`);
  } finally {
    clearTimeout(timer);
  }
}

/** The seeds to run: those of HOLDFAST_KILL_SEEDS, else `count` from `first` on. */
export function seedsFrom(first: number, count: number): number[] {
  const named = Deno.env.get("HOLDFAST_KILL_SEEDS");
  if (named) return named.split(",").map(Number);
  return Array.from({ length: count }, (_, index) => first + index);
}

/** The lines of a trace. */
export function readTrace(text: string): TraceLine[] {
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** A file's bytes; `null` when there is none. */
export async function readIfThere(path: string): Promise<Uint8Array | null> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
