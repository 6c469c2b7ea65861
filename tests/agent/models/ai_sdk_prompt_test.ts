import { assertEquals } from "@std/assert";
import { fromAiSdk } from "../../../src/agent/models/ai_sdk.ts";
import { aiSdkCall } from "../../../src/agent/models/ai_sdk_prompt.ts";
import type { AiSdkVersion } from "../../../src/agent/models/ai_sdk_shapes.ts";
import type { Block, Message } from "../../../src/event/mod.ts";
import { call, chunksOf, finish, messageOf, modelOf, type Part, requestOf, text } from "./ai_sdk_support.ts";

const NUMBERS: readonly AiSdkVersion[] = [2, 3, 4];

function promptOf(version: AiSdkVersion, messages: readonly Message[]): Part[] {
  return aiSdkCall(requestOf(messages), { version, provider: "mine.chat", model: "small" }).prompt;
}

function user(...content: Block[]): Message {
  return { id: "u", role: "user", content, source: { kind: "user" } };
}

function result(callId: string, content: readonly Block[], isError?: boolean): Message {
  const block = {
    type: "tool-result" as const,
    toolCallId: callId,
    content,
    ...(isError === undefined ? {} : { isError }),
  };
  return { id: "r", role: "user", content: [block], source: { kind: "tool", callId } };
}

function assistant(content: readonly Block[], source: Part = {}): Message {
  return {
    id: "a",
    role: "assistant",
    content,
    source: { kind: "model", provider: "mine.chat", model: "small", ...source },
  };
}

const say = (text: string): Block => ({ type: "text", text });

Deno.test("aiSdkCall() says a conversation in the words of every version", () => {
  const messages: Message[] = [
    { id: "s", role: "system", content: [say("be kind"), say("be short")], source: { kind: "plugin", plugin: "p" } },
    { id: "s2", role: "system", content: [], source: { kind: "plugin", plugin: "p" } },
    user(say("hi"), say(""), say("there")),
    assistant([
      { type: "reasoning", text: "hm" },
      say(""),
      say("reading"),
      { type: "tool-call", id: "c1", name: "read", arguments: '{"path":"a"}' },
      { type: "tool-call", id: "c2", name: "read", arguments: "" },
      { type: "tool-call", id: "c3", name: "read", arguments: "{oops" },
    ]),
    result("c1", [say("found"), say("more")]),
    result("c2", [say("Error: gone")], true),
    result("c3", [], true),
    result("c0", [say("of a call that is not here")]),
    user(say("and?")),
    user(),
  ];
  for (const version of NUMBERS) {
    assertEquals(promptOf(version, messages), [
      { role: "system", content: "be kind\nbe short" },
      { role: "user", content: [{ type: "text", text: "hi" }, { type: "text", text: "there" }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "reading" },
          { type: "tool-call", toolCallId: "c1", toolName: "read", input: { path: "a" } },
          { type: "tool-call", toolCallId: "c2", toolName: "read", input: {} },
          { type: "tool-call", toolCallId: "c3", toolName: "read", input: "{oops" },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "text", value: "found\nmore" } },
          {
            type: "tool-result",
            toolCallId: "c2",
            toolName: "read",
            output: { type: "error-text", value: "Error: gone" },
          },
          { type: "tool-result", toolCallId: "c3", toolName: "read", output: { type: "error-text", value: "" } },
          {
            type: "tool-result",
            toolCallId: "c0",
            toolName: "unknown",
            output: { type: "text", value: "of a call that is not here" },
          },
        ],
      },
      { role: "user", content: [{ type: "text", text: "and?" }] },
    ]);
  }
});

Deno.test("aiSdkCall() passes settings and tools, and says nothing of those that are not set", () => {
  const target = { version: 4 as const, provider: "mine.chat", model: "small" };
  const request = requestOf([], { temperature: 0, maxTokens: 9, stop: ["END"] });
  assertEquals(aiSdkCall(request, target), {
    prompt: [],
    tools: [{ type: "function", name: "read", description: "reads", inputSchema: { type: "object" } }],
    temperature: 0,
    maxOutputTokens: 9,
    stopSequences: ["END"],
  });
  const bare = { sessionId: "s1", header: { config: { provider: "p", model: "m" } }, messages: [] };
  assertEquals(aiSdkCall(bare, target), { prompt: [] });
});

