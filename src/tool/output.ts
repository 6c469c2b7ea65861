/**
 * From what a body, a wrapper or a reviewer gave to what can be logged.
 *
 * @module
 */
import { type Block, freezeJson, type JsonValue, snapshotJson } from "../event/mod.ts";
import { failureOf, INVALID_TOOL_OUTPUT, messageOf, success, type ToolOutcome, type ToolOutput } from "./outcome.ts";
import { problemsText } from "./schema_problem.ts";
import { answerOf, type Patience, unawaited } from "./strangers.ts";
import type { CompiledOutput, Tool } from "./tool.ts";

/**
 * The outcome of a body that returned: checked, rendered, deeply frozen. Never rejects: what is wrong with it is an outcome.
 *
 * @param args as the body got them
 *
 * @example
 * ```ts
 * import { outputOutcome } from "./output.ts";
 * import { defineTool } from "./tool.ts";
 *
 * const patience = { signal: new AbortController().signal, clock: { now: () => 0, schedule: () => () => {} } };
 * const count = defineTool({
 *   name: "count",
 *   description: "",
 *   parameters: {},
 *   output: { schema: { type: "integer" }, render: (_args, value) => `${value} words` },
 *   execute: () => 3,
 * });
 * if ((await outputOutcome(count, {}, 3, patience)).value !== 3) throw new Error("unreachable");
 * if ((await outputOutcome(count, {}, 1.5, patience)).error?.code !== "INVALID_TOOL_OUTPUT") throw new Error("unreachable");
 * ```
 */
export async function outputOutcome(
  tool: Tool,
  args: JsonValue,
  returned: unknown,
  patience: Patience,
): Promise<ToolOutcome> {
  if (tool.output === null) return success(returned as ToolOutput);
  try {
    return await valueOutcome(tool.output, args, returned, patience);
  } catch (error) {
    return invalid(`its output cannot be used: ${messageOf(error)}`);
  }
}

async function valueOutcome(
  output: CompiledOutput,
  args: JsonValue,
  returned: unknown,
  patience: Patience,
): Promise<ToolOutcome> {
  const given = snapshotJson(returned, "the value");
  const checked = await answerOf(() => output.check(given), patience);
  if (checked.kind === "failed") throw checked.error;
  if (checked.kind === "given-up") return invalid("its output was not checked before the call was cancelled");
  if (!checked.value.ok) return invalid(`its output is not what it declares: ${problemsText(checked.value.problems)}`);
  const value = snapshotJson(checked.value.value, "the checked value");
  const content = blocksOf(unawaited(output.render(args, value)));
  const meta = unawaited(output.presentationMeta?.(args, value));
  const outcome = success({ content, ...(meta === undefined ? {} : { meta: meta as JsonValue }) });
  return outcome.isError ? outcome : freezeJson({ ...outcome, value });
}

/**
 * A text as blocks; blocks as they are.
 *
 * @example
 * ```ts
 * import { blocksOf } from "./output.ts";
 *
 * if (blocksOf("done").length !== 1) throw new Error("unreachable");
 * ```
 */
export function blocksOf(content: unknown): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content as readonly Block[];
}

function invalid(problem: string): ToolOutcome {
  return failureOf(INVALID_TOOL_OUTPUT, "ToolError", `the tool ran; ${problem}`);
}
