import { assert, assertEquals } from "@std/assert";
import { LegacyDecoder, parseLegacyHeader } from "../../../src/journal/legacy/mod.ts";
import { V0ToV1 } from "../../../src/journal/legacy/v0_to_v1.ts";
import { OldLines, userMessage } from "./old_lines.ts";
import { refusalOf, rowsOf } from "./support.ts";

const TEXT = [{ type: "text", text: "t" }];
const APPEND = { surfaceOp: "append" };

/** The data of the events behind the first stage. */
function migrated(log: OldLines): unknown[] {
  const [header, ...lines] = log.lines;
  const stage = new V0ToV1(parseLegacyHeader(header!));
  return rowsOf(lines, 0).map((row) => {
    const next = stage.push(row);
    return next.kind === "run" ? next.record : [next.event.type, next.event.data];
  });
}

function refusal(type: string, data: unknown, more: Readonly<Record<string, unknown>> = {}): string {
  const log = new OldLines(0);
  log.add(type, data, more);
  const [code, message] = refusalOf(() => migrated(log));
  assertEquals(code, "UNSUPPORTED_FORMAT");
  return message;
}

Deno.test("V0ToV1 tells older ends and starts of turns in their last shape", () => {
  const log = new OldLines(0);
  log.add("turn/start", { turn: 1, trigger: { kind: "user" } });
  const reasons: [unknown, unknown][] = [
    [{ kind: "aborted" }, { kind: "aborted", reason: { kind: "legacy" } }],
    [{ kind: "disposed" }, { kind: "aborted", reason: { kind: "disposed" } }],
    [{ kind: "error", step: 1, failure: { message: "m", code: "C" } }, {
      kind: "error",
      error: { message: "m", code: "C" },
    }],
    [{ kind: "error", step: 1, message: "m" }, { kind: "error", error: { message: "m", code: "UNKNOWN" } }],
    [{ kind: "error", step: 1, message: "m", code: "C" }, { kind: "error", error: { message: "m", code: "C" } }],
    [{ kind: "aborted", reason: { kind: "user" } }, { kind: "aborted", reason: { kind: "user" } }],
    [{ kind: "completed" }, { kind: "completed" }],
  ];
  for (const [reason] of reasons) log.add("turn/end", { turn: 1, reason });
  const expected = reasons.map(([, reason]) => ["turn/end", { turn: 1, reason }]);
  assertEquals(migrated(log), [["turn/start", { turn: 1 }], ...expected]);
});

Deno.test("V0ToV1 gives messages without an identity one that every copy has", () => {
  const log = new OldLines(0);
  const source = { kind: "user" };
  log.add("user/message", { content: TEXT, source }, APPEND);
  log.add("assistant/message", { turn: 1, step: 1, content: TEXT, provenance: { provider: "p", model: "m" } }, APPEND);
  const result = { turn: 1, step: 1, callId: "c", content: TEXT, isError: false };
  const first = log.add("tool/result", result, APPEND);
  const replace = (seq: number) => ({ surfaceOp: { op: "replace", start: seq, end: seq }, sourceEventSeqs: [seq] });
  const second = log.add("tool/result", result, replace(first));
  log.add("tool/result", result, replace(second));
  log.add("steering/message", { turn: 1, content: TEXT, source }, APPEND);
  log.add("steering/message", { turn: 1, message: userMessage("own", "x") }, APPEND);
  const message = {
    ...{ id: "", role: "user" },
    content: [{ type: "tool-result", toolCallId: "c", content: TEXT, isError: false }],
  };
  const resultOf = (id: string) => [
    "tool/result",
    { turn: 1, step: 1, message: { ...message, id, source: { kind: "tool", callId: "c" } } },
  ];
  assertEquals(migrated(log), [
    ["user/message", { content: TEXT, source, id: "legacy-message:s:0", role: "user" }],
    ["assistant/message", {
      turn: 1,
      step: 1,
      message: {
        id: "legacy-message:s:1",
        role: "assistant",
        content: TEXT,
        source: { provider: "p", model: "m", kind: "model" },
      },
    }],
    resultOf("legacy-message:s:2"),
    resultOf("legacy-message:s:2"),
    resultOf("legacy-message:s:2"),
    ["user/message", { content: TEXT, source, id: "legacy-message:s:5", role: "user" }],
    ["user/message", userMessage("own", "x")],
  ]);
});

Deno.test("V0ToV1 renames the events of compaction and gives its parts one id, until its end", () => {
  const log = new OldLines(0);
  const summary = {
    ...{ summary: TEXT, shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0] },
    ...{ shadowedTokenCount: 1, provider: "p", model: "m" },
  };
  log.add("compact/start", { turn: null });
  log.add("compact/summary", summary);
  log.add("user/message", userMessage("c", "x", { kind: "plugin", plugin: "compact" }), APPEND);
  log.add("compact/end", { turn: null });
  log.add("user/message", userMessage("d", "x", { kind: "plugin", plugin: "compact" }), APPEND);
  log.add("compaction/start", { compactionId: "own", turn: null });
  log.add("session/end-seed", {});
  log.add("user/message", userMessage("e", "x", { kind: "plugin", plugin: "compact" }), APPEND);
  const compactionId = "legacy-compaction:s:0";
  assertEquals(migrated(log), [
    ["compaction/start", { turn: null, compactionId }],
    ["compaction/summary", { ...summary, compactionId }],
    ["user/message", userMessage("c", "x", { kind: "plugin", plugin: "compact", compactionId })],
    ["compaction/end", { turn: null, compactionId }],
    ["user/message", userMessage("d", "x", { kind: "plugin", plugin: "compact" })],
    ["compaction/start", { compactionId: "own", turn: null }],
    ["session/end-seed", {}],
    ["user/message", userMessage("e", "x", { kind: "plugin", plugin: "compact" })],
  ]);
});

