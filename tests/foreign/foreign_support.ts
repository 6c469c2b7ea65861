/**
 * Made-up logs of other programs, and the check that what becomes of one is a log that any reader takes.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { checkAppendable, type SessionEvent } from "../../src/event/mod.ts";
import { bracketProblem, deriveMessages, logFold, pairingProblem, surfaceProblem } from "../../src/fold/mod.ts";
import { type ForeignReport, openForeign } from "../../src/foreign/mod.ts";

/** Lines as a file. Strings are taken as they are, everything else as JSON. */
export function fileOf(...lines: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)) + "\n").join(""),
  );
}

/** What became of a file. */
export interface Converted {
  readonly events: readonly SessionEvent[];
  readonly report: ForeignReport;
  /** The messages the model sees, each as a short text. */
  readonly said: readonly string[];
  /** The kinds that were left out, with count and first line. */
  readonly left: Readonly<Record<string, readonly [count: number, firstLine: number]>>;
}

/** Reads a file as a foreign log and checks that the events form a good one. */
export async function convert(bytes: Uint8Array<ArrayBuffer>): Promise<Converted> {
  const log = openForeign({ name: "made-up.jsonl", bytes });
  if (log === null) throw new Error("the file was not recognised");
  const events: SessionEvent[] = [];
  for await (const batch of log.batches(1)) events.push(...batch);
  checkEvents(events);
  const report = log.report();
  let folds = logFold.initial();
  for (const event of events) folds = logFold.apply(folds, event);
  const left = Object.fromEntries(
    report.losses.map(({ kind, count, firstLine }) => [kind, [count, firstLine] as const]),
  );
  return { events, report, said: deriveMessages(folds.surface).map(short), left };
}

/** Fails when the events are not a log that could be appended to: every rule that holds for our own appends holds for these. */
export function checkEvents(events: readonly SessionEvent[]): void {
  let folds = logFold.initial();
  for (const event of events) {
    const { type, data, ignorable, surfaceOp, sourceEventSeqs } = event;
    checkAppendable({ type, data, ignorable, surfaceOp, sourceEventSeqs }, folds.nextSeq, event.time);
    assertEquals([event.seq, bracketProblem(folds.brackets, event), surfaceProblem(folds.surface, event)], [
      folds.nextSeq,
      null,
      null,
    ]);
    folds = logFold.apply(folds, event);
  }
  assertEquals([folds.brackets.turn, folds.brackets.compaction, pairingProblem(folds.surface.nodes)], [
    null,
    null,
    null,
  ]);
  const unanswered = [...folds.surface.nodes].flatMap(({ message }) =>
    message.content.flatMap((block) => block.type === "tool-call" ? [block.id] : [])
  ).filter((id) => ![...folds.surface.nodes].some(({ message }) => message.source.callId === id));
  assertEquals(unanswered, []);
}

// deno-lint-ignore no-explicit-any -- a message of whatever shape, for a short picture of it
function short(message: any): string {
  // deno-lint-ignore no-explicit-any -- a block of whatever type
  const block = (value: any): string => {
    if (value.type === "tool-call") return `call ${value.id} ${value.name} ${value.arguments}`;
    if (value.type === "tool-result") {
      return `${value.isError ? "error" : "result"} ${value.toolCallId} ${value.content.map(block).join("+")}`;
    }
    return value.type === "reasoning" ? `(${value.text})` : value.text;
  };
  return `${message.source.kind}: ${message.content.map(block).join(" | ")}`;
}

/** A log of Claude Code with all that is special about the format. */
export const CLAUDE_CODE: readonly unknown[] = (() => {
  const at = (second: number) => ({ timestamp: `2026-03-01T10:00:${String(second).padStart(2, "0")}.000Z` });
  const shared = { sessionId: "5e55", cwd: "/srv/project", version: "2.1.0", gitBranch: "main", isSidechain: false };
  const user = (uuid: string, parentUuid: string | null, content: unknown, more = {}) => ({
    ...{
      type: "user",
      uuid,
      parentUuid,
      ...shared,
      ...at(uuid.charCodeAt(1) % 60),
      message: { role: "user", content },
    },
    ...more,
  });
  const assistant = (uuid: string, parentUuid: string, id: string, content: unknown, more = {}) => ({
    ...{ type: "assistant", uuid, parentUuid, ...shared, ...at(uuid.charCodeAt(1) % 60) },
    message: { id, role: "assistant", model: "model-x", content, usage: { input_tokens: 5, output_tokens: 2 } },
    ...more,
  });
  const result = (
    id: string,
    content: unknown,
    more = {},
  ) => [{ type: "tool_result", tool_use_id: id, content, ...more }];
  return [
    { type: "summary", summary: "An old title", leafUuid: "u9" },
    { type: "file-history-snapshot", messageId: "x", snapshot: {} },
    user("u1", null, "Find the bug"),
    // One answer on three lines; the calls run at once, so their results hang on two branches.
    assistant("a1", "u1", "m1", [{ type: "thinking", thinking: "hm", signature: "sig" }]),
    assistant("a2", "a1", "m1", [{ type: "tool_use", id: "t1", name: "Read", input: { path: "a.ts" } }]),
    user("r1", "a2", result("t1", "text of a")),
    assistant("a3", "a2", "m1", [{ type: "tool_use", id: "t2", name: "Read", input: { path: "b.ts" } }]),
    user("r2", "a3", result("t2", [{ type: "text", text: "no such file" }], { is_error: true })),
    user("s1", null, "look around", { isSidechain: true }),
    assistant("s2", "s1", "m9", [{ type: "text", text: "looked" }], { isSidechain: true }),
    "{ this line was cut",
    assistant("a4", "r2", "m2", [{ type: "text", text: "It is in a.ts." }]),
    user("u2", "a4", "a branch that was left"),
    user("u3", "a4", [{ type: "text", text: "Fix it" }, {
      type: "image",
      source: { media_type: "image/png", data: "AAAA" },
    }]),
    assistant("a5", "u3", "m3", [{ type: "tool_use", id: "t3", name: "Edit", input: {} }]),
    { type: "custom-title", customTitle: "The bug in a.ts", sessionId: "5e55" },
    { type: "system", subtype: "turn_duration", uuid: "y1", parentUuid: "a5", ...shared },
  ];
})();

