/**
 * How results are pruned, checked before the first one is.
 *
 * @module
 */
import { PLAIN_MARKER_CHARS, PRUNE_SIZES, type PruneSizes } from "./prune_content.ts";

/** How many of the newest results stay whole unless the window has overflowed. */
export const PROTECT_RECENT_RESULTS = 2;

/** How results are pruned. */
export interface PruneOptions extends Partial<PruneSizes> {
  /**
   * How many of the newest results stay whole; with at least 1, so does what the model has not read yet. 0 under overflow.
   * Default PROTECT_RECENT_RESULTS.
   */
  readonly protectRecent?: number;
  /** Whether the marker says where the whole text is. Default "located". */
  readonly marker?: "located" | "plain";
}

const KEYS: ReadonlySet<string> = new Set(["thresholdChars", "headChars", "tailChars", "protectRecent", "marker"]);

/**
 * Completes options with their defaults.
 *
 * @throws {TypeError} for a member there is none of, or a value of another kind
 * @throws {RangeError} when what is kept, marker included, would be over the threshold
 *
 * @example
 * ```ts
 * import { checkedPruneOptions } from "./prune_options.ts";
 *
 * if (checkedPruneOptions({ headChars: 10 }).tailChars !== 1024) throw new Error("unreachable");
 * ```
 */
export function checkedPruneOptions(options: PruneOptions = {}): Required<PruneOptions> {
  for (const key of Object.keys(options)) {
    if (!KEYS.has(key)) throw new TypeError(`Cannot prune with the option "${key}": there is no such option`);
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const all: Required<PruneOptions> = {
    ...PRUNE_SIZES,
    protectRecent: PROTECT_RECENT_RESULTS,
    marker: "located",
    ...given,
  };
  const { thresholdChars, headChars, tailChars, marker } = all;
  for (const key of ["thresholdChars", "headChars", "tailChars", "protectRecent"] as const) {
    const least = key === "thresholdChars" ? 1 : 0;
    if (Number.isSafeInteger(all[key]) && all[key] >= least) continue;
    throw new RangeError(`Cannot prune with ${key} ${String(all[key])}: not a whole number from ${least}`);
  }
  if (marker !== "located" && marker !== "plain") {
    throw new TypeError(`Cannot prune with the marker "${String(marker)}": wanted "located" or "plain"`);
  }
  if (headChars + PLAIN_MARKER_CHARS + tailChars > thresholdChars) {
    const kept = `${headChars} + ${PLAIN_MARKER_CHARS} + ${tailChars}`;
    throw new RangeError(`Cannot prune to ${kept} code points: the threshold is ${thresholdChars}`);
  }
  return all;
}
