/**
 * Writes logs by hand, event by event and flush by flush, and makes of them what a crash leaves and a recovery adds. No code of
 * the library takes part, so that the judge and what it is tested with cannot be wrong in the same way by way of the library.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  type AnotherRecovery,
  type CallReport,
  createJudge,
  type Files,
  type Judge,
  type LabTrace,
  type LedgerEntry,
} from "../../../src/testing/judge/mod.ts";

/** An event as an object. */
export interface EventObject {
  readonly type: string;
  readonly seq: number;
  readonly time: number;
  readonly data: Record<string, unknown>;
  readonly [key: string]: unknown;
}

/** The judge of these tests. */
export const judge: Judge = createJudge({ decodeFrame: (frame) => zstdDecompressSync(frame) });

/** One tool call of an assistant message. */
export interface PlannedCall {
  readonly id: string;
  readonly name?: string;
  readonly arguments?: string;
}

/** Where a step lies on the clock of these tests: flush k begins at 10 k + 1, ends at 10 k + 2, bodies and effects follow. */
export const STEP = {
  started: (flush: number): number => 10 * flush + 1,
  ended: (flush: number): number => 10 * flush + 2,
  body: (flush: number): number => 10 * flush + 3,
  effect: (flush: number): number => 10 * flush + 5,
  late: (flush: number): number => 10 * flush + 9,
};

export const NOT_STARTED_TEXT =
  "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";

/** A log in the making. */
export class Story {
  readonly rows: EventObject[] = [];
  /** The number of events at the end of each flush; a process that dies begins anew behind `deaths`. */
  readonly flushes: number[] = [];
  readonly header: Record<string, unknown>;
  turn = 0;
  step = 0;
  #time = 1_000;

  constructor(id = "s1") {
    this.header = { type: "session", version: 3, id, createdAt: 1_000, isSeeded: false, delegationDepth: 0 };
  }

  setTime(time: number): void {
    this.#time = time;
  }

  copy(): Story {
    const copy = new Story(this.header.id as string);
    copy.rows.push(...this.rows);
    copy.flushes.push(...this.flushes);
    copy.turn = this.turn;
    copy.step = this.step;
    copy.#time = this.#time;
    return copy;
  }

