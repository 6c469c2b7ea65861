/**
 * What is used of a language model of the AI SDK, written down by shape: nothing of the SDK is imported.
 *
 * @see AI SDK, package `@ai-sdk/provider`: `LanguageModelV2`, `LanguageModelV3`, `LanguageModelV4`
 * @module
 */

/** Version 2, 3 or 4 of the Language Model specification. */
export type AiSdkVersion = 2 | 3 | 4;

/** A language model of the AI SDK, of any provider. */
export interface AiSdkModel {
  /** "v2", "v3" or "v4". */
  readonly specificationVersion: string;
  /** Who serves it, as the log names it. */
  readonly provider: string;
  /** Which one, as the log names it. */
  readonly modelId: string;
  /** Makes one request. The parts of the stream are looked at as if a stranger wrote them. */
  doStream(options: AiSdkCall): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** One call of a model, in the words the three versions share. */
export interface AiSdkCall {
  /** The conversation. */
  // deno-lint-ignore no-explicit-any -- the three versions differ here, and each model takes only its own
  readonly prompt: any;
  /** The tools the model may call; ours only, none that the provider runs. */
  // deno-lint-ignore no-explicit-any -- as above
  readonly tools?: any;
  /** The ceiling of the answer. */
  readonly maxOutputTokens?: number;
  /** As the provider understands it. */
  readonly temperature?: number;
  /** Where the model stops. */
  readonly stopSequences?: string[];
  /** How hard the model thinks. */
  // deno-lint-ignore no-explicit-any -- version 4 has its own vocabulary
  readonly reasoning?: any;
  /** What only the provider understands, by provider. */
  // deno-lint-ignore no-explicit-any -- opaque to everyone but the provider
  readonly providerOptions?: any;
  /** Ends the request. */
  readonly abortSignal?: AbortSignal;
}

/** An object of unknown content: what a model yields is looked at as if a stranger wrote it. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none of anything else. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}

/** The text, or the empty one when it is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The items of a list; none of anything else. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
