/**
 * The contract suites as plain data, without a test runner: for whoever writes an adapter, a codec, a store or a model.
 *
 * Each suite is a list of cases; run every case with a context that makes what is under test, and call a thrown error a
 * failure. `check` and its siblings are the assertions the cases are written with.
 *
 * `simulatedMedium` is storage that fails on purpose, and that gives every state a crash may leave.
 *
 * `SimulatedTarget` and `SlowTarget` are for whoever writes a tool that says what became of its calls.
 *
 * @module
 */
export * from "./check.ts";
export * from "./codec_contract.ts";
export type { ZstdCodec } from "../frame/zstd_codec.ts";
export * from "./judge/mod.ts";
export * from "./lab/mod.ts";
export * from "./media/mod.ts";
export * from "./model_contract.ts";
export * from "./session_store_context.ts";
export * from "./session_store_contract.ts";
export * from "./simulated_target.ts";
export * from "./storage_context.ts";
export * from "./storage_contract.ts";
export { storageFaultCases } from "./storage_fault_cases.ts";
