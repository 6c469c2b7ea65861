/**
 * `well-formed-transcript`: whatever a model is sent, each tool call in it has exactly one answer, in order, and no answer is
 * without its call. What a recovery closed, the next request tells.
 *
 * @module
 */
import type { Case } from "./case.ts";
import { isFinal, nameOf } from "./evidence.ts";
import { isNotice } from "./repair.ts";
import { isRecord, type MessageOfRow, type Row } from "./rows.ts";

/** Reads the surface of the recovered log, and every request that was made of it. */
export function checkTranscript(found: Case): void {
  const { trace, after, recovered, find } = found;
  for (const [index, { messages }] of trace.requests.entries()) {
    const problem = firstProblem(messages);
    if (problem !== null) find("well-formed-transcript", `request ${index}: ${problem}`);
  }
  if (after === null || recovered === null || recovered.state !== "readable") return;
  checkTold(found);
  checkVerdictsTold(found);
  // What another program left open is answered when a request is made, not in the log.
  if (!after.lifecycles.every(({ hasBarriers, fromSeq }) => hasBarriers || fromSeq === after.rows.at(-1)?.seq)) return;
  for (const call of after.calls) {
    if (call.moreResults.length === 0) continue;
    const seqs = [call.result, ...call.moreResults].map((row) => row?.seq).join(", ");
    find("well-formed-transcript", `${nameOf(call)} is answered ${call.moreResults.length + 1} times: seqs ${seqs}`);
  }
  for (const row of after.orphans) {
    find(
      "well-formed-transcript",
      `seq ${row.seq} answers call "${row.data.message?.source?.callId}", which nobody made`,
    );
  }
  const surface = surfaceOf(after.rows);
  if (typeof surface === "string") {
    find("well-formed-transcript", `the surface of the recovered log cannot be derived: ${surface}`);
    return;
  }
  const problem = after.openTurn === null ? firstProblem(surface.map(({ message }) => message)) : null;
  if (problem !== null) find("well-formed-transcript", `the surface of the recovered log: ${problem}`);
}

/** What is wrong with a sequence of messages; `null` when nothing. */
export function firstProblem(messages: readonly unknown[]): string | null {
  let due: string[] = [];
  let from = -1;
  const answered = new Set<string>();
  for (const [index, value] of messages.entries()) {
    if (!isRecord(value)) return `message ${index} is no message`;
    const { role, content } = value as MessageOfRow;
    const blocks = Array.isArray(content) ? content as NonNullable<MessageOfRow["content"]> : [];
    const answers = blocks.filter(({ type }) => type === "tool-result");
    for (const { toolCallId = "" } of answers) {
      if (due[0] === toolCallId) {
        due.shift();
        answered.add(toolCallId);
        continue;
      }
      if (due.includes(toolCallId)) {
        return `message ${index} answers call "${toolCallId}", and "${due[0]}" of message ${from} is due`;
      }
      return answered.has(toolCallId)
        ? `message ${index} answers call "${toolCallId}" again`
        : `message ${index} answers call "${toolCallId}", which no message before it makes`;
    }
    if (answers.length > 0) continue;
    if (due.length > 0) {
      return `message ${index} (${role}) follows, and call "${due[0]}" of message ${from} has no answer`;
    }
    if (role !== "assistant") continue;
    due = blocks.filter(({ type }) => type === "tool-call").map(({ id }) => id ?? "");
    from = index;
    if (new Set(due).size < due.length) return `message ${index} makes two calls of one id: ${due.join(", ")}`;
    // An id may be used again once the calls of an earlier message are answered.
    for (const id of due) answered.delete(id);
  }
  return due.length > 0 ? `it ends, and call "${due[0]}" of message ${from} has no answer` : null;
}

interface Node {
  readonly seq: number;
  readonly message: MessageOfRow;
}

/** The messages a model sees, by the session format §4.1 and §4.2, or why they cannot be derived. */
function surfaceOf(rows: readonly Row[]): Node[] | string {
  const nodes: Node[] = [];
  for (const row of rows) {
    const { surfaceOp, type, data, seq } = row;
    if (surfaceOp === undefined || row.ignorable) continue;
    const message = type === "user/message" ? data as MessageOfRow : data.message;
    if (message === undefined) return `seq ${seq} (${type}) holds no message`;
    if (surfaceOp === "append") {
      nodes.push({ seq, message });
      continue;
    }
    const { startSeq, endSeq } = isRecord(surfaceOp) ? surfaceOp : {};
    const start = nodes.findIndex((node) => node.seq === startSeq);
    const end = nodes.findIndex((node) => node.seq === endSeq);
    if (start < 0 || end < start) return `seq ${seq} replaces ${startSeq} to ${endSeq}, which are not on it`;
    nodes.splice(start, end - start + 1, { seq, message });
  }
  return nodes.filter(({ message }) => (message.content?.length ?? 0) > 0);
}

/** The first request after a recovery holds the answers it wrote, with what they say. */
function checkTold({ trace, after, added, find }: Case): void {
  const request = trace.requests[0];
  if (request === undefined) return;
  const told = new Map<string, boolean>();
  for (const message of request.messages as MessageOfRow[]) {
    for (const { type, toolCallId, isError } of Array.isArray(message?.content) ? message.content : []) {
      if (type === "tool-result" && toolCallId !== undefined) told.set(toolCallId, isError === true);
    }
  }
  const surface = surfaceOf(after!.rows);
  for (const row of added) {
    if (row.type !== "tool/result" || typeof surface === "string" || !surface.some(({ seq }) => seq === row.seq)) {
      continue;
    }
    const block = row.data.message?.content?.[0];
    const callId = block?.toolCallId ?? "";
    const isError = told.get(callId);
    if (isError === (block?.isError === true)) continue;
    const code = row.data.error?.code ?? "a success";
    find(
      "well-formed-transcript",
      `seq ${row.seq} answers call "${callId}" with ${code}, and the next request ` +
        (isError === undefined ? "does not tell it" : `tells it as ${isError ? "an error" : "a success"}`),
    );
  }
}

/** What a lookup settled after the model had read the answer is told by a notice, once. */
function checkVerdictsTold({ after, find }: Case): void {
  const late = after!.calls.flatMap((call) => {
    const row = call.verdicts.find(({ data, seq }) =>
      isFinal(data.verdict) && data.by !== "person" && call.result !== null && call.result.seq < seq
    );
    return row === undefined ? [] : [{ call, row }];
  });
  if (late.length === 0) return;
  const notices = after!.rows.filter(isNotice);
  // One notice tells of one verdict.
  for (const { call, row } of late.toSorted((left, right) => left.row.seq - right.row.seq)) {
    const told = notices.findIndex(({ seq }) => seq > row.seq);
    if (told >= 0) {
      notices.splice(told, 1);
      continue;
    }
    find(
      "well-formed-transcript",
      `seq ${row.seq} settled ${nameOf(call)} as ${row.data.verdict} after its answer, seq ${
        call.result!.seq
      }, and no notice tells the model`,
    );
  }
}
