/**
 * A worker started by a worker, from the same bundle: another process of the same origin, as far as files and locks go.
 *
 * Runs in the worker. The module that is bundled asks `isChild()` which part it has to play.
 *
 * @module
 */

/** What a dedicated worker can do, as far as the tests need it: no library of every runtime has its type. */
export interface Scope {
  readonly name: string;
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
}

/** The worker that this module runs in. */
export const workerScope: Scope = globalThis as unknown as Scope;

/** Says whether this worker was started as this child. */
export function isChild(name: string): boolean {
  return workerScope.name === name;
}

/** A child and its messages. */
export interface ChildWorker {
  post(message: unknown): void;
  /** Its next message that nobody has taken yet. Rejects when the child fails. */
  next<Message>(): Promise<Message>;
  /** Ends it at once, wherever it is, with no chance to clean up. */
  terminate(): void;
}

/** Starts the same module in a worker of this name. */
export function childWorker(name: string): ChildWorker {
  const worker = new Worker(location.href, { type: "module", name });
  const messages: unknown[] = [];
  const waiting: PromiseWithResolvers<unknown>[] = [];
  worker.onmessage = ({ data }) => {
    const first = waiting.shift();
    if (first === undefined) messages.push(data);
    else first.resolve(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    for (const each of waiting.splice(0)) each.reject(new Error(`worker "${name}": ${event.message}`));
  };
  return {
    post: (message) => worker.postMessage(message),
    next<Message>() {
      if (messages.length > 0) return Promise.resolve(messages.shift() as Message);
      const next = Promise.withResolvers<unknown>();
      waiting.push(next);
      return next.promise as Promise<Message>;
    },
    terminate: () => worker.terminate(),
  };
}
