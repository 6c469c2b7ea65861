/**
 * A small log of version 0, made up: one turn with one streamed answer, in packed and in single chunks.
 *
 * @see session-format §2, §3
 * @module
 */

const at = (() => {
  let time = 1_600_000_000_000;
  return () => time += 7;
})();
const of = { turn: 1, step: 1 };
const chunk = (seq: number, chunk: unknown) => ({ type: "assistant/chunk", seq, time: at(), data: { ...of, chunk } });
const text = "Hello from long ago";
const packed = { ...of, index: 0, dt: [3, 4], texts: ["Hello", " from", " long ago"] };
const finished = { type: "finish", reason: { kind: "stop" } };
const asked = {
  id: "m1",
  role: "user",
  content: [{ type: "text", text: "is anybody there?" }],
  source: { kind: "user" },
};
const answer = {
  id: "m2",
  role: "assistant",
  content: [{ type: "text", text }],
  source: { kind: "model", provider: "p", model: "m" },
};

const LINES: readonly unknown[] = [
  { type: "session", version: 0, id: "long-ago", createdAt: 1_600_000_000_000, delegationDepth: 0 },
  { type: "turn/start", seq: 0, time: at(), data: { turn: 1 } },
  { type: "step/start", seq: 1, time: at(), data: of },
  { type: "user/message", seq: 2, time: at(), data: asked, surfaceOp: "append" },
  chunk(3, { type: "block-start", index: 0, blockType: "text" }),
  { type: "text-chunks", seq0: 4, time0: at(), data: packed },
  chunk(7, { type: "block-end", index: 0, block: { type: "text", text } }),
  chunk(8, finished),
  {
    ...{ type: "assistant/message", seq: 9, time: at(), data: { ...of, message: answer } },
    ...{ sourceEventSeqs: [3, 4, 5, 6, 7, 8], surfaceOp: "append" },
  },
  { type: "step/end", seq: 10, time: at(), data: of },
  { type: "turn/end", seq: 11, time: at(), data: { turn: 1, reason: { kind: "completed" } } },
];

/** Its lines, without newlines. */
export const SMALL_OLD_LOG: readonly string[] = LINES.map((line) => JSON.stringify(line));

/** The whole file. */
export function smallOldLog(): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(SMALL_OLD_LOG.map((line) => line + "\n").join(""));
}