  /** Appends one event; returns its seq. */
  add(type: string, data: Record<string, unknown>, more: Record<string, unknown> = {}): number {
    const seq = this.rows.length;
    this.rows.push({ type, seq, time: this.#time++, data, ...more });
    return seq;
  }

  /** Appends one event with the time of the last one, as closers have it. */
  close(type: string, data: Record<string, unknown>, more: Record<string, unknown> = {}): number {
    this.#time--;
    return this.add(type, data, more);
  }

  flush(): this {
    this.flushes.push(this.rows.length);
    return this;
  }

  policy(): this {
    this.add(
      "checkpoint/policy",
      { version: 1, barriers: ["pre-step", "model", "tool", "question"], marker: true },
      own,
    );
    return this;
  }

  /** Turn, step, system and user message, request header, and the flush before the model. */
  begin(text = "do it"): this {
    this.turn++;
    this.step = 0;
    this.add("turn/start", { turn: this.turn });
    this.beginStep();
    this.add("user/message", {
      ...{ id: `u${this.turn}`, role: "user", content: [{ type: "text", text }], source: { kind: "user" } },
    }, append);
    return this.flush();
  }

  beginStep(): this {
    this.step++;
    this.add("step/start", { turn: this.turn, step: this.step });
    return this;
  }

  /** An assistant message with these calls. */
  propose(...calls: PlannedCall[]): this {
    const content = calls.map(({ id, name = "pay", arguments: text = `{"to":"${id}"}` }) => {
      return { type: "tool-call", id, name, arguments: text };
    });
    return this.answer(content.length === 0 ? [{ type: "text", text: "done" }] : content);
  }

  answer(content: unknown[]): this {
    const { turn, step } = this;
    const message = {
      id: `a${turn}.${step}`,
      role: "assistant",
      content,
      source: { kind: "model", provider: "p", model: "m" },
    };
    this.add("assistant/message", { turn, step, message, stream: [] }, append);
    return this;
  }

  call({ id, name = "pay", arguments: text = `{"to":"${id}"}` }: PlannedCall): number {
    return this.add("tool/call", { turn: this.turn, step: this.step, callId: id, name, arguments: text });
  }

  marker(callId: string, callSeq: number, effectKey = `key-${callId}`, effect = "opaque", more = {}): number {
    const { turn, step } = this;
    return this.add("effect/dispatched", { turn, step, callId, callSeq, effectKey, effect, ...more }, own);
  }

  /** The result of a body. */
  result(callId: string, callSeq: number, error?: { name: string; code: string }, text = "ok"): number {
    return this.add("tool/result", {
      ...{ turn: this.turn, step: this.step, message: answer(`r-${callId}`, callId, error !== undefined, text) },
      ...(error === undefined ? {} : { error }),
    }, { ...append, sourceEventSeqs: [callSeq] });
  }

  endStep(): this {
    this.add("step/end", { turn: this.turn, step: this.step });
    return this;
  }

  /** A last step that answers with text, and the end of the turn. */
  end(): this {
    this.beginStep().propose().endStep();
    this.add("turn/end", { turn: this.turn, reason: { kind: "completed" } });
    return this.flush();
  }

  /** Records a call, dispatches it and flushes both. */
  dispatch(planned: PlannedCall, effect = "opaque", more = {}): number {
    const callSeq = this.call(planned);
    this.marker(planned.id, callSeq, `key-${planned.id}`, effect, more);
    this.flush();
    return callSeq;
  }

  /** The closer of a call. */
  closer(callId: string, code: "TOOL_NOT_STARTED" | "TOOL_OUTCOME_UNKNOWN", callSeq?: number): number {
    const name = code === "TOOL_NOT_STARTED" ? "ToolNotStartedError" : "ToolOutcomeUnknownError";
    const text = code === "TOOL_NOT_STARTED" && callSeq === undefined ? NOT_STARTED_TEXT : `what is known of ${callId}`;
    const message = answer(`interrupted-tool-result-${callId}-${this.rows.length}`, callId, true, text);
    const more = callSeq === undefined ? append : { ...append, sourceEventSeqs: [callSeq] };
    return this.close("tool/result", { turn: this.turn, step: this.step, message, error: { name, code } }, more);
  }

  /** The answer that a verdict gives a call. */
  settled(callId: string, callSeq: number): number {
    const data = {
      turn: this.turn,
      step: this.step,
      message: answer(`settled-${callId}`, callId, false, "it happened"),
    };
    return this.close("tool/result", data, { ...append, sourceEventSeqs: [callSeq] });
  }

  /** The end of an open turn, by a repair. */
  closeTurn({ hasStep = true } = {}): this {
    if (hasStep) this.close("step/end", { turn: this.turn, step: this.step });
    this.close("turn/end", { turn: this.turn, reason: { kind: "interrupted" } });
    return this;
  }

  verdict(callId: string, callSeq: number, verdict: string, by = "lookup", effectKey = `key-${callId}`): number {
    const { turn, step } = this.rows[callSeq]!.data;
    return this.close("effect/reconciled", { turn, step, callId, callSeq, effectKey, verdict, by }, own);
  }

  /** What tells the model of a verdict about a call it has read an answer of. */
  notice(summary: string): number {
    const source = { kind: "plugin", plugin: "holdfast", form: "notice", summary };
    const message = { id: `n${this.rows.length}`, role: "user", content: [{ type: "text", text: summary }], source };
    return this.close("agent/inbox/spliced", { target: "next-step", start: 0, inserted: [message] });
  }

  /** A question about a call, as far as it got. */
  ask(id: string, callId: string, callSeq: number, outcome?: string): this {
    this.add("approval/asked", { id, toolName: "pay", callId });
    this.add("approval/bound", { id, callSeq, argumentsDigest: "d" }, own);
    this.flush();
    if (outcome !== undefined) this.add("approval/decided", { id, outcome });
    return this;
  }

  /** The marker of a new lifecycle. */
  endSeed(): this {
    this.add("session/end-seed", {});
    return this;
  }
}

export const append = { surfaceOp: "append" };
export const own = { ignorable: true };

/** A message that answers a call. */
export function answer(id: string, callId: string, isError: boolean, text: string): Record<string, unknown> {
  const content = [{ type: "tool-result", toolCallId: callId, content: [{ type: "text", text }], isError }];
  return { id, role: "user", source: { kind: "tool", callId }, content };
}

/** A log as bytes: the header, then a frame (or lines) for each flush. */
export function bytesOf(
  story: Story,
  compression: "none" | "zstd",
  flushes = story.flushes.length,
): Uint8Array<ArrayBuffer> {
  const parts = [encode([story.header], compression)];
  for (let flush = 0; flush < flushes; flush++) {
    parts.push(encode(story.rows.slice(story.flushes[flush - 1] ?? 0, story.flushes[flush]), compression));
  }
  return joined(parts);
}

/** Objects as lines, in one frame. */
export function encode(objects: readonly unknown[], compression: "none" | "zstd"): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(objects.map((object) => `${JSON.stringify(object)}\n`).join(""));
  return compression === "none" ? text : frameOf(text);
}

export function frameOf(content: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }));
}

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    all.set(part, position);
    position += part.length;
  }
  return all;
}

