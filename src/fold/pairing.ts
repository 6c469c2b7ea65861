/**
 * Calls and results on the surface: which belong together, where the surface may be cut, and what a replacement must not do.
 *
 * Everything goes by call id, not by count: counts would let the result of one call answer another.
 *
 * @see compaction §1 "Pairing invariant", §7 W10
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import type { Surface, SurfaceNode } from "./surface.ts";

/** What a pairing looks at. */
export type PairedNode = Pick<SurfaceNode, "seq" | "type" | "message">;

/**
 * Says what is wrong with the calls and results of a surface: an id that two calls share, a result that answers no call before it.
 *
 * A call without a result is fine: it waits for one, or another program left it so.
 *
 * @returns what was found, `null` when nothing is wrong
 *
 * @example
 * ```ts
 * import { pairingProblem } from "./pairing.ts";
 *
 * const content = [{ type: "tool-call" as const, id: "c1", name: "pay", arguments: "{}" }];
 * const message = { id: "a", role: "assistant" as const, content, source: { kind: "model" } };
 * const call = { seq: 4, type: "assistant/message" as const, message };
 * if (pairingProblem([call]) !== null) throw new Error("unreachable");
 * if (pairingProblem([call, { ...call, seq: 7 }]) !== 'call "c1" of seq 7 stands on the surface twice') throw new Error("unreachable");
 * ```
 */
export function pairingProblem(nodes: Iterable<PairedNode>): string | null {
  const answered = new Map<string, boolean>();
  for (const node of nodes) {
    for (const id of callIdsOf(node)) {
      if (answered.has(id)) return `call "${id}" of seq ${node.seq} stands on the surface twice`;
      answered.set(id, false);
    }
    const id = answeredIdOf(node);
    if (id === null) continue;
    if (!answered.has(id)) return `the result at seq ${node.seq} answers call "${id}", which is not on the surface`;
    if (answered.get(id) === true) return `the result at seq ${node.seq} is the second one of call "${id}"`;
    answered.set(id, true);
  }
  return null;
}

/**
 * Says which cuts keep every call together with its result. Cut `n` lies before node `n`; there is one more cut than nodes.
 *
 * A call that can still be answered, because no other answer of the model follows it, keeps every cut behind it closed. One that
 * a later answer left behind without a result closes none.
 *
 * @example
 * ```ts
 * import { balancedCuts } from "./pairing.ts";
 *
 * const message = { id: "u", role: "user" as const, content: [], source: { kind: "user" } };
 * if (balancedCuts([{ seq: 0, type: "user/message", message }]).join() !== "true,true") throw new Error("unreachable");
 * ```
 */
export function balancedCuts(nodes: readonly PairedNode[]): readonly boolean[] {
  /** For each node, how many pairs are open behind it, counted as changes. */
  const changes = new Array<number>(nodes.length + 1).fill(0);
  const open = new Map<string, number>();
  let newestAnswer = -1;
  nodes.forEach((node, index) => {
    if (node.type === "assistant/message") newestAnswer = index;
    for (const id of callIdsOf(node)) open.set(id, index);
    const id = answeredIdOf(node);
    const start = id === null ? undefined : open.get(id);
    if (start === undefined) return;
    open.delete(id!);
    changes[start + 1]! += 1;
    changes[index + 1]! -= 1;
  });
  for (const index of open.values()) if (index === newestAnswer) changes[index + 1]! += 1;
  let depth = 0;
  return changes.map((change) => (depth += change) === 0);
}

/**
 * Says why a replacement must not be made: it would tear a call from its result, or put an id on the surface a second time.
 *
 * Only what is appended is held to it. A log of another program that did so opens, and its requests are put right.
 *
 * @returns what was found; `null` when it is fine, or no replacement, or the surface was wrong before
 *
 * @example
 * ```ts
 * import { surfaceFold } from "./surface.ts";
 * import { replacementProblem } from "./pairing.ts";
 *
 * const event = { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } };
 * if (replacementProblem(surfaceFold.initial(), event) !== null) throw new Error("unreachable");
 * ```
 */
export function replacementProblem({ nodes }: Surface, event: SessionEvent): string | null {
  const { surfaceOp } = event;
  if (surfaceOp === undefined || surfaceOp === "append") return null;
  // A result may only be replaced by itself with other content, and the system message has no calls.
  if (!isEvent(event, "user/message") && !isEvent(event, "assistant/message")) return null;
  const first = nodes.findIndex(surfaceOp.startSeq);
  const last = nodes.findIndex(surfaceOp.endSeq);
  const all = nodes.toArray();
  if (pairingProblem(all) !== null) return null;
  const cuts = balancedCuts(all);
  if (!cuts[first]) return `the cut before seq ${surfaceOp.startSeq} parts a call from its result`;
  if (!cuts[last + 1]) return `the cut behind seq ${surfaceOp.endSeq} parts a call from its result`;
  const message = isEvent(event, "user/message") ? event.data : event.data.message;
  return pairingProblem(
    all.toSpliced(first, last - first + 1, { seq: event.seq, type: event.type, message, result: null }),
  );
}

function callIdsOf({ type, message }: PairedNode): string[] {
  if (type !== "assistant/message") return [];
  return message.content.flatMap((block) => block.type === "tool-call" ? [block.id] : []);
}

function answeredIdOf({ type, message }: PairedNode): string | null {
  if (type !== "tool/result") return null;
  const [block] = message.content;
  return block?.type === "tool-result" ? block.toolCallId : null;
}
