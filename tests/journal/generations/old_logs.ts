/**
 * Logs of older versions for the tests of this folder, written by hand in the shapes of their time.
 *
 * @module
 */
import { encodeLines } from "../../../src/frame/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";

/** A record of an old file. */
export type OldRecord = Readonly<Record<string, unknown>>;

/** The folder of the session that {@linkcode oldRows} belongs to. */
export const OLD_FOLDER = "--w--/s/";

/** The file name of a version. */
export function oldName(version: number, encoding: "zstd" | "none"): string {
  const suffix = encoding === "zstd" ? ".zstd" : "";
  return `${OLD_FOLDER}session${version === 0 ? "" : `.v${version}`}.jsonl${suffix}`;
}

/** The header of version 0. */
export function oldHeader(more: OldRecord = {}): OldRecord {
  return { type: "session", version: 0, id: "s", createdAt: 1000, cwd: "/w", delegationDepth: 0, ...more };
}

/** Whole turns of version 0, each with one answer that came in packed chunks. `text` is what it says, piece by piece. */
export function oldTurns(turns: number, pieces: readonly string[] = ["do", "ne ", "ünï"]): OldRecord[] {
  const rows: OldRecord[] = [];
  let seq = 0;
  for (let turn = 1; turn <= turns; turn++) {
    for (const row of oldTurn(turn, seq, pieces)) {
      rows.push(row);
      seq += "seq0" in row ? pieces.length : 1;
    }
  }
  return rows;
}

/** One turn of version 0, from a seq on. */
export function* oldTurn(turn: number, firstSeq: number, pieces: readonly string[]): Generator<OldRecord> {
  let seq = firstSeq;
  const at = () => ({ seq, time: 2000 + seq++ });
  const place = { turn, step: 1 };
  yield { type: "turn/start", ...at(), data: { turn } };
  yield { type: "step/start", ...at(), data: place };
  const said = { role: "user", content: [{ type: "text", text: `do ${turn}` }], source: { kind: "user" } };
  yield { type: "user/message", ...at(), data: { id: `u${turn}`, ...said }, surfaceOp: "append" };
  if (turn === 1) {
    const header = { config: { provider: "p", model: "m" }, system: "Be good." };
    yield { type: "request/header", ...at(), data: { header, reason: "initial" } };
  }
  const block = { type: "text", text: pieces.join("") };
  const chunks: number[] = [];
  const chunk = (value: unknown) => {
    chunks.push(seq);
    return { type: "assistant/chunk", ...at(), data: { ...place, chunk: value } };
  };
  yield chunk({ type: "block-start", index: 0, blockType: "text" });
  const dt = new Array(pieces.length - 1).fill(1);
  for (let index = 0; index < pieces.length; index++) chunks.push(seq + index);
  yield { type: "text-chunks", seq0: seq, time0: 2000 + seq, data: { ...place, index: 0, dt, texts: pieces } };
  seq += pieces.length;
  yield chunk({ type: "block-end", index: 0, block });
  yield chunk({ type: "finish", reason: { kind: "stop" } });
  const message = {
    ...{ id: `a${turn}`, role: "assistant", content: [block] },
    source: { kind: "model", provider: "p", model: "m" },
  };
  yield {
    ...{ type: "assistant/message", ...at(), data: { ...place, message } },
    ...{ sourceEventSeqs: [...chunks], surfaceOp: "append" },
  };
  yield { type: "step/end", ...at(), data: place };
  yield { type: "turn/end", ...at(), data: { turn, reason: { kind: "completed" } } };
}

/** A file as a program of that time writes it: the header alone, then one frame (raw: lines) for each batch. */
export function oldBytes(
  header: OldRecord,
  batches: readonly (readonly OldRecord[])[],
  encoding: "zstd" | "none",
): Uint8Array<ArrayBuffer> {
  const parts = [[header], ...batches].filter((batch) => batch.length > 0).map((batch) => {
    const plain = encodeLines(batch.map((record) => JSON.stringify(record)));
    return encoding === "zstd" ? nodeZstd().compress(plain) : plain;
  });
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
