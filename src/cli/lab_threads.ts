/**
 * The crash lab on several threads: each does every n-th unit of the same plan.
 *
 * @module
 */
import { addTally, emptyTally, type LabOptions, type LabTally } from "../testing/mod.ts";

/** What a thread is told to do. */
export type LabTask = Pick<LabOptions, "seed" | "exhaustive" | "randomStates" | "faultStates" | "share">;

/** What a thread says: what it has counted so far, at the end once more, or why it failed. */
export type LabWord = { readonly tally: LabTally; readonly isDone: boolean } | { readonly failure: string };

/**
 * Runs the lab on threads of their own, so that this one stays free.
 *
 * @param onProgress told the sum of all threads after each unit
 * @throws what a thread failed with; the others are ended
 */
export async function runLabThreads(
  task: Omit<LabTask, "share">,
  threads: number,
  onProgress: (tally: LabTally) => void = () => {},
  signal?: AbortSignal,
): Promise<LabTally> {
  const tallies = Array.from({ length: threads }, emptyTally);
  const sum = () => {
    const total = emptyTally();
    for (const tally of tallies) addTally(total, tally);
    return total;
  };
  const workers: Worker[] = [];
  const failed = Promise.withResolvers<never>();
  const onAbort = () => failed.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    const done = tallies.map((_, index) => {
      const worker = new Worker(new URL("./lab_worker.ts", import.meta.url), { type: "module" });
      workers.push(worker);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      worker.onmessage = ({ data }: MessageEvent<LabWord>) => {
        if ("failure" in data) return reject(new Error(data.failure));
        tallies[index] = data.tally;
        onProgress(sum());
        if (data.isDone) resolve();
      };
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage({ ...task, share: { index, of: threads } } satisfies LabTask);
      return promise;
    });
    await Promise.race([Promise.all(done), failed.promise]);
    return sum();
  } finally {
    signal?.removeEventListener("abort", onAbort);
    for (const worker of workers) worker.terminate();
  }
}