/** A log of Claude Code that was compacted once. */
export const CLAUDE_CODE_COMPACTED: readonly unknown[] = [
  { type: "user", uuid: "u1", parentUuid: null, sessionId: "5e55", message: { role: "user", content: "long talk" } },
  {
    type: "assistant",
    uuid: "a1",
    parentUuid: "u1",
    message: { id: "m1", content: [{ type: "text", text: "long answer" }] },
  },
  { type: "system", subtype: "compact_boundary", uuid: "c1", parentUuid: null, logicalParentUuid: "a1" },
  {
    type: "user",
    uuid: "u2",
    parentUuid: "c1",
    isCompactSummary: true,
    message: { role: "user", content: "It was a talk." },
  },
  { type: "user", uuid: "u3", parentUuid: "u2", message: { role: "user", content: "go on" } },
  {
    type: "assistant",
    uuid: "a2",
    parentUuid: "u3",
    message: { id: "m2", content: [{ type: "text", text: "going on" }] },
  },
];

/** A rollout of Codex. */
export const CODEX: readonly unknown[] = (() => {
  const line = (type: string, payload: unknown) => ({ timestamp: "2026-04-02T09:00:00.000Z", type, payload });
  const item = (payload: unknown) => line("response_item", payload);
  return [
    line("session_meta", {
      id: "c0de",
      timestamp: "2026-04-02T08:59:00.000Z",
      cwd: "/srv/project",
      model_provider: "openai",
    }),
    item({ type: "message", role: "developer", content: [{ type: "input_text", text: "be careful" }] }),
    item({
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "<environment_context>x</environment_context>" }],
    }),
    line("turn_context", { model: "model-y", cwd: "/srv/project" }),
    item({ type: "message", role: "user", content: [{ type: "input_text", text: "Run the tests" }] }),
    line("event_msg", { type: "user_message", message: "Run the tests" }),
    item({ type: "reasoning", summary: [{ type: "summary_text", text: "tests first" }], encrypted_content: "AAAA" }),
    item({ type: "function_call", name: "exec_command", arguments: '{"cmd":"make test"}', call_id: "k1" }),
    item({ type: "custom_tool_call", name: "apply_patch", input: "*** Begin", call_id: "k2" }),
    item({ type: "function_call_output", call_id: "k1", output: '{"output":"2 failed","metadata":{"exit_code":1}}' }),
    item({ type: "message", role: "assistant", content: [{ type: "output_text", text: "Two fail." }] }),
    item({ type: "custom_tool_call_output", call_id: "k2", output: "Done" }),
    item({ type: "function_call", name: "exec_command", arguments: "{}", call_id: "k3" }),
    line("event_msg", { type: "turn_aborted", reason: "interrupted" }),
    line("compacted", { message: "Two tests failed and one was fixed." }),
    item({ type: "message", role: "user", content: [{ type: "input_text", text: "And now?" }] }),
    item({ type: "message", role: "assistant", content: [{ type: "output_text", text: "All is well." }] }),
  ];
})();

/** A log of pi with a branch that was left and a compaction that keeps the end. */
export const PI: readonly unknown[] = (() => {
  const time = "2026-05-03T08:00:00.000Z";
  const entry = (type: string, id: string, parentId: string | null, more: object) => ({
    type,
    id,
    parentId,
    timestamp: time,
    ...more,
  });
  const message = (id: string, parentId: string | null, message: object) => entry("message", id, parentId, { message });
  const assistant = (content: unknown, more = {}) => ({
    role: "assistant",
    content,
    provider: "p",
    model: "m",
    stopReason: "stop",
    ...more,
  });
  const text = (text: string) => [{ type: "text", text }];
  return [
    { type: "session", version: 3, id: "b1b1", timestamp: time, cwd: "/srv/project" },
    entry("model_change", "e0", null, { provider: "p", modelId: "m" }),
    message("e1", "e0", { role: "user", content: "old question" }),
    message("e2", "e1", assistant(text("old answer"))),
    message("e3", "e2", { role: "user", content: text("a question that was taken back") }),
    message("e4", "e2", { role: "user", content: text("what is here?") }),
    message(
      "e5",
      "e4",
      assistant([{ type: "toolCall", id: "k1", name: "ls", arguments: { path: "." } }], { stopReason: "toolUse" }),
    ),
    message("e6", "e5", {
      role: "toolResult",
      toolCallId: "k1",
      toolName: "ls",
      content: text("a.ts"),
      isError: false,
    }),
    entry("compaction", "e7", "e6", { summary: "An old talk.", firstKeptEntryId: "e4", tokensBefore: 900 }),
    message("e8", "e7", assistant(text("one file"), { usage: { input: 7, output: 3, cacheRead: 2, cacheWrite: 0 } })),
    entry("session_info", "e9", "e8", { name: "Files" }),
  ];
})();
