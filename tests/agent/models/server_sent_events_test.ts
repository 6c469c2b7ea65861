import { assertEquals, assertRejects } from "@std/assert";
import { EVENT_SIZE_MAX, serverSentEvents } from "../../../src/agent/models/server_sent_events.ts";
import { TooLargeError } from "../../../src/errors.ts";

function body(...pieces: string[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
}

Deno.test("serverSentEvents() ends lines at LF, CR and CRLF, wherever the pieces end", async () => {
  const text = "\uFEFFdata: a\rdata:b\r\n\r\ndata\n\nevent: x\nid: 1\n\n: note\ndata:  c\n\ndata: cut";
  for (let cut = 0; cut <= text.length; cut++) {
    const found = await Array.fromAsync(serverSentEvents(body(text.slice(0, cut), text.slice(cut))));
    assertEquals(found, ["a\nb", "", " c"], `cut at ${cut}`);
  }
});

Deno.test("serverSentEvents() cancels the stream, when the reader leaves", async () => {
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: x\n\n")),
    cancel: () => void (isCancelled = true),
  });
  for await (const _ of serverSentEvents(endless)) break;
  assertEquals(isCancelled, true);
});

Deno.test("serverSentEvents() refuses an event over its limit, in one line or in many", async () => {
  const half = "x".repeat(EVENT_SIZE_MAX / 2 + 1);
  await assertRejects(() => Array.fromAsync(serverSentEvents(body("data: ", half, half))), TooLargeError);
  await assertRejects(
    () => Array.fromAsync(serverSentEvents(body(`data: ${half}\n`, `data: ${half}\n`))),
    TooLargeError,
  );
});
