import { assertEquals, assertStringIncludes } from "@std/assert";
import { demo } from "../../../src/agent/models/demo.ts";
import { type Message, NOT_DISPATCHED_TEXT, OUTCOME_UNKNOWN_TEXT } from "../../../src/event/mod.ts";

const TOOLS = ["list_files", "read_file", "write_file", "http_request"].map((name) => ({
  name,
  description: "",
  parameters: {},
}));

const DELETE = { name: "delete_file", description: "", parameters: {} };

function user(text: string): Message {
  return { id: `u-${text}`, role: "user", content: [{ type: "text", text }], source: { kind: "user" } };
}

async function answer(messages: readonly Message[], tools = TOOLS) {
  const request = { sessionId: "s1", header: { config: { provider: "demo", model: "demo" }, tools }, messages };
  const chunks = await Array.fromAsync(demo().stream(request, new AbortController().signal));
  const blocks = chunks.flatMap((chunk) => chunk.type === "block-end" ? [chunk.block] : []);
  return {
    text: blocks.map((block) => block.type === "text" ? block.text : "").join(""),
    calls: blocks.filter((block) => block.type === "tool-call"),
    finish: chunks.at(-1),
  };
}

async function callsOf(text: string, tools = TOOLS) {
  return (await answer([user(text)], tools)).calls.map((call) => [call.name, JSON.parse(call.arguments)]);
}

Deno.test("demo() turns the sentences it knows into calls", async () => {
  assertEquals(await callsOf("list the files"), [["list_files", { path: "." }]]);
  assertEquals(await callsOf("List all files in docs."), [["list_files", { path: "docs" }]]);
  assertEquals(await callsOf("read notes.txt"), [["read_file", { path: "notes.txt" }]]);
  assertEquals(await callsOf('write "hello and goodbye" to notes.txt'), [
    ["write_file", { path: "notes.txt", content: "hello and goodbye" }],
  ]);
  assertEquals(await callsOf("get http://localhost:1/x?y"), [["http_request", {
    method: "GET",
    url: "http://localhost:1/x?y",
  }]]);
  assertEquals(await callsOf("post a word to http://localhost:1/x"), [["http_request", {
    method: "POST",
    url: "http://localhost:1/x",
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: "a word",
  }]]);
  assertEquals(await callsOf("delete notes.txt", [...TOOLS, DELETE]), [["delete_file", { path: "notes.txt" }]]);
  assertEquals(await callsOf("pay 10 to alice at http://127.0.0.1:8080"), [["http_request", {
    method: "POST",
    url: "http://127.0.0.1:8080/payments",
    headers: { "content-type": "application/json" },
    body: '{"amount":10,"to":"alice"}',
  }]]);
});

Deno.test("demo() pays at a bank that needs no address where there is one, and offers only what the tools can do", async () => {
  const pay = { name: "pay", description: "", parameters: {} };
  const { calls } = await answer([user("pay 10 to alice and pay 2.50 to bob.")], [pay]);
  assertEquals(calls.map((call) => [call.name, JSON.parse(call.arguments)]), [
    ["pay", { to: "alice", amount: "10" }],
    ["pay", { to: "bob", amount: "2.50" }],
  ]);
  const { text } = await answer([user("dance")], [pay]);
  assertStringIncludes(text, "pay 10 to alice");
  assertEquals(text.includes("http"), false);
  assertStringIncludes(text, "\n- pay 10 to alice");
  const bankless = await answer([user("Pay 10 to alice.")]);
  assertEquals(bankless.calls, []);
  assertStringIncludes(bankless.text, "“Pay 10 to alice at http://127.0.0.1:8080”");
  assertStringIncludes(bankless.text, "deno task start");
});

Deno.test("demo() runs a command where there is a shell, and can ask for a wider mode", async () => {
  const shell = { name: "shell", description: "", parameters: {} };
  assertEquals(await callsOf("run ls -l and then run make test", [shell]), [
    ["shell", { command: "ls -l" }],
    ["shell", { command: "make test" }],
  ]);
  assertEquals(await callsOf("run echo a in b >c in workspace-write because I want the file.", [shell]), [["shell", {
    command: "echo a in b >c",
    sandbox_permissions: "workspace-write",
    justification: "I want the file",
  }]]);
  assertEquals(await callsOf("run ls"), []);
  assertStringIncludes((await answer([user("dance")], [shell])).text, "- run ls -l\n");
});