/** What a crash is made of. */
export interface CrashPlan {
  readonly story: Story;
  /** Flushes that ended before the crash; all of them when left out. */
  readonly flushed?: number;
  /** How much of the next flush reached the medium: bytes, or all of it without having ended. */
  readonly torn?: number | "all";
  /** What the recovery adds. `s` continues what can be read. */
  readonly repair?: (s: Story) => void;
  /** The recovery also writes `session/end-seed`; true unless said. */
  readonly hasEndSeed?: boolean;
  /** What the projection of the log adds to the messages of the next request. */
  readonly project?: (messages: unknown[]) => unknown[];
  readonly reports?: Readonly<Record<string, Partial<CallReport> & Pick<CallReport, "class">>>;
  readonly effects?: readonly (Partial<LedgerEntry> & Pick<LedgerEntry, "callId">)[];
  readonly compression?: "none" | "zstd";
  /** The process that crashed, and the number of flushes each process before it left. */
  readonly deaths?: readonly number[];
}

export const LOG = "--root--/s1/session.v3.jsonl";

/** What a crash leaves, and what a lawful recovery makes of it. */
export function traceOf(plan: CrashPlan): LabTrace {
  const { story, compression = "none", torn = 0, deaths = [] } = plan;
  const flushed = plan.flushed ?? story.flushes.length;
  const log = compression === "zstd" ? `${LOG}.zstd` : LOG;
  const whole = bytesOf(story, compression, flushed);
  const next = story.flushes[flushed] === undefined
    ? new Uint8Array(0)
    : encode(story.rows.slice(story.flushes[flushed - 1] ?? 0, story.flushes[flushed]), compression);
  const tail = torn === "all" ? next : next.subarray(0, torn);
  const image = joined([whole, tail]);
  const { read, tornAt } = readBack(story, flushed, tail, next, compression, whole.length);
  const crashedAtStep = tail.length === 0 ? STEP.late(Math.max(0, flushed - 1)) : STEP.started(flushed);

  const repaired = readable(story, read);
  plan.repair?.(repaired);
  if (plan.hasEndSeed !== false && repaired.rows.at(-1)?.type !== "session/end-seed") repaired.endSeed();
  const lock: [string, Uint8Array] = [`${log.slice(0, log.lastIndexOf("/"))}/session.lock`, new Uint8Array(0)];
  const recovered = new Map([lock]);
  const kept = tornAt === null ? image : whole;
  if (tornAt !== null) recovered.set(...copyOf(log, tornAt, image.subarray(tornAt)));
  const salvagedFrom = story.flushes[flushed - 1] ?? 0;
  const isSalvaged = tornAt !== null && read > salvagedFrom;
  const parts = [kept, ...(isSalvaged ? [encode(story.rows.slice(salvagedFrom, read), compression)] : [])];
  if (repaired.rows.length > read) parts.push(encode(repaired.rows.slice(read), compression));
  recovered.set(log, joined(parts));

  const incarnation = deaths.length;
  const again: AnotherRecovery[] = [
    { kind: "reopened", how: "opened again", files: recovered },
    { kind: "crashed", how: "crash before the first byte of the recovery", files: recovered },
  ];
  const calls = stepsOf(story, flushed + (tail.length > 0 ? 1 : 0), flushed, deaths);
  return {
    ...{ log, compression, incarnation, crashedAtStep, medium: "posix" },
    image: new Map([lock, [log, image]]),
    recovered,
    recoveredAgain: again,
    appended: batchesOf(story, deaths),
    acknowledgedThroughSeq: (story.flushes[flushed - 1] ?? 0) - 1,
    calls,
    effects: (plan.effects ?? []).map((effect) => effectOf(effect, calls)),
    ledgerTools: ["pay"],
    reports: Object.entries(plan.reports ?? {}).map(([callId, report]) => ({ callId, ...report })),
    requests: [{ messages: (plan.project ?? ((messages) => messages))(messagesOf(repaired.rows)) }],
    writers: [
      { process: "p0", heldFromStep: 0, heldToStep: crashedAtStep, wroteAtSteps: [STEP.started(0)] },
      { process: "p1", heldFromStep: crashedAtStep + 1, heldToStep: null, wroteAtSteps: [crashedAtStep + 2] },
    ],
    liveness: "went-on",
  };
}

