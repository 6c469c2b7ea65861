/**
 * Puts a message together from the chunks of a stream.
 *
 * Pure: the same chunks and the same taken ids give the same message, so that a log can be checked against its own streams.
 *
 * @module
 */
import type { Block, FinishReason, JsonObject, StreamChunk, TimedChunk, Usage } from "../event/mod.ts";

/** A call id that was empty or taken, and what it became. */
export interface Renamed {
  /** Position in the message's content. */
  readonly index: number;
  readonly providerCallId: string;
}

/** What a stream amounts to. */
export interface Assembled {
  readonly content: readonly Block[];
  /** The chunks as they go into the log: call ids as in `content`. */
  readonly chunks: readonly TimedChunk[];
  /** Empty when the provider's ids could be kept. */
  readonly renamed: readonly Renamed[];
  readonly usage: Usage | null;
  /** `null` when the stream had none, which counts as "stop". */
  readonly finish: FinishReason | null;
  /** What the provider wants back with this message, kept in its source. */
  readonly replayState: JsonObject | null;
}

/** Where the message will stand, and which call ids it must not use again. */
export interface AssemblePlace {
  readonly turn: number;
  readonly step: number;
  readonly takenCallIds: ReadonlySet<string>;
}

/**
 * Assembles a message. Blocks stand in the order of their `index`; a finished block is taken as the provider finished it, any
 * other from its deltas. A call keeps its id when that is neither empty nor taken; otherwise it gets one of ours.
 *
 * @example
 * ```ts
 * import { assemble } from "./assemble.ts";
 *
 * const chunks = ["c1", "c1"].map((id, index) => ({
 *   time: 0,
 *   chunk: { type: "tool-call-delta" as const, index, id, name: "pay", argumentsDelta: "{}" },
 * }));
 * const { content, renamed } = assemble(chunks, { turn: 1, step: 1, takenCallIds: new Set() });
 * if (JSON.stringify(renamed) !== '[{"index":1,"providerCallId":"c1"}]') throw new Error("unreachable");
 * if (content[1]?.type !== "tool-call" || content[1].id !== "call-1-1-1") throw new Error("unreachable");
 * ```
 */
export function assemble(chunks: readonly TimedChunk[], place: AssemblePlace): Assembled {
  const drafts = new Map<number, Draft>();
  let usage: Usage | null = null;
  let finish: FinishReason | null = null;
  let replayState: JsonObject | null = null;
  for (const { chunk } of chunks) {
    if (chunk.type === "usage") usage = chunk.usage;
    else if (chunk.type === "finish") {
      finish = chunk.reason;
      replayState = chunk.replayState ?? null;
    } else if ("index" in chunk) drafts.set(chunk.index, grown(drafts.get(chunk.index), chunk));
  }

  const taken = new Set(place.takenCallIds);
  const content: Block[] = [];
  const renamed: Renamed[] = [];
  const newIds = new Map<number, string>();
  for (const [blockIndex, draft] of [...drafts].sort(([left], [right]) => left - right)) {
    const block = blockOf(draft);
    if (block === null) continue;
    if (block.type !== "tool-call") {
      content.push(block);
      continue;
    }
    const isKept = block.id !== "" && !taken.has(block.id);
    const id = isKept ? block.id : freeId(place, content.length, taken);
    taken.add(id);
    if (!isKept) {
      renamed.push({ index: content.length, providerCallId: block.id });
      newIds.set(blockIndex, id);
    }
    content.push({ ...block, id });
  }
  return { content, chunks: newIds.size === 0 ? chunks : withIds(chunks, newIds), renamed, usage, finish, replayState };
}

/** A block on its way. */
interface Draft {
  readonly kind: "text" | "reasoning" | "tool-call" | null;
  readonly text: string[];
  readonly id: string;
  readonly name: string;
  readonly finished: Block | null;
}

const EMPTY: Draft = { kind: null, text: [], id: "", name: "", finished: null };

function grown(draft: Draft = { ...EMPTY, text: [] }, chunk: StreamChunk): Draft {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      // Pushed in place: a draft belongs to one assembly, and copying would make a long text quadratic.
      draft.text.push(chunk.text);
      return draft.kind === null ? { ...draft, kind: chunk.type === "text-delta" ? "text" : "reasoning" } : draft;
    case "tool-call-delta":
      draft.text.push(chunk.argumentsDelta);
      return { ...draft, kind: "tool-call", id: draft.id || chunk.id, name: draft.name || (chunk.name ?? "") };
    case "block-end":
      return { ...draft, finished: chunk.block };
    default:
      return draft;
  }
}

/** `null` for a block that was announced and never came. */
function blockOf({ kind, text, id, name, finished }: Draft): Block | null {
  if (finished !== null) return finished.type === "tool-call" && finished.id === "" ? { ...finished, id } : finished;
  if (kind === null) return null;
  return kind === "tool-call"
    ? { type: kind, id, name, arguments: text.join("") }
    : { type: kind, text: text.join("") };
}

function freeId({ turn, step }: AssemblePlace, index: number, taken: ReadonlySet<string>): string {
  const id = `call-${turn}-${step}-${index}`;
  for (let tries = 2, tried = id;; tried = `${id}-${tries++}`) {
    if (!taken.has(tried)) return tried;
  }
}

function withIds(chunks: readonly TimedChunk[], newIds: ReadonlyMap<number, string>): TimedChunk[] {
  return chunks.map(({ time, chunk }) => {
    const id = "index" in chunk ? newIds.get(chunk.index) : undefined;
    if (id === undefined) return { time, chunk };
    if (chunk.type === "tool-call-delta") return { time, chunk: { ...chunk, id } };
    if (chunk.type !== "block-end" || chunk.block.type !== "tool-call") return { time, chunk };
    return { time, chunk: { ...chunk, block: { ...chunk.block, id } } };
  });
}

/**
 * Whether a person would see something: text or reasoning that is more than white space.
 *
 * @example
 * ```ts
 * import { isVisible } from "./assemble.ts";
 *
 * if (isVisible([{ type: "text", text: " " }])) throw new Error("unreachable");
 * ```
 */
export function isVisible(content: readonly Block[]): boolean {
  return content.some((block) => (block.type === "text" || block.type === "reasoning") && block.text.trim() !== "");
}
