/**
 * Derived state: pure reductions over the events of a log.
 *
 * Folds expect events whose shape was checked, by the parser or by `Session.append`. They never throw.
 *
 * @module
 */
export * from "./bracket_rules.ts";
export * from "./bracket_state.ts";
export * from "./brackets.ts";
export * from "./chunked_list.ts";
export * from "./classes.ts";
export * from "./compactions.ts";
export * from "./estimate.ts";
export * from "./first_prompt.ts";
export * from "./fold.ts";
export * from "./gauge.ts";
export * from "./heard.ts";
export * from "./inbox.ts";
export * from "./kept_folds.ts";
export * from "./lifecycle.ts";
export * from "./log_fold.ts";
export * from "./pairing.ts";
export * from "./pending_calls.ts";
export * from "./policy.ts";
export * from "./route.ts";
export * from "./running_total.ts";
export * from "./spilled.ts";
export * from "./surface.ts";
export * from "./token_meter.ts";
export * from "./unresolved.ts";
