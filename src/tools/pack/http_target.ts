/**
 * A target that keeps keys, over HTTP.
 *
 * `POST url` with the order as JSON does it, `DELETE url` closes the key; both carry the key in `Idempotency-Key`. Both answer 200
 * with `{"state": "done", "receipt"}`, or 409 with `{"state": "closed"}`; an order may be answered with 422 and `{"reason"}`.
 *
 * @module
 */
import { ToolError } from "../../tool/mod.ts";
import type { KeyedTarget, KeyState, OrderAnswer } from "./keyed_target.ts";

/** The most an answer may be, in UTF-16 units. */
export const TARGET_ANSWER_LENGTH_MAX = 64 * 1024;

/** Where the target is. */
export interface HttpTargetOptions {
  /** Its address. */
  readonly url: string;
  /** Sends the requests. */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Makes the client of such a target.
 *
 * @example
 * ```ts
 * import { httpTarget } from "./http_target.ts";
 *
 * const answering: typeof fetch = () => Promise.resolve(Response.json({ state: "closed" }, { status: 409 }));
 * const target = httpTarget({ url: "https://bank.example/pay", fetch: answering });
 * const found = await target.close("key", {}, new AbortController().signal);
 * if (found.state !== "closed") throw new Error("unreachable");
 * ```
 */
export function httpTarget<Order>({ url, fetch }: HttpTargetOptions): KeyedTarget<Order> {
  async function ask(method: "POST" | "DELETE", key: string, order: Order, signal: AbortSignal): Promise<OrderAnswer> {
    const headers = { "content-type": "application/json", "idempotency-key": key };
    const body = JSON.stringify(order);
    const response = await fetch(url, { method, headers, body, redirect: "error", signal });
    const text = await response.text();
    if (text.length > TARGET_ANSWER_LENGTH_MAX) {
      throw new Error(`the answer is over ${TARGET_ANSWER_LENGTH_MAX} characters`);
    }
    const found = answerIn(response.status, text);
    if (found !== null) return found;
    // A request the target could not even read was not carried out. Everything else may have been.
    const said = `the target answered ${response.status}`;
    if ([400, 401, 403, 404, 405, 415].includes(response.status)) throw new ToolError("REFUSED_BY_TARGET", said);
    throw new Error(said);
  }
  return {
    perform: (key, order, signal) => ask("POST", key, order, signal),
    async close(key, order, signal): Promise<KeyState> {
      const found = await ask("DELETE", key, order, signal);
      if (found.state === "refused") throw new Error(`the target answered a question as if it were an order`);
      return found;
    },
  };
}

/** `null` when it is no answer of such a target: a stranger's page proves nothing. */
function answerIn(status: number, text: string): OrderAnswer | null {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof answer !== "object" || answer === null) return null;
  const { state, receipt, reason } = answer as Partial<Record<string, unknown>>;
  if (status === 200 && state === "done" && typeof receipt === "string") return { state, receipt };
  if (status === 409 && state === "closed") return { state };
  if (status === 422 && typeof reason === "string") return { state: "refused", reason };
  return null;
}
