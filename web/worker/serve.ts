/**
 * A worker that runs an agent for its page: store, sessions and tools live here, and the page only draws and asks.
 *
 * @module
 */
import type { PageRequest, WorkerReply } from "../protocol.ts";
import { browserPlatform } from "./browser.ts";
import { Desk } from "./desk.ts";
import { standardModels } from "./models.ts";
import type { ServeOptions } from "./serve_options.ts";
import { readRequest, Refusal, wireError } from "./wire.ts";

export type { OpenedStore, ServeOptions } from "./serve_options.ts";

/** How many requests of a page may be in work. */
export const REQUESTS_MAX = 256;

/**
 * Serves the page of this worker, until the worker ends.
 *
 * Each request gets exactly one reply, also one that is none of ours, if it has a number. What a page and its worker say to
 * each other is in `protocol.ts`; `connectWorker` in `client.ts` is the other end.
 *
 * @example
 * ```ts
 * import { serveWorker } from "./serve.ts";
 * import { openOpfsStore } from "../../src/entry/opfs.ts";
 *
 * function inWorker() {
 *   serveWorker({ openStore: () => openOpfsStore() });
 * }
 * if (typeof inWorker !== "function") throw new Error("unreachable");
 * ```
 */
export function serveWorker(options: ServeOptions): void {
  const platform = options.platform ?? browserPlatform(options.scope);
  const desk = new Desk({ ...options, platform, models: options.models ?? standardModels(platform.runtime.clock) });
  let inWork = 0;

  async function serve(request: PageRequest): Promise<void> {
    const { request: number } = request;
    if (inWork >= REQUESTS_MAX) {
      const message = `Cannot answer "${request.verb}": ${REQUESTS_MAX} requests are in work`;
      return refuse(number, new Refusal("BUFFER_FULL", message));
    }
    inWork++;
    try {
      const { answer, transfer, afterwards } = await desk.answer(request);
      platform.page.post({ kind: "reply", request: number, answer } satisfies WorkerReply, transfer);
      afterwards?.();
    } catch (error) {
      refuse(number, error);
    } finally {
      inWork--;
    }
  }

  function refuse(number: number, error: unknown): void {
    platform.page.post({ kind: "refusal", request: number, error: wireError(error) });
  }

  platform.page.listen((message) => {
    const read = readRequest(message);
    if (read === null) return;
    if ("request" in read) void serve(read.request);
    else platform.page.post({ kind: "refusal", request: read.number, error: read.refusal });
  });
}
