import { assert, assertEquals } from "@std/assert";
import { type Attempt, pullAttempt, RESPONSE_SIZE_MAX } from "../../src/agent/attempt.ts";
import type { StreamChunk } from "../../src/event/mod.ts";

const clock = { now: () => 0, schedule: () => () => {} };

function pull(stream: AsyncIterable<StreamChunk>, signal = new AbortController().signal): Promise<Attempt> {
  return pullAttempt(stream, { clock, signal, onChunk() {} });
}

async function* endless(chunk: (count: number) => StreamChunk): AsyncGenerator<StreamChunk> {
  for (let count = 0;; count++) yield chunk(count);
}

const LARGE = "x".repeat(RESPONSE_SIZE_MAX / 8);

const ENDLESS: Readonly<Record<string, (count: number) => StreamChunk>> = {
  "usage": () => ({ type: "usage", usage: { inputTokens: 1, outputTokens: 1 } }),
  "ids of calls": (index) => ({ type: "tool-call-delta", index, id: LARGE, argumentsDelta: "" }),
  "names of calls": (index) => ({ type: "tool-call-delta", index, id: "a", name: LARGE, argumentsDelta: "" }),
  "starts of blocks": (index) => ({ type: "block-start", index, blockType: LARGE }),
};

for (const [what, chunk] of Object.entries(ENDLESS)) {
  Deno.test(`pullAttempt() ends an answer without end by its size, whatever it consists of: ${what}`, async () => {
    const { end } = await pull(endless(chunk));
    assert(end.kind === "failed", end.kind);
    assertEquals(end.failure.code, "TOO_LARGE");
  });
}

Deno.test("pullAttempt() hears a cancel while a stream is always ready", async () => {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 0);
  const { end } = await pull(endless(() => ({ type: "text-delta", index: 0, text: "" })), controller.signal);
  clearTimeout(timer);
  assertEquals(end.kind, "cancelled");
});
