/**
 * How a result that is not shown whole is named, so that a model can ask for the rest of it.
 *
 * A name means something only inside of its session: a blob of another session is not found by it.
 *
 * @module
 */
import type { Spilled } from "../fold/mod.ts";

/** So many digits of a blob's digest are its name: short enough for a model to repeat, and 64 bits never meet by chance. */
export const LOCATOR_DIGITS = 16;

/** What a locator names. */
export type Located = { readonly kind: "result"; readonly seq: number } | {
  readonly kind: "blob";
  readonly digits: string;
};

/**
 * The name of a whole text that lies in a blob.
 *
 * @example
 * ```ts
 * import { spillLocator } from "./locator.ts";
 *
 * if (spillLocator("0123456789abcdef".repeat(4)) !== "blob:0123456789abcdef") throw new Error("unreachable");
 * ```
 */
export function spillLocator(digest: string): string {
  return `blob:${digest.slice(0, LOCATOR_DIGITS)}`;
}

/**
 * The name of a whole result that is in the log.
 *
 * @example
 * ```ts
 * import { resultLocator } from "./locator.ts";
 *
 * if (resultLocator(7) !== "result:7") throw new Error("unreachable");
 * ```
 */
export function resultLocator(seq: number): string {
  return `result:${seq}`;
}

/**
 * Reads a locator; `null` when it is none.
 *
 * @example
 * ```ts
 * import { parseLocator } from "./locator.ts";
 *
 * if (parseLocator("result:7")?.kind !== "result" || parseLocator("../7") !== null) throw new Error("unreachable");
 * ```
 */
export function parseLocator(text: string): Located | null {
  const [, seq, digits] = /^(?:result:(\d{1,15})|blob:([0-9a-f]{16,64}))$/.exec(text.trim()) ?? [];
  if (seq !== undefined) return { kind: "result", seq: Number(seq) };
  return digits === undefined ? null : { kind: "blob", digits };
}

/**
 * The digest of the blob that is named, when this session's log names it too; `null` otherwise.
 *
 * @example
 * ```ts
 * import { spilledFold } from "../fold/mod.ts";
 * import { digestOf } from "./locator.ts";
 *
 * if (digestOf("0123456789abcdef", spilledFold.initial()) !== null) throw new Error("unreachable");
 * ```
 */
export function digestOf(digits: string, { texts }: Spilled): string | null {
  for (const { digest } of texts) if (digest.startsWith(digits)) return digest;
  return null;
}
