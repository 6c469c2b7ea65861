/**
 * Measuring that cannot harm what is measured.
 *
 * @module
 */

/**
 * What a call gives back; `undefined` when it throws.
 *
 * @example
 * ```ts
 * import { quiet } from "./quiet.ts";
 *
 * if (quiet(() => JSON.parse("{")) !== undefined) throw new Error("unreachable");
 * ```
 */
export function quiet<Answer>(call: () => Answer): Answer | undefined {
  try {
    return call();
  } catch {
    // What was to be measured goes unmeasured.
    return undefined;
  }
}
