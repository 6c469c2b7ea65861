/**
 * Tools: how they are defined, what may happen before they run, and how their calls end.
 *
 * What only the loop needs (the pipeline, outcomes, ids) is imported from its file.
 *
 * @module
 */
export {
  type CompiledOutput,
  defaultPermission,
  defineTool,
  type GivenValue,
  type OutputDefinition,
  type Permission,
  RETRIES_MAX,
  TIMEOUT_MS_MAX,
  type Tool,
  type ToolDefinition,
  type ToolTraits,
  type ValueToolDefinition,
} from "./tool.ts";
export type { GuardedCall, HookedCall, NestedOptions, ProposedCall, ToolCall, WrappedCall } from "./call.ts";
export { type AdditionalContext, CONTEXTS_MAX } from "./contexts.ts";
export type { Awaitable, NestedRecord, PostDecision, PreDecision, ToolHooks, WrapperAnswer } from "./hooks.ts";
export { type ArgumentType, type ArgumentValue, readArguments } from "./arguments.ts";
export {
  ABORTED,
  ABORTED_BEFORE_DISPATCH,
  INVALID_ARGS,
  INVALID_TOOL_OUTPUT,
  messageOf,
  OUTPUT_SIZE_MAX,
  RETURNED_SIZE_MAX,
  ToolError,
  type ToolOutcome,
  type ToolOutput,
  UNKNOWN_TOOL,
} from "./outcome.ts";
export type { EffectLookup, LookupAnswer } from "./lookup.ts";
export { reconcileWith } from "./reconcile.ts";
export { neverHappens, outcomeUnknown } from "./unsettled.ts";
export {
  type CheckedValue,
  type CompiledSchema,
  compileSchema,
  SCHEMA_SIZE_MAX,
  type SchemaCheck,
  type SchemaDeclaration,
} from "./schema.ts";
export { PROBLEMS_MAX, type SchemaProblem } from "./schema_problem.ts";
export type { StandardIssue, StandardProps, StandardResult, StandardSchema } from "./standard_schema.ts";
export { callTool, type DirectCallOptions } from "./direct.ts";
export { BODY_RUNS_MAX } from "./execute.ts";
export { NESTED_CALLS_MAX, NESTED_DEPTH_MAX } from "./nested.ts";
export { CANCEL_GRACE_MS } from "./strangers.ts";
export type { Guard, KeepContent, KeptCall } from "./scene.ts";
