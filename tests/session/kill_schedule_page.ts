/**
 * The page of the kill schedule: it starts the workers, ends them, and holds the bank. `killSchedule()` gives the result.
 *
 * @module
 */
import { killEverywhere, type Life, type Order, type Said } from "./kill_schedule.ts";

function start(order: Order): Promise<Life> {
  const worker = new Worker("/worker.js", { type: "module" });
  const said: Said[] = [];
  let wake: () => void = () => {};
  let failure: Error | null = null;
  worker.onmessage = ({ data }) => {
    said.push(data);
    wake();
  };
  worker.onerror = ({ message }) => {
    failure = new Error(message);
    wake();
  };
  worker.postMessage({ order });
  return Promise.resolve({
    async hear() {
      while (said.length === 0 && failure === null) await new Promise<void>((resolve) => wake = resolve);
      if (said.length === 0) throw failure!;
      return said.shift()!;
    },
    tell: (answer) => worker.postMessage({ answer }),
    kill: () => Promise.resolve(worker.terminate()),
  });
}

Object.assign(globalThis, { killSchedule: () => killEverywhere(start) });
