/**
 * The page of the crash lab in a browser: it starts a worker with an order, and hands back what that answers.
 *
 * @module
 */
import type { WorkerAnswer, WorkerOrder } from "./lab_kill_worker.ts";

declare global {
  /** The test calls it by this name. */
  var runOrder: (order: WorkerOrder) => Promise<WorkerAnswer>;
}

globalThis.runOrder = (order) =>
  new Promise((answered) => {
    const worker = new Worker("/lab_kill_worker.js", { type: "module" });
    worker.addEventListener("error", ({ message }) => answered({ failed: message || "the worker did not load" }));
    worker.addEventListener("message", ({ data }) => {
      worker.terminate();
      answered(data);
    });
    worker.postMessage(order);
  });