Deno.test("demo() makes two calls in one message, when a sentence joins two", async () => {
  const { calls, finish, text } = await answer([
    user("pay 10 to alice at http://127.0.0.1:1 and pay 5.5 to bob at http://127.0.0.1:1/p and write x and y to a.txt"),
  ]);
  assertEquals(calls.map((call) => call.id), ["call_1", "call_2", "call_3"]);
  assertEquals(JSON.parse(calls[1]!.arguments).url, "http://127.0.0.1:1/p");
  assertEquals(JSON.parse(calls[2]!.arguments).content, "x and y");
  assertEquals(finish, { type: "finish", reason: { kind: "tool-calls" } });
  assertStringIncludes(text, "demo model");
  const half = await answer([user("dance, and then read a.txt")]);
  assertEquals(half.calls.length, 1);
  assertStringIncludes(half.text, "dance");
});

Deno.test("demo() says what it is and can do, when it does not understand", async () => {
  for (const text of ["hello", "", "pay 10 to alice at home", "list the planets"]) {
    const found = await answer([user(text)]);
    assertEquals(found.calls, []);
    assertStringIncludes(found.text, "I am the demo model");
    assertStringIncludes(found.text, "pay 10 to alice");
  }
  assertStringIncludes((await answer([user("read a.txt")], [])).text, "needs the tool read_file");
});

Deno.test("demo() says of each of several calls what became of it, and the truth about what a crash left open", async () => {
  const calling: Message = {
    id: "a1",
    role: "assistant",
    content: [
      { type: "tool-call", id: "call_1", name: "http_request", arguments: '{"n":1}' },
      { type: "tool-call", id: "call_2", name: "http_request", arguments: '{"n":2}' },
      { type: "tool-call", id: "call_3", name: "read_file", arguments: '{"path":"a"}' },
    ],
    source: { kind: "model" },
  };
  const results = [OUTCOME_UNKNOWN_TEXT, NOT_DISPATCHED_TEXT, "content of a"].map((text, index): Message => ({
    id: `r${index}`,
    role: "user",
    content: [{ type: "tool-result", toolCallId: `call_${index + 1}`, content: [{ type: "text", text }] }],
    source: { kind: "tool", callId: `call_${index + 1}` },
  }));
  const messages = [user("go"), calling, ...results];
  for (const request of [messages, [...messages, user("continue")]]) {
    const { text, calls } = await answer(request);
    assertEquals(calls, []);
    assertEquals(text.split("\n"), [
      "1. I cannot know whether it happened. Check before you ask for it again.",
      "2. The crash came before it ran: it had no effect. Ask again if you still want it.",
      "3. Done: content of a",
    ]);
  }
  const again = await answer([...messages, user("read b")]);
  assertEquals(again.calls[0]?.id, "call_4");
});

Deno.test("demo() answers a result in one short sentence, and repeats neither the call nor the whole result", async () => {
  const cases: [text: string, isError: boolean, said: string][] = [
    ["Wrote 2 bytes to a.txt.", false, "Done: Wrote 2 bytes to a.txt."],
    ["a.txt (2 bytes)\ndocs/", false, "Done: a.txt (2 bytes) …"],
    ["one line\n", false, "Done: one line"],
    ["x".repeat(5000), false, `Done: ${"x".repeat(120)} …`],
    ["Error: the user said no", true, "That did not work: the user said no"],
    ["Error: 3", false, "Done: Error: 3"],
    [
      "Error: tool call aborted before dispatch",
      true,
      "It was cut off before it ran: it had no effect. Ask again if you still want it.",
    ],
  ];
  for (const [text, isError, said] of cases) {
    const call = { type: "tool-call" as const, id: "call_1", name: "list_files", arguments: '{"path":"."}' };
    const result = {
      type: "tool-result" as const,
      toolCallId: "call_1",
      content: [{ type: "text" as const, text }],
      isError,
    };
    const found = await answer([
      user("go"),
      { id: "a1", role: "assistant", content: [call], source: { kind: "model" } },
      { id: "r1", role: "user", content: [result], source: { kind: "tool", callId: "call_1" } },
    ]);
    assertEquals([found.text, found.calls], [said, []]);
  }
});

Deno.test("the demo model answers what a person said, not what a plugin added behind it", async () => {
  const said = { id: "a", role: "user", content: [{ type: "text", text: "list the files" }], source: { kind: "user" } };
  const added = {
    ...said,
    id: "b",
    content: [{ type: "text", text: "policy: never" }],
    source: { kind: "plugin", plugin: "x" },
  };
  const tools = [{ name: "list_files", description: "lists", parameters: {} }];
  const request = {
    sessionId: "s",
    header: { config: { provider: "demo", model: "demo" }, tools },
    messages: [said, added] as Message[],
  };
  const chunks = await Array.fromAsync(demo().stream(request, new AbortController().signal));
  assertEquals(chunks.at(-1), { type: "finish", reason: { kind: "tool-calls" } });
});
