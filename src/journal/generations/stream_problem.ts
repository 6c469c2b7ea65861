/**
 * Whether an answer is what its own stream says.
 *
 * @see session-format §10.1
 * @module
 */
import {
  type Block,
  deepEqualJson,
  isEvent,
  type JsonObject,
  type SessionEvent,
  type StreamRecord,
  type Usage,
} from "../../event/mod.ts";

/**
 * What is wrong with the stream of an `assistant/message`, or null. Only what the stream says itself is compared: the blocks it
 * finished, its usage, and the state the provider wants back. An answer that was cut off need not have all its blocks.
 */
export function streamProblem(event: SessionEvent): string | null {
  if (!isEvent(event, "assistant/message")) return null;
  const { stream, message, usage, interrupted } = event.data;
  if (interrupted === true || stream.length === 0) return null;
  const said = saidBy(stream);
  if (said.isWhole && !deepEqualJson([...message.content], said.blocks)) return "its stream holds another content";
  if (said.usage !== null && usage !== undefined && !deepEqualJson(usage, said.usage)) {
    return "its stream holds another usage";
  }
  const { replayState } = message.source as { readonly replayState?: JsonObject };
  if (said.replayState !== null && replayState !== undefined && !deepEqualJson(replayState, said.replayState)) {
    return "its stream holds another replay state";
  }
  return null;
}

/** What a stream amounts to. */
interface Said {
  readonly blocks: readonly Block[];
  /** Whether every block that began was finished. */
  readonly isWhole: boolean;
  readonly usage: Usage | null;
  readonly replayState: JsonObject | null;
}

function saidBy(stream: readonly StreamRecord[]): Said {
  const finished = new Map<number, Block>();
  const begun = new Set<number>();
  let usage: Usage | null = null;
  let replayState: JsonObject | null = null;
  for (const record of stream) {
    if (record.type !== "chunk") {
      begun.add(record.index);
      continue;
    }
    const { chunk } = record;
    if (chunk.type === "usage") usage = chunk.usage;
    else if (chunk.type === "finish") replayState = chunk.replayState ?? null;
    else if (chunk.type === "block-end") finished.set(chunk.index, chunk.block);
    else begun.add(chunk.index);
  }
  const blocks = [...finished].sort(([left], [right]) => left - right).map(([, block]) => block);
  return { blocks, isWhole: blocks.length > 0 && [...begun].every((index) => finished.has(index)), usage, replayState };
}
