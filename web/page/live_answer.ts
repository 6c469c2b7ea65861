/**
 * The answer that is being streamed: an overlay over the log that is never durable, and gone as soon as the log holds the message.
 *
 * @module
 */
import type { StreamChunk } from "../../mod.ts";

/** What has come so far of one step. */
export interface LiveAnswer {
  readonly turn: number;
  readonly step: number;
  readonly text: string;
  readonly reasoning: string;
  /** Tools the model is about to call, by block. */
  readonly calls: readonly { readonly index: number; readonly name: string; readonly argumentsText: string }[];
}

/** The overlay with one more chunk. Another step begins a new one. */
export function withChunk(live: LiveAnswer | null, turn: number, step: number, chunk: StreamChunk): LiveAnswer {
  const isSame = live !== null && live.turn === turn && live.step === step;
  const base = isSame ? live : { turn, step, text: "", reasoning: "", calls: [] };
  switch (chunk.type) {
    case "text-delta":
      return { ...base, text: base.text + chunk.text };
    case "reasoning-delta":
      return { ...base, reasoning: base.reasoning + chunk.text };
    case "tool-call-delta": {
      const old = base.calls.find(({ index }) => index === chunk.index);
      const call = {
        index: chunk.index,
        name: chunk.name ?? old?.name ?? "",
        argumentsText: (old?.argumentsText ?? "") + chunk.argumentsDelta,
      };
      return { ...base, calls: [...base.calls.filter(({ index }) => index !== chunk.index), call] };
    }
    default:
      return base;
  }
}
