import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { parseLegacyHeader } from "../../../src/journal/legacy/mod.ts";
import { sha256OfText } from "../../../src/journal/legacy/sha256.ts";
import { V2ToV3 } from "../../../src/journal/legacy/v2_to_v3.ts";
import { OldLines, userMessage } from "./old_lines.ts";
import { refusalOf, rowsOf } from "./support.ts";

const APPEND = { surfaceOp: "append" };

function migrated(log: OldLines): SessionEvent[] {
  const [header, ...lines] = log.lines;
  const stage = new V2ToV3(parseLegacyHeader(header!));
  const events = rowsOf(lines, 2).flatMap((row) => row.kind === "event" ? stage.push(row.event) : []);
  events.push(...stage.end());
  events.forEach(({ seq }, index) => assertEquals(seq, index));
  return events;
}

const reasonOf = (log: OldLines) => {
  const [code, message] = refusalOf(() => migrated(log));
  assertEquals(code, "UNSUPPORTED_FORMAT", message);
  return message;
};

const idOf = (anchorSeq: number, anchorType: string) =>
  "v2-to-v3-system-" + sha256OfText(JSON.stringify(["session-format-v2-to-v3", "s", anchorSeq, anchorType]));

Deno.test("V2ToV3 puts an empty system message behind the first step, and replaces it where the prompt changes", () => {
  const log = new OldLines(2);
  log.startStep(1, 1);
  log.requestHeader("one");
  log.requestHeader("one", "resume");
  log.requestHeader(undefined, "change");
  log.endTurn(1, 1);
  log.startStep(2, 1);
  const events = migrated(log);
  assertEquals(events.map(({ type }) => type), [
    ...["turn/start", "step/start", "system/message", "system/message", "request/header", "request/header"],
    ...["system/message", "request/header", "step/end", "turn/end", "turn/start", "step/start"],
  ]);
  const source = { kind: "plugin", plugin: "@deepseek-ai/dsh-system-prompt" };
  const system = (id: string, content: unknown[]) => ({
    turn: 1,
    step: 1,
    message: { id, role: "system", source, content },
  });
  assertEquals(events[2], {
    ...{ type: "system/message", seq: 2, time: 2001, data: system(idOf(1, "step/start"), []) },
    ...APPEND,
  } as never);
  assertEquals(events[3], {
    ...{ type: "system/message", seq: 3, time: 2002 },
    data: system(idOf(2, "request/header"), [{ type: "text", text: "one" }]),
    ...{ surfaceOp: { op: "replace", startSeq: 2, endSeq: 2 }, sourceEventSeqs: [2] },
  } as never);
  assertEquals([events[6]!.data, events[6]!.surfaceOp], [
    system(idOf(4, "request/header"), []),
    { op: "replace", startSeq: 3, endSeq: 3 },
  ] as never);
  for (const event of events) assert(!JSON.stringify(event).includes('"system":"'), event.type);
});

Deno.test("V2ToV3 refuses a message before the first step and a prompt that changes outside of one", () => {
  const early = new OldLines(2);
  early.add("turn/start", { turn: 1 });
  early.user("u");
  assert(
    reasonOf(early).includes("surface before first step cannot acquire a system head without changing chronology"),
  );

  const outside = new OldLines(2);
  outside.startStep(1, 1);
  outside.add("step/end", { turn: 1, step: 1 });
  outside.requestHeader("late", "change");
  assert(reasonOf(outside).includes("outside of a step"));

  const before = new OldLines(2);
  before.add("turn/start", { turn: 1 });
  before.requestHeader("early");
  assert(reasonOf(before).includes("outside of a step"));

  const same = new OldLines(2);
  same.add("turn/start", { turn: 1 });
  same.requestHeader("");
  assertEquals(migrated(same).length, 2);
});

Deno.test("V2ToV3 renumbers every reference by what it inserted, and spells replacements anew", () => {
  const log = new OldLines(2);
  log.startStep(1, 1);
  const said = log.user("u1");
  log.requestHeader("p");
  const other = log.user("u2");
  log.add("compaction/prune", {
    shadowedRange: { start: said, end: other },
    shadowedSeqs: [said, other],
    shadowedTokenCount: 1,
  });
  log.add("session/title", { title: "t", messageSeqs: [other], source: { kind: "provider" } });
  log.add("command/done", { commandId: "c", kind: "success", sourceEventSeq: other });
  const surfaceOp = { op: "replace", start: said, end: other };
  log.add("user/message", userMessage("u3", "x"), { sourceEventSeqs: [said, other], surfaceOp });
  const [prune, title, done, message] = migrated(log).slice(-4);
  assertEquals(prune!.data, { shadowedRange: { start: 3, end: 6 }, shadowedSeqs: [3, 6], shadowedTokenCount: 1 });
  assertEquals((title!.data as { messageSeqs: unknown }).messageSeqs, [6]);
  assertEquals((done!.data as { sourceEventSeq: unknown }).sourceEventSeq, 6);
  assertEquals(
    [message!.surfaceOp, message!.sourceEventSeqs],
    [{ op: "replace", startSeq: 3, endSeq: 6 }, [3, 6]] as never,
  );
});

