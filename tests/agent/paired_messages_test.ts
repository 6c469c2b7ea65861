import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { NO_RESULT_TEXT, pairedMessages } from "../../src/agent/mod.ts";
import type { Block, Message } from "../../src/event/mod.ts";
import { transcriptProblem } from "./transcripts.ts";

const text = (said: string): Block => ({ type: "text", text: said });

function user(id: string): Message {
  return { id, role: "user", content: [text(id)], source: { kind: "user" } };
}

function assistant(id: string, ...callIds: string[]): Message {
  const calls = callIds.map((id): Block => ({ type: "tool-call", id, name: "pay", arguments: "{}" }));
  return { id, role: "assistant", content: [text(id), ...calls], source: { kind: "model" } };
}

function result(callId: string, said = "done"): Message {
  const block: Block = { type: "tool-result", toolCallId: callId, content: [text(said)], isError: false };
  return { id: `r-${callId}-${said}`, role: "user", content: [block], source: { kind: "tool", callId } };
}

const ids = (messages: readonly Message[]) => messages.map(({ id }) => id).join(" ");

Deno.test("pairedMessages() leaves a whole conversation as it is", () => {
  const whole = [user("u1"), assistant("a1", "x", "y"), result("x"), result("y"), assistant("a2"), user("u2")];
  assertEquals(pairedMessages(whole), whole);
  assert(pairedMessages(whole).every((message, index) => message === whole[index]));
});

Deno.test("pairedMessages() answers a call without a result, and says nothing that nobody knows", () => {
  const found = pairedMessages([user("u1"), assistant("a1", "x", "y"), result("y"), user("u2")]);
  assertEquals(ids(found), "u1 a1 no-result-a1-0 r-y-done u2");
  assertEquals(found[2]!.content, [{
    type: "tool-result",
    toolCallId: "x",
    content: [text(NO_RESULT_TEXT)],
    isError: true,
  }]);
  assertStringIncludes(NO_RESULT_TEXT, "may or may not have run");
  assert(Object.isFrozen(found[2]!.content[0]));
});

Deno.test("pairedMessages() puts a late result behind its call, and keeps the words of one that has none", () => {
  const found = pairedMessages([
    user("u1"),
    assistant("a1", "x", "y"),
    user("u2"),
    result("y"),
    result("x"),
    result("z", "news"),
  ]);
  assertEquals(ids(found), "u1 a1 r-x-done r-y-done u2 r-z-news");
  assertEquals(found.at(-1)!.content, [text("news")]);
});

Deno.test("pairedMessages() does not give a call the result of a later one with the same id", () => {
  const found = pairedMessages([user("u1"), assistant("a1", "x"), user("u2"), assistant("a2", "x"), result("x")]);
  assertEquals(ids(found), "u1 a1 no-result-a1-0 u2 a2 r-x-done");
  const twice = pairedMessages([user("u1"), assistant("a1", "x", "x"), result("x", "1"), result("x", "2")]);
  assertEquals(ids(twice), "u1 a1 r-x-1 r-x-2");
});

Deno.test("pairedMessages() makes any conversation one that providers take, and loses no words", () => {
  // Ids are unique over the calls, as they are in our logs: one dialect refuses an id that is used again.
  const piece = fc.oneof(
    fc.constant({ kind: "user" } as const),
    fc.record({ kind: fc.constant("assistant" as const), calls: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ kind: fc.constant("result" as const), of: fc.integer({ min: 0, max: 12 }) }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      let calls = 0;
      const messages = pieces.map((piece, index) => {
        if (piece.kind === "user") return user(`u${index}`);
        if (piece.kind === "result") return result(`c${piece.of}`, `said ${index}`);
        return assistant(`a${index}`, ...Array.from({ length: piece.calls }, () => `c${calls++}`));
      });
      const found = pairedMessages([user("first"), ...messages, user("last")]);
      assertEquals(transcriptProblem(found), null);
      assertEquals(pairedMessages(found), found);
      for (const { id } of messages) assert(found.some((message) => message.id === id), `${id} is gone`);
    }),
    { seed: 1, numRuns: 1000 },
  );
});