Deno.test("aiSdkCall() asks for an effort in the words of the version", () => {
  const effort = (version: AiSdkVersion, reasoningEffort: string) => {
    const call = aiSdkCall(requestOf([], { reasoningEffort }), { version, provider: "mine.chat", model: "small" });
    return [call.reasoning, call.providerOptions];
  };
  assertEquals(effort(4, "high"), ["high", undefined]);
  assertEquals(effort(4, "extreme"), [undefined, { mine: { reasoningEffort: "extreme" } }]);
  assertEquals(effort(3, "high"), [undefined, { mine: { reasoningEffort: "high" } }]);
  assertEquals(effort(2, "high"), [undefined, { mine: { reasoningEffort: "high" } }]);
});

Deno.test("aiSdkCall() sends reasoning and metadata back only to the model they came from", async () => {
  const signed = { mine: { sign: "s1" } };
  const chunks = await chunksOf("v4", [
    { type: "reasoning-start", id: "0", providerMetadata: { mine: { redacted: "r" } } },
    { type: "reasoning-end", id: "0" },
    ...text("0", "calling"),
    call("c1", "read", "{}", { providerMetadata: signed }),
    finish("v4", "tool-calls"),
  ]);
  const message = messageOf(chunks);
  const [own] = promptOf(4, [message]);
  assertEquals(own?.content, [
    { type: "reasoning", text: "", providerOptions: { mine: { redacted: "r" } } },
    { type: "text", text: "calling" },
    { type: "tool-call", toolCallId: "c1", toolName: "read", input: {}, providerOptions: signed },
  ]);
  for (const other of [{ provider: "mine.chat", model: "large" }, { provider: "others", model: "small" }]) {
    const [foreign] = aiSdkCall(requestOf([message]), { version: 4, ...other }).prompt;
    assertEquals(foreign?.content, [
      { type: "text", text: "calling" },
      { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} },
    ]);
  }
});

Deno.test("aiSdkCall() puts metadata where it belongs, when a cut-off answer lost its calls", async () => {
  const chunks = await chunksOf("v4", [
    ...text("0", "a"),
    call("c1", "read", "{}", { providerMetadata: { mine: { sign: "call" } } }),
    call("p1", "search", "{}", { providerExecuted: true }),
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "b", providerMetadata: { mine: { sign: "b" } } },
    { type: "text-end", id: "1" },
    finish("v4", "length"),
  ]);
  const whole = messageOf(chunks);
  const message = { ...whole, content: whole.content.filter((block) => block.type !== "tool-call") };
  assertEquals(promptOf(4, [message])[0]?.content, [
    { type: "text", text: "a" },
    { type: "tool-call", toolCallId: "p1", toolName: "search", input: {}, providerExecuted: true },
    { type: "text", text: "b", providerOptions: { mine: { sign: "b" } } },
  ]);
});

Deno.test("aiSdkCall() sends the provider its own calls back in their place, and refuses what it asked to be approved", async () => {
  const metadata = { mine: { item: "i1" } };
  for (const version of NUMBERS) {
    const chunks = await chunksOf(`v${version}`, [
      call("p1", "search", '{"q":1}', { providerExecuted: true, providerMetadata: metadata }),
      { type: "tool-result", toolCallId: "p1", toolName: "search", result: { hits: 1 } },
      ...text("0", "a"),
      { type: "source", sourceType: "url", id: "s", url: "http://x" },
      {
        type: "file",
        mediaType: "image/png",
        data: version === 4 ? { type: "url", url: new URL("http://x/y") } : "aGk=",
      },
      call("p2", "delete", "{}", { providerExecuted: true }),
      { type: "tool-approval-request", approvalId: "a1", toolCallId: "p2" },
      call("c1", "read", "{}"),
      { type: "tool-result", toolCallId: "p3", toolName: "late", result: "no", isError: true },
      finish(`v${version}`, "tool-calls"),
    ]);
    const [own, tool, ...rest] = promptOf(version, [messageOf(chunks), result("c1", [say("found")])]);
    assertEquals(own, {
      role: "assistant",
      content: [
        {
          type: "tool-call",
          toolCallId: "p1",
          toolName: "search",
          input: { q: 1 },
          providerExecuted: true,
          providerOptions: metadata,
        },
        { type: "tool-result", toolCallId: "p1", toolName: "search", output: { type: "json", value: { hits: 1 } } },
        { type: "text", text: "a" },
        {
          type: "file",
          mediaType: "image/png",
          data: version === 4 ? { type: "url", url: new URL("http://x/y") } : "aGk=",
        },
        { type: "tool-call", toolCallId: "p2", toolName: "delete", input: {}, providerExecuted: true },
        { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} },
        { type: "tool-result", toolCallId: "p3", toolName: "late", output: { type: "error-json", value: "no" } },
      ],
    });
    const answers = [
      { type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "text", value: "found" } },
    ];
    const refused = {
      type: "tool-approval-response",
      approvalId: "a1",
      approved: false,
      reason: "calls that the provider runs by itself are not approved here",
    };
    assertEquals(tool?.content, version === 2 ? answers : [refused, ...answers]);
    assertEquals(rest, []);
  }
});

