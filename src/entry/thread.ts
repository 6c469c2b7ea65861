/**
 * A thread of its own, in Deno and in Node.
 *
 * Both have `node:worker_threads`, but Deno copies what is sent through it byte by byte, at some megabytes a second; its web
 * workers hand a buffer over. Node has no web workers.
 *
 * @module
 */
import { parentPort, Worker as NodeWorker } from "node:worker_threads";

/** One end of a thread: what is sent arrives at the other. */
export interface ThreadEnd {
  /** @param transfer buffers that are handed over, and gone here */
  send(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  onMessage(take: (message: unknown) => void): void;
}

/** A thread that was started here. */
export interface Thread extends ThreadEnd {
  /** It failed, or could not be started. */
  onFailure(take: (error: unknown) => void): void;
  terminate(): Promise<void>;
}

/** What of a web worker is used. Our types are not those of one. */
interface WebWorker {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  addEventListener(type: "message" | "error", listener: (event: WebEvent) => void): void;
  terminate(): void;
}

interface WebEvent {
  readonly data?: unknown;
  readonly message?: string;
  preventDefault(): void;
}

/**
 * Starts a module on a thread of its own.
 *
 * @throws where no thread can be started at all
 */
export function startThread(module: URL): Thread {
  const { Worker } = globalThis as { readonly Worker?: new (module: URL, options: { type: "module" }) => WebWorker };
  return Worker === undefined ? nodeThread(module) : webThread(new Worker(module, { type: "module" }));
}

/** The other end of the thread that this module runs on; `null` on the main one. */
export function threadEnd(): ThreadEnd | null {
  const scope = globalThis as { readonly WorkerGlobalScope?: unknown };
  if (scope.WorkerGlobalScope !== undefined) return webEnd(globalThis as unknown as WebWorker);
  if (parentPort === null) return null;
  const port = parentPort;
  return {
    send: (message, transfer = []) => port.postMessage(message, transfer as ArrayBuffer[]),
    onMessage: (take) => port.on("message", take),
  };
}

function webEnd(worker: WebWorker): ThreadEnd {
  return {
    send: (message, transfer = []) => worker.postMessage(message, transfer),
    onMessage: (take) => worker.addEventListener("message", ({ data }) => take(data)),
  };
}

function webThread(worker: WebWorker): Thread {
  return {
    ...webEnd(worker),
    onFailure: (take) =>
      worker.addEventListener("error", (event) => {
        event.preventDefault();
        take(new Error(event.message));
      }),
    terminate: () => Promise.resolve(worker.terminate()),
  };
}

function nodeThread(module: URL): Thread {
  const worker = new NodeWorker(module);
  return {
    send: (message, transfer = []) => worker.postMessage(message, transfer as ArrayBuffer[]),
    onMessage: (take) => worker.on("message", take),
    onFailure: (take) => {
      worker.on("error", take);
      worker.on("exit", () => take(new Error("the thread ended")));
    },
    terminate: async () => {
      await worker.terminate();
    },
  };
}