Deno.test("V2ToV3 renames nested calls, their plugin and their preset, and leaves out what is empty", () => {
  const log = new OldLines(2, { agentPreset: "code" });
  const source = { kind: "plugin", plugin: "tools-code-mode" };
  log.startStep(1, 1);
  log.add("user/message", userMessage("u", "x", source), APPEND);
  log.add("agent/inbox/spliced", { target: "next-step", start: 0, inserted: [userMessage("v", "x", source)] });
  log.add("session/title-llm-request", {
    ...{ titleProvider: "p", messageSeqs: [2], route: {}, system: "s" },
    ...{ messages: [userMessage("w", "x", source)], maxTokens: 1 },
  });
  log.add("agent-preset/selected", { agentPreset: "code" });
  log.add("agent-preset/selected", { agentPreset: "other" });
  const ids = { rootCallId: "a", parentCallId: "a", subCallId: "b" };
  log.add("tool/code-dispatch-start", { ...ids, name: "n", arguments: "{}" });
  log.add("tool/code-dispatch", { ...ids, isError: false, content: [] });
  const config = { provider: "p", model: "m", maxTokens: 1 };
  log.add("request/header", { header: { config, tools: [], adapterDefaults: {} }, reason: "initial" });
  log.add("request/header", { header: { config, adapterDefaults: { maxTokens: true } }, reason: "change" });
  const events = migrated(log);
  const text = JSON.stringify(events);
  assert(!text.includes("code-dispatch") && !text.includes("tools-code-mode"), text);
  assertEquals(text.split('"plugin":"tools-ptc"').length - 1, 3);
  assertEquals(events.filter(({ type }) => type.startsWith("tool/ptc-")).length, 2);
  const presets = events.filter(({ type }) => type === "agent-preset/selected").map(({ data }) => data);
  assertEquals(presets, [{ agentPreset: "ptc" }, { agentPreset: "other" }]);
  assertEquals(events.slice(-2).map(({ data }) => (data as { header: unknown }).header), [
    { config },
    { config, adapterDefaults: { maxTokens: true } },
  ]);
});

Deno.test("V2ToV3 refuses types, sources and blocks that it does not know, ignorable or not", () => {
  const refused = (add: (log: OldLines) => void) => {
    const log = new OldLines(2);
    log.startStep(1, 1);
    add(log);
    return reasonOf(log);
  };
  assert(refused((log) => log.add("x/y", {}, { ignorable: true })).includes("does not know"));
  assert(refused((log) => log.add("assistant/chunk", {})).includes("does not know"));
  assert(refused((log) => log.add("system/message", {}, APPEND)).includes("does not know"));
  assert(refused((log) => log.add("user/message", userMessage("u", "x", { kind: "new" }), APPEND)).includes('"new"'));
  const nested = [{ type: "tool-result", toolCallId: "c", content: [{ type: "video" }] }];
  const message = { ...userMessage("u", "x") as object, content: nested };
  assert(refused((log) => log.add("user/message", message, APPEND)).includes('"video"'));
  const inserted = [userMessage("v", "x", { kind: "new" })];
  const spliced = { target: "next-turn", start: 0, inserted };
  assert(refused((log) => log.add("agent/inbox/spliced", spliced)).includes('"new"'));
  assert(
    refused((log) => log.add("request/header", { header: { config: {}, system: 4 }, reason: "x" })).includes("no text"),
  );
});

Deno.test("V2ToV3 refuses when an id that it makes is taken, before or after", () => {
  const id = idOf(3, "request/header");
  for (const isBefore of [true, false]) {
    const log = new OldLines(2);
    log.startStep(1, 1);
    if (isBefore) log.user(id);
    else log.add("plan/mode", { active: true });
    log.requestHeader("p");
    if (!isBefore) log.user(id);
    assert(reasonOf(log).includes(id));
  }
});

Deno.test("V2ToV3 refuses deliveries of a later version, and of another session unless they were inherited from a parent", () => {
  const build = (
    more: Readonly<Record<string, unknown>>,
    version: number | undefined,
    sessionId: string,
    isInherited: boolean,
  ) => {
    const log = new OldLines(2, more);
    const delivery = { sessionId, ...(version === undefined ? {} : { sessionFormatVersion: version }), throughSeq: 0 };
    log.add("session-log-deepseek/delivery-accepted", delivery);
    if (isInherited) log.add("session/end-seed", { inherited: true });
    return log;
  };
  const child = { isSeeded: true, parentSession: "other" };
  assertEquals(migrated(build({}, 2, "s", false)).length, 1);
  assertEquals(migrated(build({}, undefined, "other", false)).length, 1);
  assertEquals(migrated(build(child, 2, "other", true)).length, 2);
  assert(reasonOf(build(child, 3, "s", true)).includes("version 3"));
  assert(reasonOf(build(child, 2, "other", false)).includes("another session"));
  assert(reasonOf(build({ isSeeded: true }, 2, "other", true)).includes("another session"));
});

Deno.test("sha256OfText() gives what the platform gives, at every length of the padding", async () => {
  for (let length = 0; length <= 130; length++) {
    const text = "aé🐳".repeat(length).slice(0, length);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    assertEquals(sha256OfText(text), digest.toHex(), `${length} units`);
  }
});
