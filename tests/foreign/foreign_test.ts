import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  createAgent,
  type Message,
  type ModelRequest,
  newSessionId,
  OUTCOME_UNKNOWN_TEXT,
  scripted,
} from "../../mod.ts";
import { convertForeign } from "../../src/entry/foreign.ts";
import { MemoryStorage } from "../../src/adapters/memory/mod.ts";
import { openRawLogs } from "../../src/entry/raw_logs.ts";
import { systemRuntime } from "../../src/entry/system.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import { openForeign, recogniseForeign } from "../../src/foreign/mod.ts";
import { CLAUDE_CODE, CLAUDE_CODE_COMPACTED, CODEX, convert, fileOf, PI } from "./foreign_support.ts";

Deno.test("openForeign() reads the newest branch of a Claude Code log, with answers and results gathered by id", async () => {
  const { said, left, report, events } = await convert(fileOf(...CLAUDE_CODE));
  assertEquals(said, [
    "user: Find the bug",
    'model: (hm) | call t1 Read {"path":"a.ts"} | call t2 Read {"path":"b.ts"}',
    "tool: result t1 text of a",
    "tool: error t2 no such file",
    "model: It is in a.ts.",
    "user: Fix it | [image of type image/png, which was not taken in]",
    "model: call t3 Edit {}",
    `tool: error t3 ${OUTCOME_UNKNOWN_TEXT}`,
  ]);
  assertEquals(left, {
    'a line of type "file-history-snapshot"': [1, 2],
    "the signature of a thought": [1, 4],
    "a line of a subagent (sidechain)": [2, 9],
    "a line that cannot be read": [1, 11],
    "a message of another branch, or an empty one": [1, 13],
    "an image": [1, 14],
    'a line of type "system/turn_duration"': [1, 17],
  });
  assertEquals([report.format, report.program, report.foreignId, report.messages], [
    "claude-code",
    "Claude Code",
    "5e55",
    8,
  ]);
  assertEquals(report.inferred, ["a call without a result was closed: nobody knows what became of it"]);
  const title = events.find(({ type }) => type === "session/title");
  assertEquals(title?.data, { title: "The bug in a.ts", messageSeqs: [], source: { kind: "user" } });
  const answer = events.find(({ type }) => type === "assistant/message")!;
  assertEquals(answer.time, Date.parse("2026-03-01T10:00:49.000Z"));
  // deno-lint-ignore no-explicit-any -- the data of an event, looked into
  const { message, usage } = answer.data as any;
  assertEquals([message.source, usage], [
    { kind: "model", provider: "anthropic", model: "model-x" },
    { inputTokens: 5, outputTokens: 2 },
  ]);
});

Deno.test("openForeign() follows a Claude Code log over a compaction and keeps what was compacted in the log", async () => {
  const { said, events, report } = await convert(fileOf(...CLAUDE_CODE_COMPACTED));
  assertEquals(said, ["plugin: It was a talk.", "user: go on", "model: going on"]);
  assertEquals(events.filter(({ type }) => type === "user/message").length, 3);
  assertEquals([report.losses, report.inferred], [[], []]);
});

Deno.test("openForeign() reads the model's log of a Codex rollout", async () => {
  const { said, left, report, events } = await convert(fileOf(...CODEX));
  assertEquals(said, ["plugin: Two tests failed and one was fixed.", "user: And now?", "model: All is well."]);
  assertEquals(left, {
    "instructions for the model": [1, 2],
    'a line for the screen, of type "user_message"': [1, 6],
    "an encrypted thought": [1, 7],
  });
  assertEquals([report.format, report.foreignId], ["codex", "c0de"]);
  const before = await convert(fileOf(...CODEX.slice(0, -3)));
  assertEquals(before.said, [
    "plugin: <environment_context>x</environment_context>",
    "user: Run the tests",
    'model: (tests first) | call k1 exec_command {"cmd":"make test"} | call k2 apply_patch {"input":"*** Begin"}',
    "tool: error k1 2 failed",
    "tool: result k2 Done",
    "model: Two fail. | call k3 exec_command {}",
    `tool: error k3 ${OUTCOME_UNKNOWN_TEXT}`,
  ]);
  const ends = events.flatMap(({ type, data }) =>
    type === "turn/end" ? [JSON.stringify((data as { reason: unknown }).reason)] : []
  );
  assertEquals(ends, ['{"kind":"aborted","reason":{"kind":"user"}}', '{"kind":"completed"}']);
});

Deno.test("openForeign() reads a Codex rollout of before the envelope", async () => {
  const { said } = await convert(fileOf(
    { id: "0ld", timestamp: "2025-06-01T00:00:00Z", instructions: null },
    { record_type: "state" },
    { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
    { type: "local_shell_call", call_id: "s1", action: { type: "exec", command: ["ls"] } },
    { type: "local_shell_call_output", call_id: "s1", output: { content: "a.ts", success: true } },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "one file" }] },
  ));
  assertEquals(said, [
    "user: hi",
    'model: call s1 local_shell {"type":"exec","command":["ls"]}',
    "tool: result s1 a.ts",
    "model: one file",
  ]);
});

