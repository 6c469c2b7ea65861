/**
 * Answers of bounded size: a server that never ends a message must not fill the memory.
 *
 * @module
 */

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * A fetch whose answers fail when a message in them is too large. In a stream of events a message ends with an empty line;
 * anything else is one message.
 *
 * @example
 * ```ts
 * import { boundedFetch } from "./bounded_fetch.ts";
 *
 * const fetch = boundedFetch(() => Promise.resolve(new Response("x".repeat(100))), 10);
 * const response = await fetch("http://127.0.0.1/");
 * if (await response.text().then(() => true, () => false)) throw new Error("unreachable");
 * ```
 */
export function boundedFetch(fetch: typeof globalThis.fetch, sizeBytesMax: number): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const isEventStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const bounded = response.body.pipeThrough(messageBound(sizeBytesMax, isEventStream));
    const { status, statusText, headers } = response;
    return new Response(bounded, { status, statusText, headers });
  };
}

function messageBound(sizeBytesMax: number, hasManyMessages: boolean): TransformStream<Uint8Array, Uint8Array> {
  let sizeBytes = 0;
  let last = 0;
  let isLineEmpty = true;
  let isOver = false;
  const count = (byte: number) => {
    isOver ||= ++sizeBytes > sizeBytesMax;
    const isSecondHalf = byte === LINE_FEED && last === CARRIAGE_RETURN;
    last = byte;
    if (isSecondHalf) return;
    if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) isLineEmpty = false;
    else if (isLineEmpty) sizeBytes = 0;
    else isLineEmpty = true;
  };
  return new TransformStream({
    transform(chunk, controller) {
      if (hasManyMessages) chunk.forEach(count);
      else isOver = (sizeBytes += chunk.length) > sizeBytesMax;
      if (isOver) {
        controller.error(new RangeError(`Cannot read the answer: one message in it is over ${sizeBytesMax} bytes`));
      } else controller.enqueue(chunk);
    },
  });
}
