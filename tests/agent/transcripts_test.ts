import { assertEquals } from "@std/assert";
import type { Block, Message } from "../../src/event/mod.ts";
import { deepSeekProblem, messagesProblem, openAiProblem, transcriptProblem } from "./transcripts.ts";

let count = 0;
function message(role: Message["role"], ...content: Block[]): Message {
  return { id: `m${count++}`, role, content, source: { kind: "user" } };
}
const text = (said: string): Block => ({ type: "text", text: said });
const call = (id: string): Block => ({ type: "tool-call", id, name: "pay", arguments: "{}" });
const result = (id: string): Message =>
  message("user", { type: "tool-result", toolCallId: id, content: [text("done")], isError: false });
const ask = message("user", text("go"));
const pays = message("assistant", text("paying"), call("a"), call("b"));

const REFUSED_BY: Readonly<Record<string, readonly [string, readonly Message[]]>> = {
  "a call without a result": ["OMD", [ask, pays, result("a")]],
  "a message between call and result": ["OMD", [ask, pays, result("a"), ask, result("b")]],
  "a result twice": ["OMD", [ask, pays, result("a"), result("b"), result("a")]],
  "a result of no call": ["OMD", [ask, result("a")]],
  "results in another order": ["MD", [ask, pays, result("b"), result("a")]],
  "one id twice in a message": ["OM", [ask, message("assistant", call("a"), call("a")), result("a"), result("a")]],
  "an id used again": ["M", [
    ask,
    message("assistant", call("a")),
    result("a"),
    message("assistant", call("a")),
    result("a"),
  ]],
  "an empty id": ["OM", [ask, message("assistant", call("")), result("")]],
  "the model's last word": ["MD", [ask, message("assistant", text("hm"))]],
  "the model's first word": ["M", [message("assistant", text("hm")), ask]],
  "a late system message": ["O", [ask, message("system", text("be kind"))]],
};

Deno.test("each dialect refuses what its provider refuses, and all of them take a whole conversation", () => {
  for (const [what, [dialects, messages]] of Object.entries(REFUSED_BY)) {
    const found = [
      openAiProblem(messages) === null ? "" : "O",
      messagesProblem(messages) === null ? "" : "M",
      deepSeekProblem(messages) === null ? "" : "D",
    ];
    assertEquals(found.join(""), dialects, what);
    assertEquals(transcriptProblem(messages) === null, false, what);
  }
  const whole = [
    message("system", text("be kind")),
    ask,
    pays,
    result("a"),
    result("b"),
    ask,
    message("assistant", text(" ")),
    ask,
  ];
  assertEquals(transcriptProblem(whole), null);
});
