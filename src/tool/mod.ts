/**
 * Tools: how they are defined, what may happen before they run, and how their calls end.
 *
 * What only the loop needs (the pipeline, outcomes, ids) is imported from its file.
 *
 * @module
 */
export { defaultPermission, defineTool, type Permission, type Tool, type ToolCall } from "./tool.ts";
export type { ToolDefinition, ToolOutput } from "./tool.ts";
export { type ArgumentType, readArguments } from "./arguments.ts";
export {
  ABORTED,
  ABORTED_BEFORE_DISPATCH,
  INVALID_ARGS,
  INVALID_TOOL_OUTPUT,
  messageOf,
  outcomeUnknown,
  OUTPUT_SIZE_MAX,
  ToolError,
  type ToolOutcome,
  UNKNOWN_TOOL,
} from "./outcome.ts";
export type { Guard, GuardedCall } from "./pipeline.ts";