Deno.test("aiSdkCall() takes a replayState from the disk for what it is, whatever it holds", () => {
  for (
    const replayState of [
      7,
      {},
      { response: 7, blocks: { 0: "x" } },
      { response: { parts: [null, 7, { before: "x", part: null }, { before: 0, part: { type: "unheard-of" } }] } },
      { blocks: [null, { position: 0, type: "reasoning", providerMetadata: { mine: { sign: "not of this block" } } }] },
    ]
  ) {
    assertEquals(promptOf(4, [assistant([say("a")], { replayState })]), [
      { role: "assistant", content: [{ type: "text", text: "a" }] },
    ]);
  }
});

const IMAGE: Block = {
  type: "image",
  attachment: { attachmentId: "i", mediaType: "image/png", data: "aGk=", name: "a.png" },
};
const FILE: Block = {
  type: "file",
  attachment: { attachmentId: "f", mediaType: "text/csv", data: "aGk=", name: "b.csv" },
};

Deno.test("aiSdkCall() passes images and files in the words of the version, when their content is there", () => {
  const userPart = (version: AiSdkVersion) => promptOf(version, [user(say("see"), IMAGE, FILE)])[0]?.content;
  for (const version of NUMBERS) {
    const data = version === 4 ? { type: "data", data: "aGk=" } : "aGk=";
    assertEquals(userPart(version), [
      { type: "text", text: "see" },
      { type: "file", data, mediaType: "image/png" },
      { type: "file", data, mediaType: "text/csv", filename: "b.csv" },
    ]);
  }
  const resultPart = (version: AiSdkVersion) => {
    const [message] = promptOf(version, [result("c1", [say("see"), IMAGE, FILE])]);
    return ((message?.content as Part[])[0]?.output as Part).value;
  };
  assertEquals(resultPart(2), [
    { type: "text", text: "see" },
    { type: "media", data: "aGk=", mediaType: "image/png" },
    { type: "media", data: "aGk=", mediaType: "text/csv" },
  ]);
  assertEquals(resultPart(3), [
    { type: "text", text: "see" },
    { type: "image-data", data: "aGk=", mediaType: "image/png" },
    { type: "file-data", data: "aGk=", mediaType: "text/csv", filename: "b.csv" },
  ]);
  assertEquals(resultPart(4), [
    { type: "text", text: "see" },
    { type: "file", data: { type: "data", data: "aGk=" }, mediaType: "image/png" },
    { type: "file", data: { type: "data", data: "aGk=" }, mediaType: "text/csv", filename: "b.csv" },
  ]);
});

Deno.test("stream() asks nothing and fails with UNSUPPORTED_CONTENT, when an image or a file is only a reference", async () => {
  const reference: Block = { type: "image", attachment: { attachmentId: "i1", mediaType: "image/png", bytes: 3 } };
  for (const messages of [[user(reference)], [result("c1", [reference])]]) {
    const model = modelOf("v4", [...text("0", "never"), finish("v4", "stop")]);
    const chunks = await Array.fromAsync(fromAiSdk(model).stream(requestOf(messages), new AbortController().signal));
    const message = 'the image "i1" is only a reference, and this model takes the content itself';
    assertEquals(chunks, [
      { type: "finish", reason: { kind: "error", failure: { message, code: "UNSUPPORTED_CONTENT" } } },
    ]);
    assertEquals(model.calls, []);
  }
});
