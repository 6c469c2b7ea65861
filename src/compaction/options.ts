/**
 * How an agent compacts.
 *
 * @see compaction §3 "Config", §7b
 * @module
 */
import { checkedPruneOptions, type PruneOptions } from "./prune_options.ts";

/** When compaction begins, and how much it leaves. */
export interface CompactionRatios {
  /** It begins when a request would take this part of the window, without what is reserved for the answer. Default 0.8. */
  readonly thresholdRatio?: number;
  /** Which part of the window stays as it is. Default 0.16. Not together with `retainTokens`. */
  readonly retainRatio?: number;
  /** How many tokens stay as they are. */
  readonly retainTokens?: number;
}

/** Other numbers for one model. A retention here takes the place of the general one. */
export interface ModelCompaction extends CompactionRatios {
  readonly provider: string;
  readonly model: string;
}

/** How an agent compacts. Everything may be left out. */
export interface CompactionOptions extends CompactionRatios {
  /** Whether anything happens by itself. `AgentSession.compact` works in any case. Default true. */
  readonly auto?: boolean;
  /** Who summarises. Default: whoever was asked last. */
  readonly summarizer?: { readonly provider: string; readonly model: string };
  /** The longest summary, in tokens. Default 8192. */
  readonly maxTokens?: number;
  /** How often it is tried again in one step while the surface is still too large. Default 1. */
  readonly compactionRetries?: number;
  /** How many requests in a row that were too long are made again after a compaction. Default 1; 0 is none. */
  readonly maxOverflowRetries?: number;
  /** Exact pairs of provider and model. Default: none. */
  readonly modelPolicies?: readonly ModelCompaction[];
  /** How long automatic compaction rests after BREAKER_FAILURES_MAX that came to nothing, in milliseconds. Default BREAKER_COOLDOWN_MS. */
  readonly cooldownMs?: number;
  /** How long results are shortened before anything is summarised; `false` leaves them. */
  readonly prune?: PruneOptions | false;
}

/** So many automatic compactions that came to nothing, one after the other, are enough for now. */
export const BREAKER_FAILURES_MAX = 3;

/** How long it then rests unless the host says otherwise: five minutes. */
export const BREAKER_COOLDOWN_MS = 300_000;

/** Checked options. */
export interface CompactionSettings {
  readonly auto: boolean;
  readonly summarizer: { readonly provider: string; readonly model: string } | null;
  readonly maxTokens: number;
  readonly compactionRetries: number;
  readonly maxOverflowRetries: number;
  readonly cooldownMs: number;
  readonly prune: PruneOptions | null;
  readonly ratios: CompactionRatios;
  readonly modelPolicies: readonly ModelCompaction[];
}

/**
 * Checks options.
 *
 * @throws {TypeError} when there is a key nobody knows, or a policy for the same model twice
 * @throws {RangeError} when a number makes no sense
 *
 * @example
 * ```ts
 * import { compactionSettings } from "./options.ts";
 *
 * if (compactionSettings({ auto: false }).auto) throw new Error("unreachable");
 * ```
 */
export function compactionSettings(options: CompactionOptions): CompactionSettings {
  checkKeys(options, KEYS, "an option");
  const { auto = true, summarizer = null, modelPolicies = [], prune = {} } = options;
  if (typeof auto !== "boolean") throw new TypeError(`${CANNOT}: auto is ${auto}`);
  if (summarizer !== null && !(isName(summarizer.provider) && isName(summarizer.model))) {
    throw new TypeError(`${CANNOT}: the summarizer needs a provider and a model`);
  }
  const { thresholdRatio, retainRatio, retainTokens } = options;
  const ratios = present({ thresholdRatio, retainRatio, retainTokens });
  checkRatios(ratios);
  const seen = new Set<string>();
  for (const policy of modelPolicies) {
    checkKeys(policy, POLICY_KEYS, "a model policy");
    if (!isName(policy.provider) || !isName(policy.model)) {
      throw new TypeError(`${CANNOT}: a model policy needs a provider and a model`);
    }
    const name = JSON.stringify([policy.provider, policy.model]);
    if (seen.has(name)) throw new TypeError(`${CANNOT}: there are two policies for ${policy.provider}:${policy.model}`);
    seen.add(name);
    checkRatios(policyFor({ ratios, modelPolicies }, policy));
  }
  return {
    auto,
    summarizer,
    maxTokens: count("maxTokens", options.maxTokens ?? 8192, 1),
    compactionRetries: count("compactionRetries", options.compactionRetries ?? 1, 0),
    maxOverflowRetries: count("maxOverflowRetries", options.maxOverflowRetries ?? 1, 0),
    cooldownMs: count("cooldownMs", options.cooldownMs ?? BREAKER_COOLDOWN_MS, 0),
    prune: prune === false ? null : checkedPruneOptions(prune),
    ratios,
    modelPolicies,
  };
}

