/**
 * The barriers between durable intent and what it allows.
 *
 * @module
 */
export { type BarrierOptions, passBarrier } from "./barrier.ts";
export { gatedModelStream } from "./model_stream.ts";
