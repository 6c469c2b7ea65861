import { assert, assertEquals } from "@std/assert";
import {
  encodeHeader,
  encodeRow,
  NOT_STARTED_ERROR,
  NOT_STARTED_TEXT,
  type SessionEvent,
} from "../../../src/event/mod.ts";
import { migrateLegacy, parseLegacyHeader } from "../../../src/journal/legacy/mod.ts";
import { migrateLines, refusalOf, rowsOf } from "./support.ts";
import { checkIsCurrent, OldLines, resultOf, userMessage, wholeSession } from "./old_lines.ts";

const APPEND = { surfaceOp: "append" };
const CALL = { type: "tool-call", id: "c", name: "pay", arguments: "{}" };

Deno.test("migrateLegacy() makes a log of version 3 of versions 0 and 1, the same one", () => {
  const migrated = ([0, 1] as const).map((version) => migrateLines(wholeSession(version).lines));
  for (const one of migrated) checkIsCurrent(one);
  const [v0, v1] = migrated.map(({ header, events }) => [encodeHeader(header), ...events.map(encodeRow)].join("\n"));
  assertEquals(v0, v1);
  assertEquals(migrated[0]!.events.map(({ type }) => type), [
    ...["turn/start", "step/start", "system/message", "user/message", "system/message", "request/header"],
    ...["assistant/message", "tool/call", "tool/result", "step/end", "turn/end", "session/title", "command/run"],
    ...["compaction/start", "compaction/summary", "user/message", "compaction/end", "command/done"],
    ...["turn/start", "step/start", "assistant/attempt", "step/end", "turn/end"],
  ]);
});

Deno.test("migrateLegacy() migrates every prefix of a log or refuses none of it as damage; an open turn stays open", () => {
  const { lines } = wholeSession(0);
  for (let count = 1; count <= lines.length; count++) checkIsCurrent(migrateLines(lines.slice(0, count)));
});

Deno.test("migrateLegacy() counts the inherited events in the new numbering", () => {
  // One line is the header, and one row stands for two events.
  const inherited = wholeSession(0).lines.length;
  const log = wholeSession(0, { seedLength: inherited, parentSession: "p" });
  const { header, events, inheritedEventCount } = migrateLines(log.lines);
  checkIsCurrent({ header, events });
  assertEquals(events.at(-1)!.type, "session/end-seed");
  assertEquals(inheritedEventCount, events.length - 1);
});