Deno.test("V0ToV1 gives the retries of one chain one id, and each chain its own", () => {
  const log = new OldLines(0);
  const retry = (step: number, number: number) => ({
    ...{ turn: 1, step, provider: "p", mode: "normal", policyKey: "k", retry: number, delayMs: 1 },
    failure: { message: "m", code: "C" },
  });
  log.add("llm/retry", retry(1, 1));
  log.add("llm/retry", retry(1, 2));
  log.add("llm/retry", retry(2, 1));
  log.add("llm/retry", { ...retry(3, 1), retryId: "own" });
  log.add("llm/retry", retry(3, 2));
  const ids = migrated(log).map((row) => (row as [string, { retryId: string }])[1].retryId);
  assertEquals(ids, ["legacy-retry:s:0", "legacy-retry:s:0", "legacy-retry:s:2", "own", "own"]);
});

Deno.test("V0ToV1 takes the prefix out of request headers, and lets packed rows pass as they are", () => {
  const log = new OldLines(0);
  const config = { provider: "p", model: "m" };
  log.add("request/header", { header: { config, messagePrefix: [], system: "s" }, reason: "initial" });
  log.addTexts(1, 1, ["a", "b"]);
  assertEquals(migrated(log), [
    ["request/header", { header: { config, system: "s" }, reason: "initial" }],
    { type: "text-chunks", time0: 2001, index: 0, dt: [1], texts: ["a", "b"] },
  ]);
});

Deno.test("V0ToV1 refuses what is not in its inventory, ignorable or not, and every member it does not know", () => {
  assert(refusal("x/y", {}, { ignorable: true }).includes("does not know"));
  assert(refusal("feedback/message-put", { sessionId: "s", item: {} }).includes("does not know"));
  assert(refusal("assistant/attempt", { turn: 1, step: 1, stream: [] }).includes("does not know"));
  assert(refusal("mode/set", {}).includes("no place"));
  assert(refusal("request/header-delta", {}).includes("no place"));
  assert(
    refusal("request/header", { header: { config: { provider: "p", model: "m" } }, reason: "fallback" }).includes(
      "fallback",
    ),
  );
  assert(
    refusal("request/header", { header: { config: { provider: "p", model: "m" }, more: 1 }, reason: "initial" })
      .includes('"more"'),
  );
  assert(refusal("step/start", { turn: 1, step: 1, more: 1 }).includes('"more"'));
  assert(refusal("step/start", { turn: 1 }).includes("no data.step"));
  assert(refusal("session/end-seed", { inherited: true }).includes('"inherited"'));
  assert(refusal("subagent/descriptor", { mode: "one-shot", version: 2, provider: "p" }).includes("version 2"));
});

Deno.test("V0ToV1 refuses the delivery of another session, unless it was inherited", () => {
  const delivery = (sessionId: string, version?: number) => ({
    sessionId,
    ...(version === undefined ? {} : { sessionFormatVersion: version }),
    throughSeq: 0,
  });
  const type = "session-log-deepseek/delivery-accepted";
  assert(refusal(type, delivery("other")).includes("another session"));
  assert(refusal(type, delivery("other", 0)).includes("another session"));
  const log = new OldLines(0, { seedLength: 1 });
  log.add(type, delivery("other"));
  log.add(type, delivery("s"));
  assertEquals(migrated(log).length, 2);
});

Deno.test("LegacyDecoder shows the older shapes in the last one, and what a migration refuses", () => {
  const log = new OldLines(0);
  log.add("turn/start", { turn: 1, trigger: { kind: "user" } });
  log.add("compact/start", { turn: 1 });
  log.add("mode/set", { mode: "x" });
  log.add("x/y", 4, { ignorable: true });
  log.addTexts(1, 1, ["a", "b"]);
  const [header, ...lines] = log.lines;
  const decoder = new LegacyDecoder(parseLegacyHeader(header!));
  const events = rowsOf(lines, 0).flatMap((row) => decoder.push(row));
  assertEquals(events.map(({ type, seq, data }) => [type, seq, data]), [
    ["turn/start", 0, { turn: 1 }],
    ["compact/start", 1, { turn: 1 }],
    ["mode/set", 2, { mode: "x" }],
    ["x/y", 3, 4],
    ["assistant/chunk", 4, { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text: "a" } }],
    ["assistant/chunk", 5, { turn: 1, step: 1, chunk: { type: "text-delta", index: 0, text: "b" } }],
  ]);
});
