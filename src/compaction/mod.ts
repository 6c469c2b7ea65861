/**
 * Compaction: the surface shrinks, the log never does.
 *
 * @module
 */
export * from "./bracket.ts";
export * from "./breaker.ts";
export * from "./checkpoint_message.ts";
export * from "./choose_span.ts";
export * from "./command.ts";
export * from "./errors.ts";
export * from "./keep_prompt.ts";
export * from "./options.ts";
export * from "./prune.ts";
export * from "./prune_options.ts";
export * from "./prune_to_fit.ts";
export * from "./select_range.ts";
export * from "./span.ts";
export * from "./summary_answer.ts";
export * from "./summary_request.ts";
export * from "./surface_map.ts";
export * from "./locator.ts";
export * from "./read_result.ts";
export * from "./spill.ts";
export { PRUNE_SIZES, pruneContent, type PrunedContent, pruneMarker, type PruneSizes } from "./prune_content.ts";
