/**
 * Checks a migrated log on a thread of its own. It has no files: it asks for bytes.
 *
 * @module
 */
import { nodeZstd } from "../frame/node_zstd.ts";
import { verifyHere } from "../journal/mod.ts";
import { smallHeap } from "./small_heap.ts";
import { type ThreadEnd, threadEnd } from "./thread.ts";
import type { VerifyAnswer, VerifyOrder } from "./verify_messages.ts";

/** How much is asked for at once: each question costs two changes of threads. */
const BLOCK_BYTES = 2 * 1024 * 1024;

const end = threadEnd();
if (end !== null) serve(end);

function serve(end: ThreadEnd): void {
  const say = (answer: VerifyAnswer) => end.send(answer);
  const keepSmall = smallHeap();
  let bytesCame = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  const ask = (startBytes: number, endBytes: number) => {
    keepSmall();
    bytesCame = Promise.withResolvers();
    say({ kind: "read", startBytes, endBytes });
    return bytesCame.promise;
  };

  let block = { startBytes: 0, bytes: new Uint8Array(0) };
  const read = async (startBytes: number, endBytes: number) => {
    const isInside = startBytes >= block.startBytes && endBytes <= block.startBytes + block.bytes.length;
    if (!isInside) block = { startBytes, bytes: await ask(startBytes, Math.max(endBytes, startBytes + BLOCK_BYTES)) };
    return block.bytes.slice(startBytes - block.startBytes, endBytes - block.startBytes);
  };

  end.onMessage((message) => {
    const order = message as VerifyOrder;
    if (order.kind === "bytes") return bytesCame.resolve(order.bytes);
    if (order.kind === "failed") return bytesCame.reject(new Error(order.message));
    verifyHere(nodeZstd())(order.staged, read, order.limits).then(
      (facts) => say({ kind: "done", facts }),
      (error) => say({ kind: "refused", code: codeOf(error), message: String(error?.message ?? error) }),
    );
  });
  say({ kind: "ready" });
}

function codeOf(error: unknown): string | null {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : null;
}
