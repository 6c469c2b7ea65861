/**
 * A large log of version 0, written to a file as it is made.
 *
 * @module
 */
import { encodeLines } from "../../../src/frame/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { oldHeader, oldTurn } from "./old_logs.ts";

/** How many pieces one answer came in; a piece is a word or two, as models send them. */
const PIECES = 4000;

/** How many turns are written at once, in one frame of their own. */
const TURNS_PER_BATCH = 8;

/** Writes turns until the file, or its plain text, has `sizeBytes`. Returns what it wrote. */
export async function writeLargeLog(
  path: string,
  sizeBytes: number,
  encoding: "zstd" | "none",
): Promise<{ readonly turns: number; readonly fileBytes: number; readonly plainBytes: number }> {
  using file = await Deno.open(path, { write: true, createNew: true });
  const writer = file.writable.getWriter();
  const codec = nodeZstd();
  let [fileBytes, plainBytes, turn, seq] = [0, 0, 0, 0];
  const write = async (rows: readonly unknown[]) => {
    const plain = encodeLines(rows.map((row) => JSON.stringify(row)));
    const bytes = encoding === "zstd" ? codec.compress(plain) : plain;
    plainBytes += plain.length;
    fileBytes += bytes.length;
    await writer.write(bytes);
  };
  await write([oldHeader({ id: "big" })]);
  while (plainBytes < sizeBytes) {
    const rows: unknown[] = [];
    for (let index = 0; index < TURNS_PER_BATCH; index++) {
      const pieces = Array.from({ length: PIECES }, (_, piece) => `${WORDS[(turn * 31 + piece * 7) % WORDS.length]} `);
      for (const row of oldTurn(++turn, seq, pieces)) {
        rows.push(row);
        seq += "seq0" in row ? pieces.length : 1;
      }
    }
    await write(rows);
  }
  await writer.close().catch(() => {});
  return { turns: turn, fileBytes, plainBytes };
}

const WORDS = [
  ...[
    "the",
    "log",
    "only",
    "grows",
    "what",
    "stands",
    "in",
    "it",
    "was",
    "acknowledged",
    "and",
    "nothing",
    "is",
    "lost",
  ],
  ...[
    "ünïcode",
    "🐳",
    "a",
    "crash",
    "leaves",
    "either",
    "no",
    "successor",
    "or",
    "a whole one",
    "\n\n",
    "`code`",
    "{",
    "}",
  ],
] as const;
