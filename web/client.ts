/**
 * The page's end of the line to its worker.
 *
 * @module
 */
import type { PageCalls, PageState, PageVerb, WireError, WorkerMessage, WorkerNews } from "./protocol.ts";

/** How many requests may wait for an answer. */
export const PENDING_REQUESTS_MAX = 200;
/** How long a page holds its thread in `freeze`, in milliseconds, so that its worker can let go before it is frozen too. */
export const FREEZE_HOLD_MS = 50;

/** What is used of a `Worker`. */
export interface WorkerLike {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(type: "message" | "error" | "messageerror", listener: (event: Event) => void): void;
  terminate(): void;
}

/** A refusal of the worker, or what became of a request that got no answer. */
export class WorkerError extends Error {
  /** The code of the refusal; `WORKER_DIED` when the worker is gone, `BUFFER_FULL` when too many requests wait. */
  readonly code: string;
  /** With `STORAGE_LOST`: the sessions that were known and are gone. */
  readonly sessionIds: readonly string[] | undefined;

  /** Takes over what crossed. */
  constructor({ code, message, sessionIds }: WireError) {
    super(message);
    this.name = "WorkerError";
    this.code = code;
    this.sessionIds = sessionIds;
  }
}

/** A worker as the page uses it. */
export interface HoldfastClient {
  /**
   * Asks once.
   *
   * @throws {WorkerError} when it is refused, and when the worker dies before it answers
   */
  call<Verb extends PageVerb>(verb: Verb, ask: PageCalls[Verb]["ask"]): Promise<PageCalls[Verb]["answer"]>;
  /** Hears what the worker tells unasked, until the returned function is called. */
  subscribe(listener: (news: WorkerNews) => void): () => void;
  /** Resolves with the reason when the worker is gone: terminated, crashed on purpose, or broken. After `restart()`, a new one. */
  readonly died: Promise<WorkerError>;
  /** Ends the worker at once, as a crash would. Nothing is flushed, and what waits is rejected. */
  terminate(): void;
  /** Starts a new worker in its place. Throws a TypeError when the client was given a worker and not how to start one. */
  restart(): void;
  /** Tells the worker that the page goes, and ends it when it has let its sessions go. */
  close(): Promise<void>;
}

/**
 * Connects to a worker that runs `serveWorker`.
 *
 * @param source the worker, or what starts one, so that it can be restarted
 *
 * @example
 * ```ts
 * import { connectWorker } from "./client.ts";
 *
 * async function inPage(url: URL) {
 *   const client = connectWorker(() => new Worker(url, { type: "module" }));
 *   await client.call("hello", { tabLabel: document.title, state: "visible" });
 *   const { id } = await client.call("create", {});
 *   client.subscribe((news) => news.kind === "events" && console.log(news.events));
 *   await client.call("send", { id, inputId: crypto.randomUUID(), text: "list the files" });
 * }
 * if (typeof inPage !== "function") throw new Error("unreachable");
 * ```
 */
