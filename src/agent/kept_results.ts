/**
 * Long results of an agent's calls: kept beside the log, and read from there again.
 *
 * @module
 */
import { READ_RESULT, readResultTool, resultTokensMax } from "../compaction/mod.ts";
import type { Session } from "../session/mod.ts";
import type { Tool } from "../tool/mod.ts";
import type { Loop } from "./loop.ts";
import { modelWindow } from "./model_window.ts";

/**
 * The tools of one session: those of its agent, and the one that reads what was spilled or cut in this session. A tool of the host
 * that has the same name stands. One call of it reads no more than one result may take of the window.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { withReadResult } from "./kept_results.ts";
 * import { demo } from "./models/demo.ts";
 *
 * function hasIt(session: Session): boolean {
 *   return withReadResult(new Map(), session, [demo()]).has("read_result");
 * }
 * ```
 */
export function withReadResult(
  tools: ReadonlyMap<string, Tool>,
  session: Session,
  models: Loop["models"],
): ReadonlyMap<string, Tool> {
  if (tools.has(READ_RESULT)) return tools;
  const tokensMax = () => resultTokensMax(modelWindow({ session, models })?.contextWindow ?? null);
  return new Map([...tools, [READ_RESULT, readResultTool((id) => id === session.id ? session : null, tokensMax)]]);
}

/**
 * The tools the model is told of. Of the one that reads shortened results only from the first such result on: a conversation
 * without one does not pay for it.
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import type { Tool } from "../tool/mod.ts";
 * import { offeredTools } from "./kept_results.ts";
 *
 * function count(session: Session, tools: ReadonlyMap<string, Tool>): number {
 *   return offeredTools({ session, tools }).length;
 * }
 * ```
 */
export function offeredTools(
  { session, tools }: { readonly session: Session; readonly tools: ReadonlyMap<string, Tool> },
): readonly Tool[] {
  const { texts, pruneCount } = session.folds.spilled;
  const isNeeded = texts.length > 0 || pruneCount > 0;
  return [...tools.values()].filter(({ name }) => name !== READ_RESULT || isNeeded);
}
