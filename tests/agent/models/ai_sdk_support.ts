/**
 * Hand-made models of the AI SDK, which yield exactly the parts a test says.
 *
 * @module
 */
import { assemble, type Assembled } from "../../../src/agent/assemble.ts";
import { type AiSdkOptions, fromAiSdk } from "../../../src/agent/models/ai_sdk.ts";
import type { AiSdkCall, AiSdkModel } from "../../../src/agent/models/ai_sdk_shapes.ts";
import { type Message, type StreamChunk, StreamRecorder } from "../../../src/event/mod.ts";
import type { ModelRequest } from "../../../src/model/model.ts";

export type Part = Record<string, unknown>;
export type Version = "v2" | "v3" | "v4";
export const VERSIONS: readonly Version[] = ["v2", "v3", "v4"];

/** A model that yields the parts, or throws what is thrown at the first pull. */
export function modelOf(version: string, parts: readonly Part[] | Error): AiSdkModel & { readonly calls: AiSdkCall[] } {
  const calls: AiSdkCall[] = [];
  return {
    specificationVersion: version,
    provider: "mine.chat",
    modelId: "small",
    calls,
    doStream(call) {
      calls.push(call);
      if (parts instanceof Error) throw parts;
      return Promise.resolve({ stream: ReadableStream.from(parts) });
    },
  };
}

/** A request, for one tool named "read" unless it says more. */
export function requestOf(messages: readonly Message[] = [], config: Partial<ModelRequest["header"]["config"]> = {}) {
  return {
    sessionId: "s1",
    header: {
      config: { provider: "mine.chat", model: "small", ...config },
      tools: [{ name: "read", description: "reads", parameters: { type: "object" } }],
    },
    messages,
  } satisfies ModelRequest;
}

/** What a model makes of its parts. Every chunk is one that the log takes. */
export async function chunksOf(
  version: string,
  parts: readonly Part[] | Error,
  options: AiSdkOptions = {},
): Promise<StreamChunk[]> {
  const stream = fromAiSdk(modelOf(version, parts), options).stream(requestOf(), new AbortController().signal);
  const chunks = await Array.fromAsync(stream);
  const recorder = new StreamRecorder();
  for (const chunk of chunks) recorder.add(chunk, 1);
  return chunks;
}

/** The message that the loop makes of chunks. */
export function assembled(chunks: readonly StreamChunk[]): Assembled {
  return assemble(chunks.map((chunk) => ({ chunk, time: 1 })), { turn: 1, step: 1, takenCallIds: new Set() });
}

/** The message as it stands in the next request. */
export function messageOf(chunks: readonly StreamChunk[]): Message {
  const { content, replayState } = assembled(chunks);
  const source = {
    kind: "model",
    provider: "mine.chat",
    model: "small",
    ...(replayState === null ? {} : { replayState }),
  };
  return { id: "m1", role: "assistant", content, source };
}

export function text(id: string, delta: string): Part[] {
  return [{ type: "text-start", id }, { type: "text-delta", id, delta }, { type: "text-end", id }];
}

export function call(toolCallId: string, toolName: string, input: string, more: Part = {}): Part {
  return { type: "tool-call", toolCallId, toolName, input, ...more };
}

/** The last part, in the shape of the version. */
export function finish(version: string, unified: string, raw: string | undefined = unified): Part {
  return version === "v2"
    ? { type: "finish", finishReason: unified, usage: { inputTokens: undefined, outputTokens: undefined } }
    : { type: "finish", finishReason: { unified, raw }, usage: { inputTokens: {}, outputTokens: {} } };
}
