/**
 * Typed hooks in five modes: emit, parallel, serial, bail, waterfall.
 *
 * @module
 */
export {
  type DispatchOptions,
  Hooks,
  type HooksOptions,
  type ListenerProblem,
  LISTENERS_MAX,
  type ListenOptions,
} from "./hooks.ts";
export { HookOwner } from "./owner.ts";
export type {
  BailHook,
  EmitHook,
  Hook,
  HookArgs,
  HookListener,
  HookMapOf,
  HookName,
  HookResult,
  NoBail,
  ParallelHook,
  SerialHook,
  WaterfallHook,
} from "./hook_types.ts";