Deno.test("migrateLegacy() tells damage from what is merely refused", () => {
  const inStep = (add: (log: OldLines) => void) => {
    const log = new OldLines(0);
    log.startStep(1, 1);
    add(log);
    return refusalOf(() => migrateLines(log.lines))[0];
  };
  const user = userMessage("u", "x");
  const damage: ((log: OldLines) => void)[] = [
    (log) => log.add("todo/write", { todos: [] }, { extra: 1 }),
    (log) => log.add("todo/write", { todos: [] }, { ignorable: false }),
    (log) => log.add("todo/write", { todos: [] }, { time: 1.5 }),
    (log) => log.add("todo/write", undefined),
    (log) => log.add("todo/write", { todos: [] }, APPEND),
    (log) => log.add("todo/write", { todos: [] }, { sourceEventSeqs: [0] }),
    (log) => log.add("", {}),
    (log) => log.add("user/message", user),
    (log) => log.add("user/message", user, { surfaceOp: "prepend" }),
    (log) => log.add("user/message", user, { surfaceOp: { op: "replace", start: 0, end: 0 } }),
    (log) => log.add("user/message", user, { surfaceOp: { op: "replace", start: 9, end: 9 } }),
    (log) => log.add("user/message", user, { ...APPEND, sourceEventSeqs: [2] }),
    (log) => log.add("user/message", user, { ...APPEND, sourceEventSeqs: [] }),
    (log) => log.add("user/message", user, { ...APPEND, sourceEventSeqs: [1, 1] }),
    (log) => log.add("user/message", { role: "user", content: [], source: { kind: "user" } }, APPEND),
    (log) => log.add("assistant/message", { turn: 1, step: 1, message: user }, APPEND),
    (log) => log.add("tool/result", { turn: 1, step: 1, message: user }, APPEND),
    (log) => log.add("request/header", { header: {}, reason: "initial" }),
  ];
  damage.forEach((add, index) => assertEquals(inStep(add), "CORRUPT_LOG", `case ${index}`));
  const refused: ((log: OldLines) => void)[] = [
    (log) => log.add("x/y", {}, { ignorable: true }),
    (log) => log.add("step/start", { turn: 1, step: 3 }),
    (log) => log.add("turn/end", { turn: 1, reason: { kind: "completed" } }),
    (log) => log.add("turn/start", { turn: "2" }),
    (log) => log.add("tool/call", { turn: 1, step: 1, callId: "c", name: "pay", arguments: "{}" }),
    (log) => log.add("tool/result", resultOf("r", "c", "paid"), APPEND),
    (log) => log.assistant(1, 2, "a", [], {}),
    (log) => log.addChunk(1, 2, { type: "text-delta", index: 1.5, text: "x" }),
    (log) => log.add("command/done", { commandId: "k", kind: "success" }),
    (log) => log.add("session/title", { title: "t", messageSeqs: [], source: { kind: "provider" } }),
    (log) => log.add("session/title", { title: "t", messageSeqs: [1], source: { kind: "provider" } }),
    (log) => log.add("llm/retry-started", { retryId: "r", turn: 1, step: 1, retry: 1 }),
    (log) => log.add("compaction/end", { compactionId: "z", turn: 1 }),
    (log) => log.add("compaction/start", { compactionId: "z", turn: null }),
    (log) =>
      log.add("compaction/prune", { shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0], shadowedTokenCount: 1 }),
    (log) => log.add("todo/write", { todos: [{ content: "x", status: "later" }] }),
  ];
  refused.forEach((add, index) => assertEquals(inStep(add), "UNSUPPORTED_FORMAT", `case ${index}`));
});

Deno.test("migrateLegacy() asks of each call that it was proposed, started as proposed, and answered", () => {
  const build = (add: (log: OldLines) => void) => {
    const log = new OldLines(1);
    log.startStep(1, 1);
    log.assistant(1, 1, "a", [CALL], {});
    add(log);
    log.endTurn(1, 1);
    return log.lines;
  };
  const call = (more: object = {}) => ({ turn: 1, step: 1, callId: "c", name: "pay", arguments: "{}", ...more });
  const result = (log: OldLines, data: unknown, more: object = {}) =>
    log.add("tool/result", data, { ...APPEND, ...more });
  const closer = (id: string, text: string) => resultOf(id, "c", text, { isError: true, error: NOT_STARTED_ERROR });
  const fine: ((log: OldLines) => void)[] = [
    (log) => {
      log.add("tool/call", call());
      result(log, resultOf("r", "c", "paid"));
    },
    (log) => result(log, closer("interrupted-tool-result-c-17", NOT_STARTED_TEXT)),
  ];
  fine.forEach((add) => checkIsCurrent(migrateLines(build(add))));
  const refused: ((log: OldLines) => void)[] = [
    () => {},
    (log) => log.add("tool/call", call()),
    (log) => log.add("tool/call", call({ name: "send" })),
    (log) => log.add("tool/call", call({ arguments: "{ }" })),
    (log) => {
      log.add("tool/call", call());
      log.add("tool/call", call());
    },
    (log) => result(log, resultOf("r", "c", "paid")),
    (log) => result(log, closer("r", NOT_STARTED_TEXT)),
    (log) => result(log, closer("interrupted-tool-result-c-17", NOT_STARTED_TEXT + " ")),
    (log) => result(log, closer("interrupted-tool-result-c-17", NOT_STARTED_TEXT), { sourceEventSeqs: [2] }),
    (log) => {
      log.add("tool/call", call());
      result(log, resultOf("r", "c", "paid"));
      result(log, resultOf("s", "c", "paid"));
    },
  ];
  refused.forEach((add, index) => {
    assertEquals(refusalOf(() => migrateLines(build(add)))[0], "UNSUPPORTED_FORMAT", `case ${index}`);
  });
});

