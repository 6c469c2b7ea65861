import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { assemble, isVisible } from "../../src/agent/assemble.ts";
import { callChunks, reasoningChunks, textChunks } from "../../src/agent/models/chunks.ts";
import { replayStream, type StreamChunk, StreamRecorder } from "../../src/event/mod.ts";

const PLACE = { turn: 2, step: 3, takenCallIds: new Set<string>() };

function of(chunks: readonly StreamChunk[], place = PLACE) {
  return assemble(chunks.map((chunk, time) => ({ time, chunk })), place);
}

Deno.test("assemble() takes finished blocks as they are and builds the others from their deltas, by index", () => {
  const { content, usage, finish } = of([
    { type: "block-start", index: 1, blockType: "text" },
    { type: "text-delta", index: 1, text: "b" },
    ...reasoningChunks(0, ["a", "b"]),
    { type: "text-delta", index: 1, text: "c" },
    { type: "tool-call-delta", index: 2, id: "", name: "x", argumentsDelta: "{" },
    { type: "tool-call-delta", index: 2, id: "c1", argumentsDelta: "}" },
    { type: "block-start", index: 3, blockType: "text" },
    { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } },
    { type: "usage", usage: { inputTokens: 2, outputTokens: 3 } },
    { type: "finish", reason: { kind: "tool-calls" } },
  ]);
  assertEquals(content, [
    { type: "reasoning", text: "ab" },
    { type: "text", text: "bc" },
    { type: "tool-call", id: "c1", name: "x", arguments: "{}" },
  ]);
  assertEquals(usage, { inputTokens: 2, outputTokens: 3 });
  assertEquals(finish, { kind: "tool-calls" });
});

Deno.test("assemble() keeps what the provider wants back, and chunk types it does not know", () => {
  const strange = { type: "citation", index: 7, url: "x" } as unknown as StreamChunk;
  const found = of([strange, {
    type: "finish",
    reason: { kind: "stop" },
    replayState: { response: "r1" },
  }]);
  assertEquals(found.content, []);
  assertEquals(found.replayState, { response: "r1" });
  assertEquals(found.chunks.length, 2);
});

Deno.test("assemble() never gives one id to two calls, keeps the first, and streams say what the message says", () => {
  const id = fc.constantFrom("", "a", "b", "call-2-3-0", "call-2-3-1", "call-2-3-1-2");
  fc.assert(
    fc.property(fc.array(id, { maxLength: 6 }), fc.uniqueArray(id, { maxLength: 3 }), (ids, takenIds) => {
      const takenCallIds = new Set<string>(takenIds);
      const chunks = ids.flatMap((id, index) => callChunks(index, { id, name: "x", args: `{"n":${index}}` }));
      const found = of(chunks, { ...PLACE, takenCallIds });
      const used = found.content.map((block) => block.type === "tool-call" ? block.id : "");
      assertEquals(new Set(used).size, ids.length);
      for (const used_ of used) assertEquals(used_ !== "" && !takenCallIds.has(used_), true);
      for (const { index, providerCallId } of found.renamed) assertEquals(ids[index], providerCallId);
      const renamed = new Set(found.renamed.map(({ index }) => index));
      ids.forEach((id, index) => renamed.has(index) || assertEquals(used[index], id));

      const recorder = new StreamRecorder();
      for (const { chunk, time } of found.chunks) recorder.add(chunk, time);
      const again = assemble(replayStream(recorder.records), { ...PLACE, takenCallIds });
      assertEquals(again.content, found.content);
      assertEquals(again.renamed, []);
    }),
    { seed: 1, numRuns: 500 },
  );
});

Deno.test("isVisible() counts text and reasoning that is more than white space", () => {
  const visible = (chunks: readonly StreamChunk[]) => isVisible(of(chunks).content);
  assertEquals(visible(textChunks(0, [" \n"])), false);
  assertEquals(visible(callChunks(0, { id: "c", name: "x", args: "{}" })), false);
  assertEquals(visible(reasoningChunks(0, ["hm"])), true);
});
