/**
 * The model, as the loop meets it: whatever goes wrong inside becomes a chunk of the stream.
 *
 * Only what fails in here is the model's failure and may be tried again. What listeners around it throw is theirs.
 *
 * @see execution §1.6
 * @module
 */
import type { LlmFailure, StreamChunk } from "../event/mod.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import { messageOf } from "../tool/mod.ts";
import type { CallConfig } from "./hooks.ts";

/**
 * Chooses who serves a request: the model that is named, else another one of the same provider, which is told the name.
 *
 * @returns `null` when nobody serves that provider; a listener of `llm/stream` still may
 *
 * @example
 * ```ts
 * import { modelFor } from "./model_boundary.ts";
 * import { scripted } from "./models/mod.ts";
 *
 * const model = scripted([]);
 * if (modelFor([model], { provider: "scripted", model: "scripted" }) !== model) throw new Error("unreachable");
 * if (modelFor([model], { provider: "other", model: "scripted" }) !== null) throw new Error("unreachable");
 * ```
 */
export function modelFor(models: readonly Model[], { provider, model }: CallConfig): Model | null {
  const own = models.filter((candidate) => candidate.provider === provider);
  return own.find((candidate) => candidate.id === model) ?? own[0] ?? null;
}

/** One attempt to have a request answered. */
export class ModelBoundary {
  readonly #model: Model | null;
  readonly #request: ModelRequest;
  readonly #signal: AbortSignal;
  #isSent = false;
  #isOver = false;

  constructor(model: Model | null, request: ModelRequest, signal: AbortSignal) {
    this.#model = model;
    this.#request = request;
    this.#signal = signal;
  }

  /** Whether the model was asked. */
  get isSent(): boolean {
    return this.#isSent;
  }

  /** Ends the attempt: whoever comes late, with a `next()` it kept, finds nobody any more. */
  end(): void {
    this.#isOver = true;
  }

  /** The model's stream. It fails only by its last chunk. */
  async *stream(): AsyncGenerator<StreamChunk, void, void> {
    this.#check();
    if (this.#model === null) {
      const { provider, model } = this.#request.header.config;
      return yield failed({
        message: `no model "${model}" of provider "${provider}" is connected`,
        code: "NO_ADAPTER",
      });
    }
    this.#isSent = true;
    try {
      for await (const chunk of this.#model.stream(this.#request, this.#signal)) {
        yield chunk;
        this.#check();
      }
    } catch (error) {
      this.#check();
      yield failed({ message: messageOf(error), code: "TRANSPORT" });
    }
  }

  #check(): void {
    this.#signal.throwIfAborted();
    if (this.#isOver) throw new TypeError("Cannot ask the model: this attempt is over");
  }
}

function failed(failure: LlmFailure): StreamChunk {
  return { type: "finish", reason: { kind: "error", failure } };
}