Deno.test("migrateLegacy() asks of a compaction that it stands in one turn or between two, and names its span exactly", () => {
  const { lines } = wholeSession(1);
  const changed = (from: string, to: string) => lines.map((line) => line.replace(from, to));
  assertEquals(migrateLines(lines).events.length, 23);
  const cases: [from: string, to: string][] = [
    ['"shadowedSeqs":[2,8,10]', '"shadowedSeqs":[2,10]'],
    ['"compactionId":"z","sourceCommandId":"k","summary"', '"compactionId":"y","sourceCommandId":"k","summary"'],
    ['"compactionId":"z","sourceCommandId":"k","summary"', '"compactionId":"z","summary"'],
    ['"plugin":"compact","compactionId":"z"', '"plugin":"compact","compactionId":"y"'],
  ];
  for (const [from, to] of cases) {
    assertEquals(refusalOf(() => migrateLines(changed(from, to)))[0], "UNSUPPORTED_FORMAT", to);
  }
});

Deno.test("migrateLegacy() takes an orphan compaction for stale behind the next end-seed", () => {
  const build = (hasMark: boolean) => {
    const log = new OldLines(1);
    log.startStep(1, 1);
    log.add("compaction/start", { compactionId: "z", turn: 1 });
    log.add("step/end", { turn: 1, step: 1 });
    log.add("turn/end", { turn: 1, reason: { kind: "interrupted" } });
    if (hasMark) log.add("session/end-seed", {});
    log.startStep(2, 1);
    return log.lines;
  };
  checkIsCurrent(migrateLines(build(true)));
  assertEquals(refusalOf(() => migrateLines(build(false)))[0], "UNSUPPORTED_FORMAT");
});

Deno.test("migrateLegacy() asks of a version-2 log that its seed has an end exactly when the header says so", () => {
  const build = (isSeeded: boolean, data: unknown) => {
    const log = new OldLines(2, { isSeeded });
    log.add("session/end-seed", data);
    return log.lines;
  };
  checkIsCurrent(migrateLines(build(true, { inherited: true })));
  checkIsCurrent(migrateLines(build(false, {})));
  assertEquals(refusalOf(() => migrateLines(build(true, {})))[0], "CORRUPT_LOG");
  assertEquals(refusalOf(() => migrateLines(build(false, { inherited: true })))[0], "CORRUPT_LOG");
});

Deno.test("push() takes rows in their order only", () => {
  const { lines } = wholeSession(0);
  const migration = migrateLegacy(parseLegacyHeader(lines[0]!));
  const rows = rowsOf(lines.slice(1), 0);
  migration.push(rows[0]!);
  let error: unknown;
  try {
    migration.push(rows[0]!);
  } catch (thrown) {
    error = thrown;
  }
  assert(error instanceof RangeError);
});

Deno.test("a migration gives each event as soon as it can be known", () => {
  const { lines } = wholeSession(0);
  const migration = migrateLegacy(parseLegacyHeader(lines[0]!));
  const out: SessionEvent[][] = rowsOf(lines.slice(1), 0).map((row) => [...migration.push(row)]);
  out.push([...migration.end()]);
  // The rows of the first answer's chunks hold it back, and its message gives it.
  assertEquals(out.slice(0, 9).map((events) => events.length), [1, 2, 1, 2, 0, 0, 0, 1, 1]);
  assertEquals(out.at(-1), []);
});