/** When a compaction of one model begins, and how much stays, in tokens. */
export interface Budget {
  /** The window without what is reserved for the answer. */
  readonly usableTokens: number;
  /** It begins at this total. */
  readonly thresholdTokens: number;
  /** So much of the tail stays. */
  readonly retainTokens: number;
}

/**
 * The budget of one model.
 *
 * @param contextWindow the model's window, in tokens
 * @param reservedTokens what its answer may take
 * @throws {RangeError} when so much is to stay that nothing would ever be compacted
 *
 * @example
 * ```ts
 * import { budgetOf, compactionSettings } from "./options.ts";
 *
 * const route = { provider: "p", model: "m" };
 * const { thresholdTokens, retainTokens } = budgetOf(compactionSettings({}), route, 10_000, 2_000);
 * if (thresholdTokens !== 6_400 || retainTokens !== 1_280) throw new Error("unreachable");
 * ```
 */
export function budgetOf(
  settings: Pick<CompactionSettings, "ratios" | "modelPolicies">,
  route: { readonly provider: string; readonly model: string },
  contextWindow: number,
  reservedTokens: number,
): Budget {
  const { thresholdRatio = THRESHOLD_RATIO, retainRatio = RETAIN_RATIO, retainTokens } = policyFor(settings, route);
  // A reserve that leaves nothing is a mistake of whoever set it; half of the window is then for the conversation.
  const usableTokens = Math.max(contextWindow - reservedTokens, Math.floor(contextWindow / 2));
  const thresholdTokens = Math.floor(usableTokens * thresholdRatio);
  const retained = retainTokens ?? Math.floor(usableTokens * retainRatio);
  if (retained >= thresholdTokens) {
    throw new RangeError(`${CANNOT}: ${retained} tokens are to stay and it begins at ${thresholdTokens}`);
  }
  return { usableTokens, thresholdTokens, retainTokens: retained };
}

const CANNOT = "Cannot set up compaction";
const THRESHOLD_RATIO = 0.8;
const RETAIN_RATIO = 0.16;

const RATIO_KEYS = ["thresholdRatio", "retainRatio", "retainTokens"];
const POLICY_KEYS = new Set([...RATIO_KEYS, "provider", "model"]);
const KEYS = new Set([
  ...RATIO_KEYS,
  "auto",
  "summarizer",
  "maxTokens",
  "compactionRetries",
  "maxOverflowRetries",
  "modelPolicies",
  "cooldownMs",
  "prune",
]);

function policyFor(
  { ratios, modelPolicies }: Pick<CompactionSettings, "ratios" | "modelPolicies">,
  { provider, model }: { readonly provider: string; readonly model: string },
): CompactionRatios {
  const own = modelPolicies.find((policy) => policy.provider === provider && policy.model === model);
  if (own === undefined) return ratios;
  const { thresholdRatio = ratios.thresholdRatio } = own;
  const { retainRatio, retainTokens } = own.retainRatio === undefined && own.retainTokens === undefined ? ratios : own;
  return { thresholdRatio, retainRatio, retainTokens };
}

function checkRatios({ thresholdRatio = THRESHOLD_RATIO, retainRatio, retainTokens }: CompactionRatios): void {
  if (retainRatio !== undefined && retainTokens !== undefined) {
    throw new TypeError(`${CANNOT}: wanted one of retainRatio and retainTokens`);
  }
  if (!isRatio(thresholdRatio)) throw new RangeError(`${CANNOT}: thresholdRatio is ${thresholdRatio}`);
  if (retainTokens !== undefined) return void count("retainTokens", retainTokens, 0);
  const ratio = retainRatio ?? RETAIN_RATIO;
  if (!isRatio(ratio)) throw new RangeError(`${CANNOT}: retainRatio is ${ratio}`);
  if (ratio >= thresholdRatio) {
    throw new RangeError(`${CANNOT}: retainRatio ${ratio} is not below thresholdRatio ${thresholdRatio}`);
  }
}

function isRatio(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= 1;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function count(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`${CANNOT}: ${name} is ${value}`);
}

function checkKeys(value: object, known: ReadonlySet<string>, what: string): void {
  const strange = Object.keys(value).find((key) => !known.has(key));
  if (strange !== undefined) throw new TypeError(`${CANNOT}: "${strange}" is not ${what}`);
}

function present<Members extends object>(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members;
}
