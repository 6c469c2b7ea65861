/**
 * Reads a stream of server-sent events, however the network cut it.
 *
 * @see WHATWG HTML, "Parsing an event stream"
 * @module
 */
import { TooLargeError } from "../../errors.ts";

/** The longest event that is read, in UTF-16 units. */
export const EVENT_SIZE_MAX = 16 * 1024 * 1024;

/**
 * Yields the data of each event. Comments, event names, ids and events without data are skipped; an event that the end of
 * the stream cut off is dropped, as the specification says.
 *
 * Leaving the loop early cancels the stream.
 *
 * @throws {TooLargeError} when one event is over EVENT_SIZE_MAX
 *
 * @example
 * ```ts
 * import { serverSentEvents } from "./server_sent_events.ts";
 *
 * const body = new Response("data: one\n\n: comment\ndata: two\ndata: lines\n\n").body!;
 * const found = await Array.fromAsync(serverSentEvents(body));
 * if (found.join("|") !== "one|two\nlines") throw new Error("unreachable");
 * ```
 */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  let sizeSoFar = 0;
  for await (const line of lines(body)) {
    if (line === "") {
      if (data.length > 0) yield data.join("\n");
      data = [];
      sizeSoFar = 0;
      continue;
    }
    if (!line.startsWith("data:") && line !== "data") continue;
    const value = line.slice(line.startsWith("data: ") ? 6 : 5);
    sizeSoFar += value.length + 1;
    if (sizeSoFar > EVENT_SIZE_MAX) throw tooLarge();
    data.push(value);
  }
}

/** Lines that ended in LF, CR or CRLF. What follows the last line end is dropped. */
async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  // Not fatal: a broken byte must not lose the rest of an answer. The decoder also swallows a byte order mark.
  const decoder = new TextDecoder();
  // The start of a line whose end has not come yet, in pieces: joining once keeps a long line linear.
  let open: string[] = [];
  let openSize = 0;
  let endedInReturn = false;
  for await (const bytes of chunks(body)) {
    let text = decoder.decode(bytes, { stream: true });
    if (text === "") continue;
    // A CRLF may be cut between its two characters.
    if (endedInReturn && text.startsWith("\n")) text = text.slice(1);
    endedInReturn = text.endsWith("\r");
    const parts = text.split(/\r\n|\r|\n/);
    for (let index = 0; index < parts.length - 1; index++) {
      open.push(parts[index]!);
      yield open.join("");
      open = [];
      openSize = 0;
    }
    const rest = parts.at(-1)!;
    openSize += rest.length;
    if (openSize > EVENT_SIZE_MAX) throw tooLarge();
    if (rest !== "") open.push(rest);
  }
}

/** By reader, because not every browser can iterate a stream. */
async function* chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // A stream that already broke rejects here too; its reason was thrown by read().
    reader.cancel().catch(() => {});
  }
}

function tooLarge(): TooLargeError {
  return new TooLargeError(`Cannot read the event stream: one event is over ${EVENT_SIZE_MAX} characters`);
}
