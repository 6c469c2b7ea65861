/**
 * The model port: one request in, a stream of chunks out.
 *
 * @module
 */
import type { Message, RequestHeader, StreamChunk } from "../event/mod.ts";

/** One request, derived only from the log. */
export interface ModelRequest {
  /** The session whose log the request was derived from. */
  readonly sessionId: string;
  /** Provider, model, parameters and tools, as the last `request/header` says. */
  readonly header: RequestHeader;
  /** What the model sees, system message first when there is one. */
  readonly messages: readonly Message[];
  /** What it is for when it is no step of a conversation: `compaction` asks for a summary. */
  readonly purpose?: "compaction";
}

/** A language model. */
export interface Model {
  /** Who serves it: "demo", "scripted", "openai". */
  readonly provider: string;
  /** Which one: "demo", "gpt-5". */
  readonly id: string;
  /** Tokens of context, when known. */
  readonly contextWindow?: number;
  /**
   * Starts one request at the first pull, never before: the model barrier sits on that pull.
   *
   * A failure the provider reports is a `finish` chunk of kind `error` or `aborted`. A stream that throws counts as
   * `TRANSPORT`; one that ends without a `finish` counts as stop.
   *
   * @param signal ends the request; what the stream yields afterwards is dropped
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<StreamChunk>;
}
