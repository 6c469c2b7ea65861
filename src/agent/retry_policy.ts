/**
 * The reference policy for failed requests: waits a little longer each time, and gives up after a while.
 *
 * What it does is in the log, `llm/retry` before the wait and `llm/retry-started` after it, and its budget is counted from there.
 *
 * @see execution §1.6
 * @module
 */
import { canonicalJson, type JsonObject, type LlmFailure, type SessionEvent } from "../event/mod.ts";
import type { Hooks, ListenOptions } from "../hooks/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { Session } from "../session/mod.ts";
import type { AgentHooks, RequestFailure } from "./hooks.ts";

/** The failures that are worth another try, unless the host says otherwise. */
export const RETRY_CODES: readonly string[] = ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"];

/** How a failed request is tried again. */
export interface RetryPolicyOptions {
  /** "always" tries again whatever the failure, as often as a step may (ATTEMPTS_PER_STEP_MAX). Default "normal". */
  readonly mode?: "normal" | "always";
  /** In the mode "normal", for one step, provider and policy. Default 5. */
  readonly maxRetries?: number;
  /** The wait before the first retry; it doubles each time. Default 500. */
  readonly initialDelayMs?: number;
  /** The longest wait. A provider that asks for a longer one is not asked again in the mode "normal". Default 10 000. */
  readonly maxDelayMs?: number;
  /** By which part a wait may be longer or shorter, 0 to 1. Default 0.1. */
  readonly jitter?: number;
  /** In the mode "normal". Default RETRY_CODES. */
  readonly codes?: readonly string[];
}

/**
 * Installs the policy as a listener of `agent/request-error`. A listener behind it that wants the request made again is obeyed.
 *
 * @param listen for one session only, or with an owner
 * @returns takes it away
 * @throws {RangeError} when a number makes no sense
 *
 * @example
 * ```ts
 * import { Hooks } from "../hooks/mod.ts";
 * import type { AgentHooks } from "./hooks.ts";
 * import { installRetryPolicy } from "./retry_policy.ts";
 *
 * const hooks = new Hooks<AgentHooks>();
 * installRetryPolicy(hooks, { maxRetries: 2 });
 * if (hooks.count("agent/request-error") !== 1) throw new Error("unreachable");
 * ```
 */
export function installRetryPolicy(
  hooks: Hooks<AgentHooks>,
  options: RetryPolicyOptions = {},
  listen: ListenOptions = {},
): () => void {
  const policy = checked(options);
  return hooks.on("agent/request-error", async (failed, next) => {
    const action = await next();
    return action ?? (await waitForRetry(failed, policy) ? { kind: "retry" } : undefined);
  }, listen);
}

interface Policy extends Required<RetryPolicyOptions> {
  /** Retries of another policy do not count. */
  readonly key: string;
}

function checked(options: RetryPolicyOptions): Policy {
  const policy = {
    mode: options.mode ?? "normal",
    maxRetries: options.maxRetries ?? 5,
    initialDelayMs: options.initialDelayMs ?? 500,
    maxDelayMs: options.maxDelayMs ?? 10_000,
    jitter: options.jitter ?? 0.1,
    codes: options.codes ?? RETRY_CODES,
  };
  for (const name of ["maxRetries", "initialDelayMs", "maxDelayMs"] as const) {
    if (!Number.isSafeInteger(policy[name]) || policy[name] < 0 || policy[name] > DELAY_MAX_MS) {
      throw new RangeError(`Cannot make a retry policy: ${name} is ${policy[name]}`);
    }
  }
  if (!(policy.jitter >= 0 && policy.jitter <= 1)) {
    throw new RangeError(`Cannot make a retry policy: jitter is ${policy.jitter}`);
  }
  return { ...policy, key: canonicalJson(policy) };
}

/** The longest timer there is. */
const DELAY_MAX_MS = 0x7fff_ffff;

/** Waits as the policy says. Returns whether the request is to be made again. */
async function waitForRetry({ agent, turn, step, provider, failure, signal }: RequestFailure, policy: Policy) {
  const { session } = agent;
  const { mode, maxRetries, key: policyKey } = policy;
  if (mode === "normal" && !policy.codes.includes(failure.code)) return false;
  const retry = await retriesIn(session, { turn, step, provider, policyKey }) + 1;
  if (signal.aborted || (mode === "normal" && retry > maxRetries)) return false;
  const delayMs = delayOf(policy, retry, failure, session.random);
  if (delayMs === null) return false;

  const retryId = hex(session.random.bytes(16));
  const limit = mode === "normal" ? { maxRetries } : {};
  const data = { retryId, turn, step, provider, mode, policyKey, retry, ...limit, delayMs, failure };
  session.append({ type: "llm/retry", data });
  await elapsed(session.clock, delayMs, signal);
  if (signal.aborted) return false;
  session.append({ type: "llm/retry-started", data: { retryId, turn, step, retry } });
  return true;
}

/** `null` when the provider asks for more patience than the policy has. */
function delayOf(policy: Policy, retry: number, failure: LlmFailure, random: Random): number | null {
  const { initialDelayMs, maxDelayMs, jitter, mode } = policy;
  const asked = failure.providerRetryAfterMs;
  if (asked !== undefined) {
    if (asked <= maxDelayMs) return Math.ceil(asked);
    return mode === "normal" ? null : maxDelayMs;
  }
  const [high, low] = random.bytes(2) as unknown as [number, number];
  const swing = 1 + jitter * (2 * (high * 256 + low) / 0xffff - 1);
  const backoff = Math.min(initialDelayMs * 2 ** (retry - 1), maxDelayMs);
  return Math.min(Math.round(backoff * swing), maxDelayMs);
}

/** How many events are looked at at once, from the end of the log backwards. */
const PAGE_EVENTS = 256;

/** Counts the retries of the open step. */
async function retriesIn(
  session: Session,
  wanted: { readonly turn: number; readonly step: number; readonly provider: string; readonly policyKey: string },
): Promise<number> {
  let retries = 0;
  for (let end = session.nextSeq; end > 0;) {
    const from = Math.max(0, end - PAGE_EVENTS);
    for (const event of (await eventsBetween(session, from, end)).toReversed()) {
      if (event.type === "step/start") return retries;
      if (event.type === "llm/retry" && isRetryOf(event, wanted)) retries++;
    }
    end = from;
  }
  return retries;
}

/** A store may give less than it was asked for. */
async function eventsBetween(session: Session, from: number, end: number): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for (let count = -1; events.length !== count && from + events.length < end;) {
    count = events.length;
    events.push(...(await session.history({ from: from + count, limit: end - from - count })).events);
  }
  return events;
}

function isRetryOf({ data }: SessionEvent, wanted: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(wanted).every(([key, value]) => (data as JsonObject)[key] === value);
}

function elapsed(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  const stopTimer = clock.schedule(delayMs, resolve);
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    stopTimer();
    signal.removeEventListener("abort", onAbort);
  });
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
