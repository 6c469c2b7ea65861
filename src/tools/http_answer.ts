/**
 * An HTTP answer in words, for a model.
 *
 * @module
 */

/** How much of an answer's body is read. */
export const ANSWER_SIZE_BYTES_MAX = 256 * 1024;

/**
 * Status, the headers that matter, and the body as far as it is text and within its bound.
 *
 * Never rejects: the status came, so what became of the request is known, even when the connection breaks in the body.
 *
 * @example
 * ```ts
 * import { describeAnswer } from "./http_answer.ts";
 *
 * const text = await describeAnswer(new Response("pong", { status: 200 }), "GET");
 * if (!text.endsWith("pong")) throw new Error("unreachable");
 * ```
 */
export async function describeAnswer(response: Response, method: string): Promise<string> {
  const type = response.headers.get("content-type");
  const lines = [`HTTP ${response.status} ${response.statusText}`.trim()];
  for (const name of ["content-type", "location", "retry-after"]) {
    const value = response.headers.get(name);
    if (value !== null) lines.push(`${name}: ${value}`);
  }
  const { bytes, isCut, isBroken } = await readBody(response);
  const isText = !bytes.includes(0) && (type === null || /^text\/|json|xml|javascript|urlencoded/i.test(type));
  const body = isText ? new TextDecoder().decode(bytes) : `[${bytes.length} bytes, not text]`;
  if (method !== "HEAD" && bytes.length > 0) lines.push("", body);
  if (isCut) lines.push(`[the answer goes on after ${bytes.length} bytes]`);
  if (isBroken) lines.push("[the connection broke before the end of the answer]");
  return lines.join("\n");
}

async function readBody(response: Response): Promise<{ bytes: Uint8Array; isCut: boolean; isBroken: boolean }> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  let isBroken = false;
  const reader = response.body?.getReader();
  try {
    while (reader !== undefined && sizeBytes <= ANSWER_SIZE_BYTES_MAX) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      sizeBytes += value.length;
    }
  } catch {
    isBroken = true;
  }
  reader?.cancel().catch(() => {});
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return { bytes: whole.subarray(0, ANSWER_SIZE_BYTES_MAX), isCut: sizeBytes > ANSWER_SIZE_BYTES_MAX, isBroken };
}