export function connectWorker(source: WorkerLike | (() => WorkerLike)): HoldfastClient {
  const listeners = new Set<(news: WorkerNews) => void>();
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  let next = 0;
  let died = Promise.withResolvers<WorkerError>();
  let isDead = false;
  let worker = start();

  function start(): WorkerLike {
    const started = typeof source === "function" ? source() : source;
    started.addEventListener("message", (event) => {
      if (started === worker && !isDead) hear((event as MessageEvent).data as WorkerMessage);
    });
    started.addEventListener("error", (event) => {
      const { message = "it failed to load" } = event as Partial<ErrorEvent>;
      if (started === worker) die(`Cannot reach the worker: ${message}`);
    });
    return started;
  }

  function hear(message: WorkerMessage): void {
    if (message.kind === "reply" || message.kind === "refusal") {
      const waiting = pending.get(message.request);
      pending.delete(message.request);
      if (message.kind === "reply") waiting?.resolve(message.answer);
      else waiting?.reject(new WorkerError(message.error));
      return;
    }
    if (message.kind === "crash") die(`The worker crashed as it was told to: ${message.at}`);
    for (const listener of [...listeners]) listener(message);
  }

  function die(message: string): void {
    if (isDead) return;
    isDead = true;
    worker.terminate();
    const error = new WorkerError({ code: "WORKER_DIED", message });
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
    died.resolve(error);
  }

  const client: HoldfastClient = {
    async call(verb, ask) {
      if (isDead) throw new WorkerError({ code: "WORKER_DIED", message: `Cannot ask "${verb}": the worker is gone` });
      if (pending.size >= PENDING_REQUESTS_MAX) {
        const message = `Cannot ask "${verb}": ${PENDING_REQUESTS_MAX} requests wait for an answer`;
        throw new WorkerError({ code: "BUFFER_FULL", message });
      }
      const answered = Promise.withResolvers<unknown>();
      const request = next++;
      pending.set(request, answered);
      try {
        worker.postMessage({ request, verb, ask });
      } catch (error) {
        pending.delete(request);
        throw error;
      }
      return await answered.promise as never;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    get died() {
      return died.promise;
    },
    terminate: () => die("The worker was terminated"),
    restart() {
      if (typeof source !== "function") {
        throw new TypeError("Cannot restart a worker: it is not known how to start one");
      }
      die("The worker is replaced");
      died = Promise.withResolvers();
      isDead = false;
      worker = start();
    },
    async close() {
      if (!isDead) await client.call("state", { state: "pagehide" }).catch(() => {});
      die("The page closed the worker");
    },
  };
  return client;
}

/** What is used of the page to follow its life. */
export interface PageLife {
  readonly document: Pick<Document, "visibilityState" | "addEventListener" | "removeEventListener">;
  readonly window: Pick<Window, "addEventListener" | "removeEventListener">;
  /** Milliseconds from anywhere. */
  readonly elapsedMs: () => number;
}

/**
 * Tells the worker whether the page is looked at, and that it is about to be frozen or left.
 *
 * A frozen tab keeps what it holds, and nobody can take it away. Its worker is frozen before it has read a message, unless the
 * page keeps its own thread busy for a moment: so it does, for FREEZE_HOLD_MS at most.
 *
 * @returns ends the following
 *
 * @example
 * ```ts
 * import { connectWorker, followPageState } from "./client.ts";
 *
 * function inPage(worker: Worker) {
 *   return followPageState(connectWorker(worker));
 * }
 * if (typeof inPage !== "function") throw new Error("unreachable");
 * ```
 */
export function followPageState(
  client: Pick<HoldfastClient, "call">,
  { document, window, elapsedMs }: PageLife = {
    document: globalThis.document,
    window: globalThis.window as Window & typeof globalThis,
    elapsedMs: () => performance.now(),
  },
): () => void {
  const tell = (state: PageState) => void client.call("state", { state }).catch(() => {});
  const onVisibility = () => tell(pageState(document));
  const onFreeze = () => {
    tell("freeze");
    for (const endMs = elapsedMs() + FREEZE_HOLD_MS; elapsedMs() < endMs;);
  };
  const onResume = () => {
    tell("resume");
    onVisibility();
  };
  const onPageHide = () => tell("pagehide");
  const onPageShow = (event: Event) => {
    if ((event as PageTransitionEvent).persisted) onResume();
  };
  document.addEventListener("visibilitychange", onVisibility);
  document.addEventListener("freeze", onFreeze);
  document.addEventListener("resume", onResume);
  window.addEventListener("pagehide", onPageHide);
  window.addEventListener("pageshow", onPageShow);
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    document.removeEventListener("freeze", onFreeze);
    document.removeEventListener("resume", onResume);
    window.removeEventListener("pagehide", onPageHide);
    window.removeEventListener("pageshow", onPageShow);
  };
}

/** What to tell the worker of a page that is there. */
export function pageState(document: Pick<Document, "visibilityState">): "visible" | "hidden" {
  return document.visibilityState === "visible" ? "visible" : "hidden";
}
