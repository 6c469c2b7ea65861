/**
 * Tools that can always say what became of a call: to use, and to copy from.
 *
 * @module
 */
export * from "./keyed_target.ts";
export * from "./http_target.ts";
export * from "./payment.ts";
export * from "./outbox.ts";
export * from "./file_target.ts";
export * from "./git_commit.ts";
export * from "./http_put.ts";
