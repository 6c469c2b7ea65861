/**
 * Asking a tool what became of a call of its whose outcome is unknown.
 *
 * @see architecture "Order at resume"
 * @module
 */
import type { JsonValue } from "../event/mod.ts";
import type { UnresolvedEffect } from "../fold/mod.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { Lookup, Reconcile } from "../session/mod.ts";
import { givenText } from "./arguments.ts";
import { outputOutcome } from "./output.ts";
import { answerOf } from "./strangers.ts";
import type { Tool } from "./tool.ts";

/**
 * Makes the lookups of some tools into what opening a session asks.
 *
 * A tool without `reconcile`, and one that is not there any more, is not asked: nothing is written then. Arguments that the
 * tool does not take any more, and answers that are none, are undecidable.
 *
 * @param clock bounds what checks a recovered value
 *
 * @example
 * ```ts
 * import { openSession } from "../session/mod.ts";
 * import type { SessionStore } from "../store/session_store.ts";
 * import { reconcileWith } from "./reconcile.ts";
 * import type { Tool } from "./tool.ts";
 *
 * async function unknownAfter(store: SessionStore, id: string, tools: readonly Tool[]): Promise<number> {
 *   const reconcile = reconcileWith(tools, store.runtime.clock);
 *   const { session, resumed } = await openSession({ store, id, reconcile });
 *   await session.close();
 *   return resumed.unresolved.length;
 * }
 * ```
 */
export function reconcileWith(tools: Iterable<Tool>, clock: Clock): Reconcile {
  const byName = new Map([...tools].map((tool) => [tool.name, tool]));
  return (effect, signal) => {
    const tool = byName.get(effect.name);
    const { effectKey } = effect;
    if (tool === undefined || tool.reconcile === null || effectKey === null) return null;
    return lookUp(tool, tool.reconcile, { ...effect, effectKey }, signal, clock);
  };
}

/** @throws whatever the lookup failed with */
async function lookUp(
  tool: Tool,
  reconcile: NonNullable<Tool["reconcile"]>,
  effect: UnresolvedEffect & { readonly effectKey: string },
  signal: AbortSignal,
  clock: Clock,
): Promise<Lookup> {
  const given = givenText(effect.arguments);
  if (!given.ok) return undecidable("the arguments of this call are not lossless JSON");
  const patience = { signal, clock };
  const checked = await answerOf(() => tool.checkArguments(given.value), patience);
  if (checked.kind !== "answered" || !checked.value.ok) {
    return undecidable("the tool as it is now does not take the arguments of this call");
  }
  const args = checked.value.value as JsonValue;
  const { effectKey, effect: effectClass, callSeq } = effect;
  const answer = await reconcile({ effectKey, args, effect: effectClass, callSeq, signal });

  // A stranger's answer: each member is read once.
  const { verdict, result, note } = answer as { verdict: unknown; result?: unknown; note?: unknown };
  const noted = typeof note === "string" ? { note } : {};
  switch (verdict) {
    case "absent":
    case "undecidable":
      return { verdict, ...noted };
    case "happened": {
      if (result === undefined) return { verdict, ...noted };
      const outcome = await outputOutcome(tool, args, result, patience);
      if (outcome.isError) return undecidable("the lookup answered with a result that is none");
      return { verdict, content: outcome.content, ...noted };
    }
    default:
      return undecidable("the lookup answered with no verdict");
  }
}

function undecidable(note: string): Lookup {
  return { verdict: "undecidable", note };
}
