/**
 * Reading a body that a stranger sends: so large at most, so long at most.
 *
 * @module
 */
import type { Clock } from "../../mod.ts";
import { BODY_MS_MAX } from "./limits.ts";
import { Refusal } from "./problem.ts";

/**
 * Reads a body whole.
 *
 * @throws {Refusal} when it is over `sizeBytesMax`, or not there after BODY_MS_MAX
 *
 * @example
 * ```ts
 * import { readBody } from "./body.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const request = new Request("http://localhost", { method: "POST", body: "abc" });
 * if ((await readBody(request, 3, clock)).length !== 3) throw new Error("unreachable");
 * ```
 */
export async function readBody(request: Request, sizeBytesMax: number, clock: Clock): Promise<Uint8Array<ArrayBuffer>> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) > sizeBytesMax) throw tooLarge(sizeBytesMax);
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const cancel = clock.schedule(BODY_MS_MAX, () => {
    late.reject(new Refusal(408, "REQUEST_TIMEOUT", `Cannot read the body: it took over ${BODY_MS_MAX} ms`));
  });
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for (;;) {
      const { value, done } = await Promise.race([reader.read(), late.promise]);
      if (done) break;
      sizeBytes += value.length;
      if (sizeBytes > sizeBytesMax) throw tooLarge(sizeBytesMax);
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, "INVALID_REQUEST", "Cannot read the body: it did not come whole");
  } finally {
    cancel();
  }
  const bytes = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/**
 * Reads a body as JSON.
 *
 * @throws {Refusal} when it is no JSON in UTF-8, or says that it is something else
 *
 * @example
 * ```ts
 * import { readJson } from "./body.ts";
 *
 * const clock = { now: () => 0, schedule: () => () => {} };
 * const headers = { "content-type": "application/json" };
 * const request = new Request("http://localhost", { method: "POST", body: "[1]", headers });
 * if (JSON.stringify(await readJson(request, 9, clock)) !== "[1]") throw new Error("unreachable");
 * ```
 */
export async function readJson(request: Request, sizeBytesMax: number, clock: Clock): Promise<unknown> {
  if (!/^application\/json(?:\s*;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "Cannot read the body: wanted content-type application/json");
  }
  const bytes = await readBody(request, sizeBytesMax, clock);
  let hasLoneSurrogate = false;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes), (key: string, member: unknown) => {
      hasLoneSurrogate ||= !key.isWellFormed() || (typeof member === "string" && !member.isWellFormed());
      return member;
    });
  } catch {
    throw new Refusal(400, "INVALID_REQUEST", "Cannot read the body: it is no JSON in UTF-8");
  }
  if (hasLoneSurrogate) {
    throw new Refusal(400, "INVALID_REQUEST", "Cannot read the body: a text in it holds half of a surrogate pair");
  }
  return value;
}

function tooLarge(sizeBytesMax: number): Refusal {
  return new Refusal(413, "TOO_LARGE", `Cannot read the body: it has more than ${sizeBytesMax} bytes`);
}
