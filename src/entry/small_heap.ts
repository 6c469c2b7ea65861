/**
 * Keeping the heap of a long job small.
 *
 * @module
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How much the heap of a job may grow before it is collected, in bytes; half of what it holds when that is more. */
export const HEAP_GROWTH_BYTES_MAX: number = 12 * 1024 * 1024;

/**
 * A function to be called every now and then during a job. When the heap has grown by {@linkcode HEAP_GROWTH_BYTES_MAX} it has it
 * collected.
 *
 * Reading a log from its start to its end leaves much garbage and holds little. Left alone, V8 lets a heap of 10 MB grow to ten
 * times as much before it looks, and the memory stays with the process. Where a runtime has no such call, nothing happens.
 *
 * @example
 * ```ts
 * import { smallHeap } from "./small_heap.ts";
 *
 * const keepSmall = smallHeap();
 * for (let step = 0; step < 100; step++) keepSmall();
 * ```
 */
export function smallHeap(): () => void {
  const collect = collector();
  let floorBytes = heapBytes();
  return () => {
    const bytes = heapBytes();
    floorBytes = Math.min(floorBytes, bytes);
    if (bytes - floorBytes < Math.max(HEAP_GROWTH_BYTES_MAX, floorBytes / 2)) return;
    collect();
    floorBytes = heapBytes();
  };
}

/** What the heap holds, garbage and the buffers outside of it included. */
function heapBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

function collector(): () => void {
  try {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("gc");
    return typeof collect === "function" ? () => collect() : () => {};
  } catch {
    return () => {};
  }
}
