/**
 * A worker with nothing but a store in it, for what two workers do to one session.
 *
 * @module
 */
import type { LogWriter, SessionStore } from "../../../mod.ts";
import { createSession, hasCode } from "../../../mod.ts";
import { openOpfsStore } from "../../../src/entry/opfs.ts";

/** What the worker is asked. */
export type StoreRequest =
  | { readonly verb: "create" | "open" | "release"; readonly id: string }
  | { readonly verb: "append"; readonly id: string; readonly text: string };

/** What came of it. */
export interface StoreAnswer {
  readonly nextSeq: number | null;
  readonly tookMs: number;
  readonly refused: { readonly name: string; readonly code: string | null; readonly message: string } | null;
}

const logs = new Map<string, LogWriter>();
let opening: Promise<SessionStore> | null = null;

async function answer(request: StoreRequest): Promise<number | null> {
  const store = await (opening ??= openOpfsStore());
  const { id } = request;
  switch (request.verb) {
    case "create": {
      await using session = await createSession({ store, id });
      session.append({ type: "turn/start", data: { turn: 1 } });
      session.append({ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } });
      return session.nextSeq;
    }
    case "open":
      logs.set(id, await store.open(id, "write"));
      return logs.get(id)!.state().nextSeq;
    case "append": {
      const log = logs.get(id)!;
      const seq = log.state().nextSeq;
      const data = { todos: [{ content: request.text, status: "pending" }] };
      await log.append([{ type: "todo/write", seq, time: seq, data }]);
      return log.state().nextSeq;
    }
    case "release":
      await logs.get(id)?.close();
      logs.delete(id);
      return null;
  }
}

self.addEventListener("message", async ({ data }: MessageEvent<StoreRequest>) => {
  const beganMs = performance.now();
  const told: StoreAnswer = await answer(data).then(
    (nextSeq) => ({ nextSeq, tookMs: performance.now() - beganMs, refused: null }),
    (error) => ({ nextSeq: null, tookMs: performance.now() - beganMs, refused: refusalOf(error) }),
  );
  (self as unknown as { postMessage(message: unknown): void }).postMessage(told);
});

function refusalOf(error: unknown): StoreAnswer["refused"] {
  const { name, message } = error as Error;
  const code = hasCode(error, "LOCK_HELD") ? "LOCK_HELD" : String(Reflect.get(Object(error), "code"));
  return { name, code, message };
}
