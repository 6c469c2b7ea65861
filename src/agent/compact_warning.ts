/**
 * Warnings that are given once, until what they are about is over.
 *
 * @module
 */
import type { Loop, WarningCode } from "./loop.ts";

/**
 * Warns, unless it was done already.
 *
 * @param about tells warnings of one code apart
 *
 * @example
 * ```ts
 * import { warn } from "./compact_warning.ts";
 * import type { Loop } from "./loop.ts";
 *
 * function tellPaused(loop: Loop): void {
 *   warn(loop, "COMPACTION_PAUSED", "it rests for a while");
 * }
 * ```
 */
export function warn(loop: Pick<Loop, "warned" | "tell">, code: WarningCode, message: string, about = ""): void {
  const key = `${code} ${about}`;
  if (loop.warned.has(key)) return;
  loop.warned.add(key);
  loop.tell({ kind: "warning", code, message });
}

/**
 * What these warnings were about is over: the next one is given again.
 *
 * @example
 * ```ts
 * import { settleWarnings } from "./compact_warning.ts";
 * import type { Loop } from "./loop.ts";
 *
 * function hasRoom(loop: Loop): void {
 *   settleWarnings(loop, "NOTHING_TO_COMPACT");
 * }
 * ```
 */
export function settleWarnings({ warned }: Pick<Loop, "warned">, ...codes: readonly WarningCode[]): void {
  for (const key of warned) if (codes.some((code) => key.startsWith(`${code} `))) warned.delete(key);
}