Deno.test("openForeign() reads the branch of a pi log that ends the file, and what a compaction kept", async () => {
  const { said, left, report, events } = await convert(fileOf(...PI));
  assertEquals(said, [
    "plugin: An old talk.",
    "user: what is here?",
    'model: call k1 ls {"path":"."}',
    "tool: result k1 a.ts",
    "model: one file",
  ]);
  assertEquals(left, { 'a line of type "model_change"': [1, 2], "a line of another branch": [1, 5] });
  assertEquals([report.format, report.foreignId], ["pi", "b1b1"]);
  const usages = events.flatMap(({ data }) => (data as { usage?: unknown }).usage ?? []);
  assertEquals(usages, [{ inputTokens: 9, outputTokens: 3, cacheReadTokens: 2 }]);
});

Deno.test("the log says where it comes from and what is missing, with place and digest of each line that was left out", async () => {
  const file = fileOf(...CLAUDE_CODE);
  const { events } = await convert(file);
  // deno-lint-ignore no-explicit-any -- the data of an event, looked into
  const { data, type } = events.at(-1) as any;
  assertEquals([type, data.kept], ["log/salvaged", [[0, events.length - 2]]]);
  assertEquals([data.source.name, data.source.sizeBytes, data.source.sha256], [
    "made-up.jsonl",
    file.length,
    await hex(file),
  ]);
  assert(data.dropped.length >= 6);
  for (const { offsetBytes, sizeBytes, sha256 } of data.dropped) {
    const line = file.subarray(offsetBytes, offsetBytes + sizeBytes);
    assertEquals([line.includes(10), await hex(line)], [false, sha256]);
  }
});

Deno.test("an imported session goes on: the model sees what was said, and nothing of it runs again", async () => {
  for (const file of [CLAUDE_CODE, CODEX, PI]) {
    const storage = new MemoryStorage({ simulate: "disk" });
    await using store = openJournal({ storage, codec: portableZstd(), ...systemRuntime });
    const { clock, random } = store.runtime;
    const bytes = fileOf(...file);
    const made = await convertForeign({ newId: () => newSessionId(clock, random), name: "f.jsonl", bytes });
    await openRawLogs(storage).take("f.jsonl.zstd", made!.log);
    const { said } = await convert(bytes);
    const requests: (readonly Message[])[] = [];
    const inner = scripted([[{ text: "Going on." }]]);
    const stream = (request: ModelRequest, ...rest: unknown[]) => {
      requests.push(request.messages);
      // deno-lint-ignore no-explicit-any -- passed on as it came
      return (inner as any).stream(request, ...rest);
    };
    const agent = createAgent({ store, model: Object.assign(Object.create(inner), { stream }), tools: [] });
    await using session = await agent.resume(made!.id);
    const outcome = await session.send("go on");
    assertEquals([outcome.reason.kind, session.resumed?.calls], ["completed", []]);
    const sent = requests[0]!.filter(({ role }) => role !== "system");
    assertEquals(sent.length, said.length + 1);
    assertEquals((await store.stat(made!.id))?.header?.cwd, "/srv/project");
  }
});

Deno.test("convertForeign() makes nothing of a file of no known program, or of one without a message", async () => {
  const take = (bytes: Uint8Array<ArrayBuffer>) => convertForeign({ newId: () => "a", name: "f", bytes });
  const ours = { type: "session", version: 3, id: "a", createdAt: 0, isSeeded: false, delegationDepth: 0 };
  for (
    const file of [
      fileOf(),
      fileOf("hello"),
      fileOf(ours),
      fileOf([1], 2, null),
      Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0]),
    ]
  ) {
    assertEquals([recogniseForeign(file), await take(file)], [null, null]);
  }
  const error = await assertRejects(() => take(fileOf(CODEX[0], CODEX[1])));
  assertEquals((error as { code?: string }).code, "CORRUPT_LOG");
});

Deno.test("ids that are empty, repeated or hostile stay apart, and parents in a circle end", async () => {
  const call = { type: "tool_use", id: "", name: "pay", input: { "__proto__": 1, deep: deep(5000) } };
  const line = (uuid: string, parentUuid: string | null, type: string, content: unknown, id = uuid) => ({
    ...{ type, uuid, parentUuid, sessionId: "s" },
    message: { id, content },
  });
  const { said, report } = await convert(fileOf(
    line("u1", "a3", "user", "go"),
    line("a1", "u1", "assistant", [call, call, { ...call, id: "call~2" }]),
    line("u2", "a1", "user", [{ type: "tool_result", tool_use_id: "", content: "paid" }]),
    line("a3", "u2", "assistant", [{ ...call, id: "__proto__" }]),
  ));
  assertEquals(said.filter((text) => text.startsWith("tool: result")), ["tool: result call paid"]);
  assert(report.inferred.includes("a chain of parents that turns back on itself was cut"));
  assert(report.inferred.includes("an empty or repeated call id was replaced by one of its own"));
});

Deno.test("a log of other programs is read with a byte order mark, CRLF, and without its last newline", async () => {
  const text = "\ufeff" + PI.map((line) => JSON.stringify(line)).join("\r\n");
  const { said } = await convert(new TextEncoder().encode(text));
  assertEquals(said, (await convert(fileOf(...PI))).said);
  assertEquals(openForeign({ name: "", bytes: new Uint8Array() }), null);
});

function deep(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

async function hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
