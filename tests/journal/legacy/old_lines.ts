/**
 * Old logs put together event by event, and the check of what becomes of them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { encodeRow, readRow, RowFault, type SessionEvent, type SessionHeader } from "../../../src/event/mod.ts";
import { type CheckedLog, emptyLog, withEvent } from "../../../src/journal/checked_log.ts";
import type { LegacyVersion } from "../../../src/journal/legacy/mod.ts";

const APPEND = { surfaceOp: "append" };
const CALL = { type: "tool-call", id: "c", name: "pay", arguments: "{}" };

/** An old log as it is put together: rows get their seq and time. */
export class OldLines {
  readonly lines: string[];
  #seq = 0;

  constructor(version: LegacyVersion, more: Readonly<Record<string, unknown>> = {}) {
    const seed = version === 2 ? { isSeeded: false } : {};
    const header = { type: "session", version, id: "s", createdAt: 1000, ...seed, delegationDepth: 0, ...more };
    this.lines = [JSON.stringify(header)];
  }

  /** Adds one event and returns its seq. */
  add(type: string, data: unknown, envelope: Readonly<Record<string, unknown>> = {}): number {
    const seq = this.#seq++;
    this.lines.push(JSON.stringify({ type, seq, time: 2000 + seq, data, ...envelope }));
    return seq;
  }

  /** Adds a packed row of text and returns the seqs it stands for. */
  addTexts(turn: number, step: number, texts: readonly string[], index = 0): number[] {
    const seq0 = this.#seq;
    this.#seq += texts.length;
    const data = { turn, step, index, dt: texts.slice(1).map(() => 1), texts };
    this.lines.push(JSON.stringify({ type: "text-chunks", seq0, time0: 2000 + seq0, data }));
    return texts.map((_, at) => seq0 + at);
  }

  addChunk(turn: number, step: number, chunk: unknown): number {
    return this.add("assistant/chunk", { turn, step, chunk });
  }

  startStep(turn: number, step: number): number {
    if (step === 1) this.add("turn/start", { turn });
    return this.add("step/start", { turn, step });
  }

  endTurn(turn: number, step: number): void {
    this.add("step/end", { turn, step });
    this.add("turn/end", { turn, reason: { kind: "completed" } });
  }

  user(id: string, text = "hi"): number {
    return this.add("user/message", userMessage(id, text), { surfaceOp: "append" });
  }

  /** An answer; version 2 asks for its stream, the older ones for its chunks. */
  assistant(
    turn: number,
    step: number,
    id: string,
    content: unknown[],
    more: Readonly<Record<string, unknown>>,
  ): number {
    const source = { kind: "model", provider: "p", model: "m" };
    const { stream, ...envelope } = more;
    const message = { id, role: "assistant", content, source };
    const data = { turn, step, message, ...(stream === undefined ? {} : { stream }) };
    return this.add("assistant/message", data, { ...envelope, surfaceOp: "append" });
  }

  requestHeader(system: string | undefined, reason = "initial"): number {
    const config = { provider: "p", model: "m" };
    return this.add("request/header", { header: { config, ...(system === undefined ? {} : { system }) }, reason });
  }
}

export function userMessage(id: string, text: string, source: unknown = { kind: "user" }): unknown {
  return { id, role: "user", content: [{ type: "text", text }], source };
}

/** A session of a kind that every part of a migration has something to do with. */
export function wholeSession(version: 0 | 1, more: Readonly<Record<string, unknown>> = {}): OldLines {
  const log = new OldLines(version, { cwd: "/w", ...more });
  log.startStep(1, 1);
  const said = log.user("u1");
  log.requestHeader("be good");
  const chunks = [
    log.addChunk(1, 1, { type: "block-start", index: 0, blockType: "text" }),
    ...log.addTexts(1, 1, ["a", "b"]),
  ];
  chunks.push(log.addChunk(1, 1, { type: "finish", reason: { kind: "tool-calls" } }));
  const answer = log.assistant(1, 1, "a1", [{ type: "text", text: "ab" }, CALL], { sourceEventSeqs: chunks });
  const called = log.add("tool/call", { turn: 1, step: 1, callId: "c", name: "pay", arguments: "{}" });
  const paid = log.add("tool/result", resultOf("r1", "c", "paid"), { ...APPEND, sourceEventSeqs: [called] });
  log.endTurn(1, 1);
  log.add("session/title", { title: "t", messageSeqs: [said], source: { kind: "provider" } });
  log.add("command/run", { commandId: "k", name: "compact", source: { kind: "user" } });
  const bracket = { compactionId: "z", sourceCommandId: "k", turn: null };
  log.add("compaction/start", bracket);
  const shadowedSeqs = [said, answer, paid];
  log.add("compaction/summary", {
    ...{ compactionId: "z", sourceCommandId: "k", summary: [{ type: "text", text: "sum" }] },
    ...{ shadowedRange: { start: said, end: paid }, shadowedSeqs, shadowedTokenCount: 3, provider: "p", model: "m" },
  });
  const source = { kind: "plugin", plugin: "compact", compactionId: "z", sourceCommandId: "k" };
  const surfaceOp = { op: "replace", start: said, end: paid };
  const replaced = log.add("user/message", userMessage("z1", "sum", source), {
    sourceEventSeqs: shadowedSeqs,
    surfaceOp,
  });
  log.add("compaction/end", bracket);
  log.add("command/done", { commandId: "k", kind: "success", sourceEventSeq: replaced });
  log.startStep(2, 1);
  log.addTexts(2, 1, ["never settled"]);
  log.endTurn(2, 1);
  return log;
}

export function resultOf(
  id: string,
  callId: string,
  text: string,
  more: Readonly<Record<string, unknown>> = {},
): unknown {
  const { isError = false, ...rest } = more;
  const content = [{ type: "tool-result", toolCallId: callId, content: [{ type: "text", text }], isError }];
  return { turn: 1, step: 1, message: { id, role: "user", content, source: { kind: "tool", callId } }, ...rest };
}

/** Checks that a migrated log, or the beginning of one, is one of version 3 when it is read back from its text. */
export function checkIsCurrent(
  { header, events }: { readonly header: SessionHeader; readonly events: readonly SessionEvent[] },
): void {
  let log: CheckedLog = emptyLog();
  for (const event of events) {
    const row = readRow(encodeRow(event), log.nextSeq);
    assert(!(row instanceof RowFault), row instanceof RowFault ? row.problem : "");
    assertEquals(row, event);
    const next = withEvent(log, row, header);
    assert(typeof next !== "string", `${event.type}: ${next}`);
    log = next;
  }
}
