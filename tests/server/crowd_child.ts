/**
 * A server for a crowd, in a process of its own so that its memory is its own. Its argument is its order as JSON.
 *
 * Prints its port when it listens; for each line on standard input it prints its memory after a
 * collection, in bytes.
 *
 * @module
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createAgent, scripted } from "../../mod.ts";
import { systemClock } from "../../src/entry/system.ts";
import { serve } from "../../src/server/deno.ts";

/** What the server shall be. */
export interface CrowdOrder {
  readonly root: string;
  readonly token: string;
  /** How many pieces each answer has, and how long they are. */
  readonly pieces: number;
  readonly pieceLength: number;
  /** How many answers there are. */
  readonly answers: number;
}

const { root, token, pieces, pieceLength, answers } = JSON.parse(process.argv[2] ?? "") as CrowdOrder;
const text = Array.from({ length: pieces }, (_, index) => `${index} `.padEnd(pieceLength, "x"));
const script = Array.from({ length: answers }, () => [{ text }]);
const serving = await serve({
  root,
  tokens: [token],
  agentWith: (store, approver) =>
    createAgent({ store, model: scripted(script, { clock: systemClock }), approvers: [approver] }),
  report: (error) => console.error(error),
});
console.log(serving.port);
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
for await (const _ of Deno.stdin.readable) {
  collect();
  const { rss, heapUsed } = Deno.memoryUsage();
  console.log(JSON.stringify({ rss, heapUsed, ...serving.counts() }));
}