/** How many events can be read of a log with a torn end, and where that end begins. */
function readBack(
  story: Story,
  flushed: number,
  tail: Uint8Array,
  next: Uint8Array,
  compression: "none" | "zstd",
  wholeBytes: number,
): { read: number; tornAt: number | null } {
  const before = story.flushes[flushed - 1] ?? 0;
  if (tail.length === 0) return { read: before, tornAt: null };
  if (tail.length === next.length) return { read: story.flushes[flushed]!, tornAt: null };
  if (compression === "none") {
    const end = tail.lastIndexOf(0x0a) + 1;
    const lines = new TextDecoder().decode(tail.subarray(0, end)).split("\n").length - 1;
    return { read: before + lines, tornAt: end === tail.length ? null : wholeBytes + end };
  }
  // One frame of one block: all of it once the block is whole, whatever is there of the four bytes of the checksum.
  return { read: tail.length >= next.length - 4 ? story.flushes[flushed]! : before, tornAt: wholeBytes };
}

function readable(story: Story, read: number): Story {
  const copy = story.copy();
  copy.rows.length = read;
  copy.flushes.length = 0;
  const last = copy.rows.at(-1);
  copy.turn = Number(copy.rows.findLast(({ type }) => type === "turn/start")?.data.turn ?? 0);
  copy.step = Number(copy.rows.findLast(({ type }) => type === "step/start")?.data.step ?? 0);
  copy.setTime((last?.time ?? 999) + 1);
  return copy;
}

/** The copy of a torn end, as it lies beside its log. */
export function copyOf(log: string, offset: number, tail: Uint8Array): [string, Uint8Array<ArrayBuffer>] {
  const hash = createHash("sha256").update(tail).digest("hex").slice(0, 8);
  return [`${log}.torn-${offset}-${hash}`, frameOf(tail)];
}

function batchesOf(story: Story, deaths: readonly number[]): LabTrace["appended"] {
  const batches = story.flushes.map((end, flush) => {
    const seqFrom = story.flushes[flush - 1] ?? 0;
    return {
      incarnation: deaths.filter((death) => flush >= death).length,
      seqFrom,
      rows: story.rows.slice(seqFrom, end),
    };
  });
  const seqFrom = story.flushes.at(-1) ?? 0;
  if (story.rows.length > seqFrom) {
    batches.push({ incarnation: deaths.length, seqFrom, rows: story.rows.slice(seqFrom) });
  }
  return batches;
}

/** The steps of each call, up to the flush that began last. */
function stepsOf(story: Story, begun: number, ended: number, deaths: readonly number[]): LabTrace["calls"] {
  const flushOf = (seq: number) => story.flushes.findIndex((end) => seq < end);
  const reached = (flush: number, until: number, step: number) => flush >= 0 && flush < until ? step : undefined;
  return story.rows.filter(({ type }) => type === "effect/dispatched").map(({ seq, data }) => {
    const marker = flushOf(seq);
    const result = story.rows.find((row) => {
      const { message, subCallId } = row.data as { message?: { source?: { callId?: string } }; subCallId?: string };
      const isAnswer = row.type === "tool/result" || row.type === "tool/ptc-dispatch";
      return isAnswer && (message?.source?.callId ?? subCallId) === data.callId && row.seq > seq;
    });
    const resultFlush = result === undefined ? -1 : flushOf(result.seq);
    return {
      ...{ callId: String(data.callId), callSeq: Number(data.callSeq) },
      incarnation: deaths.filter((death) => marker >= death).length,
      markerFlushStartedAtStep: reached(marker, begun, STEP.started(marker)),
      markerFlushEndedAtStep: reached(marker, ended, STEP.ended(marker)),
      bodyStartedAtStep: reached(marker, ended, STEP.body(marker)),
      resultFlushStartedAtStep: reached(resultFlush, begun, STEP.started(resultFlush)),
      resultFlushEndedAtStep: reached(resultFlush, ended, STEP.ended(resultFlush)),
    };
  });
}

function effectOf(
  effect: Partial<LedgerEntry> & Pick<LedgerEntry, "callId">,
  calls: LabTrace["calls"],
): LedgerEntry {
  const steps = calls.find(({ callId }) => callId === effect.callId);
  return {
    ...{ effectKey: `key-${effect.callId}`, tool: "pay", incarnation: steps?.incarnation ?? 0, argsDigest: "d" },
    acceptedAtStep: (steps?.markerFlushEndedAtStep ?? 1) + 3,
    ...effect,
  };
}

/** The messages of a surface without replacements. */
export function messagesOf(rows: readonly EventObject[]): unknown[] {
  return rows.filter(({ surfaceOp }) => surfaceOp === "append").map(({ type, data }) => {
    return type === "user/message" ? data : data.message;
  });
}

/** A trace with other files. */
export function withFile(files: Files, name: string, bytes: Uint8Array | null): Files {
  const copy = new Map(files);
  if (bytes === null) copy.delete(name);
  else copy.set(name, bytes);
  return copy;
}
