/**
 * What the page needs of its worker: calls and news. The page is drawn against this, so a test can put another worker behind it.
 *
 * @module
 */
import type { PageCalls, PageVerb, WireError, WorkerNews } from "../protocol.ts";

/** A way to a worker. */
export interface PageClient {
  /** Asks once. Rejects with a {@linkcode WireError}. */
  call<Verb extends PageVerb>(verb: Verb, ask: PageCalls[Verb]["ask"]): Promise<PageCalls[Verb]["answer"]>;
  /** Hears what the worker tells unasked, until the returned function is called. */
  subscribe(listener: (news: WorkerNews) => void): () => void;
}

/** A worker that runs. */
export interface Connection {
  readonly client: PageClient;
  /** Kills it at once, as a crash would. Nothing is flushed. */
  terminate(): void;
  /** Resolves with the reason when the worker is gone. */
  readonly died: Promise<WireError>;
}

/** Starts a worker. */
export type Connect = () => Connection;

/** Stands where whoever refused gave no words. */
const NOTHING_SAID = "it was refused, and nothing was said about why";

/** Any error, as one that crosses. */
export function wireError(error: unknown): WireError {
  if (typeof error === "object" && error !== null && "code" in error && "message" in error) {
    const { code, message, sessionIds } = error as WireError;
    // Taken out one by one: the message of an Error is not among what a spread copies.
    const said = String(message) || NOTHING_SAID;
    if (typeof code === "string") return { code, message: said, ...(sessionIds && { sessionIds }) };
  }
  return error instanceof Error
    ? { code: error.name, message: error.message || NOTHING_SAID }
    : { code: "Error", message: String(error) || NOTHING_SAID };
}
