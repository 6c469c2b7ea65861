/**
 * Which model answers, changed while sessions are open.
 *
 * @module
 */
import { type Clock, demo, type Model, openAiCompatible } from "../../mod.ts";
import type { ModelChoice } from "../protocol.ts";
import { pause } from "./pause.ts";

/** The pause between two words of the demo model, in milliseconds: it is there to be watched. */
export const DEMO_WORD_MS = 25;

/** Makes a model from a choice. */
export type ModelMaker = (choice: ModelChoice) => Model;

/** The demo model, and any endpoint that speaks the chat-completions protocol. The key stays in this closure. */
export function standardModels(clock: Clock): ModelMaker {
  return (choice) => {
    if (choice.kind === "demo") return paced(demo(), clock, DEMO_WORD_MS);
    const { model, baseUrl, apiKey } = choice;
    return openAiCompatible({ model, baseUrl, apiKey, clock, fetch: (input, init) => fetch(input, init) });
  };
}

/** One model in the place of another. */
export class SwitchedModel implements Model {
  #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  get provider(): string {
    return this.#model.provider;
  }

  get id(): string {
    return this.#model.id;
  }

  get contextWindow(): Model["contextWindow"] {
    return this.#model.contextWindow;
  }

  /** From the next request on. */
  set(model: Model): void {
    this.#model = model;
  }

  stream(...args: Parameters<Model["stream"]>): ReturnType<Model["stream"]> {
    return this.#model.stream(...args);
  }
}

/** A model that waits before each piece of text. */
export function paced(model: Model, clock: Clock, pauseMs: number): Model {
  return {
    provider: model.provider,
    id: model.id,
    contextWindow: model.contextWindow,
    async *stream(request, signal) {
      for await (const chunk of model.stream(request, signal)) {
        if (chunk.type === "text-delta") await pause(clock, pauseMs, signal);
        yield chunk;
      }
    },
  };
}
