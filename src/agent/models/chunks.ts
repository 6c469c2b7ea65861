/**
 * Writes the chunks of a model stream, for models that know their answer before they give it.
 *
 * @module
 */
import type { StreamChunk } from "../../event/mod.ts";

/**
 * The chunks of one text block, in as many deltas as there are pieces.
 *
 * @example
 * ```ts
 * import { textChunks } from "./chunks.ts";
 *
 * if (textChunks(0, ["he", "llo"]).length !== 4) throw new Error("unreachable");
 * ```
 */
export function textChunks(index: number, pieces: readonly string[]): StreamChunk[] {
  return [
    { type: "block-start", index, blockType: "text" },
    ...pieces.map((text): StreamChunk => ({ type: "text-delta", index, text })),
    { type: "block-end", index, block: { type: "text", text: pieces.join("") } },
  ];
}

/**
 * The chunks of one reasoning block.
 *
 * @example
 * ```ts
 * import { reasoningChunks } from "./chunks.ts";
 *
 * if (reasoningChunks(0, ["hm"])[0]?.type !== "block-start") throw new Error("unreachable");
 * ```
 */
export function reasoningChunks(index: number, pieces: readonly string[]): StreamChunk[] {
  return [
    { type: "block-start", index, blockType: "reasoning" },
    ...pieces.map((text): StreamChunk => ({ type: "reasoning-delta", index, text })),
    { type: "block-end", index, block: { type: "reasoning", text: pieces.join("") } },
  ];
}

/**
 * The chunks of one proposed call. `args` is the raw argument text, as a model would send it.
 *
 * @example
 * ```ts
 * import { callChunks } from "./chunks.ts";
 *
 * const chunks = callChunks(0, { id: "c1", name: "read_file", args: '{"path":"a.txt"}' });
 * if (chunks.length !== 3) throw new Error("unreachable");
 * ```
 */
export function callChunks(
  index: number,
  call: { readonly id: string; readonly name: string; readonly args: string },
): StreamChunk[] {
  const { id, name, args } = call;
  return [
    { type: "block-start", index, blockType: "tool-call" },
    { type: "tool-call-delta", index, id, name, argumentsDelta: args },
    { type: "block-end", index, block: { type: "tool-call", id, name, arguments: args } },
  ];
}
