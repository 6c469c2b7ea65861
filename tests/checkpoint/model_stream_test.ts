import { assertEquals, assertRejects } from "@std/assert";
import { gatedModelStream } from "../../src/checkpoint/mod.ts";
import { CheckpointFailedError, StorageLostError } from "../../src/errors.ts";
import type { StreamChunk } from "../../src/event/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import { createSession } from "../../src/session/mod.ts";
import { note, turnStart } from "../session/drafts.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";

const REQUEST: ModelRequest = { sessionId: "s", header: { config: { provider: "p", model: "m" } }, messages: [] };
const CHUNKS: StreamChunk[] = [
  { type: "text-delta", index: 0, text: "hi" },
  { type: "finish", reason: { kind: "stop" } },
];

/** A session with one pending event, and a model that counts how often it is entered. */
async function bench() {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  session.append(turnStart());
  const entered: number[] = [];
  const model: Model = {
    provider: "p",
    id: "m",
    async *stream() {
      entered.push(session.durableSeq);
      yield* CHUNKS;
    },
  };
  const controller = new AbortController();
  const stream = () => gatedModelStream(session, model, REQUEST, controller.signal);
  return { store, session, entered, controller, stream };
}

async function collect(stream: AsyncIterable<StreamChunk>): Promise<StreamChunk[]> {
  const chunks: StreamChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

Deno.test("exec/C01: the model is not called while the flush is pending", async () => {
  const { store, session, entered, stream } = await bench();
  const release = store.hold();
  const chunks = collect(stream());
  await settle();
  assertEquals([store.calls.length, entered], [1, []]);
  release();
  assertEquals(await chunks, CHUNKS);
  assertEquals(entered, [1], "called when everything appended before was durable");
  await session.close();
});

Deno.test("exec/C04: a flush that rejects makes the first pull reject, and the model is never called", async () => {
  const { store, session, entered, stream } = await bench();
  const failure = store.failure = new StorageLostError("EIO");
  const error = await assertRejects(() => collect(stream()), CheckpointFailedError, "EIO");
  assertEquals([error.cause, entered], [failure, []]);
  store.failure = null;
  await session.close();
});

Deno.test("exec/C05: a stream that nobody pulls flushes nothing and calls nobody", async () => {
  const { store, session, entered, stream } = await bench();
  const unused = stream();
  await settle();
  assertEquals([store.calls.length, entered], [0, []]);
  await unused.return();
  assertEquals([store.calls.length, entered], [0, []]);
  await session.close();
});

Deno.test("exec/C17: every attempt has a flush of its own", async () => {
  const { session, entered, stream } = await bench();
  await collect(stream());
  session.append(note("retry"));
  await collect(stream());
  assertEquals(entered, [1, 2]);
  await session.close();
});

Deno.test("exec/C20: a request that is cancelled during its flush never reaches the model", async () => {
  const { store, session, entered, controller, stream } = await bench();
  const release = store.hold();
  const chunks = collect(stream()).catch((reason) => reason);
  await settle();
  controller.abort("cancelled");
  release();
  assertEquals(await chunks, "cancelled");
  await settle();
  assertEquals(entered, []);
  await session.close();
});

Deno.test("the stream ends the model's stream when it is abandoned", async () => {
  const { session } = await bench();
  let ended = false;
  const model: Model = {
    provider: "p",
    id: "m",
    async *stream() {
      try {
        yield* CHUNKS;
      } finally {
        ended = true;
      }
    },
  };
  for await (const _ of gatedModelStream(session, model, REQUEST, new AbortController().signal)) break;
  assertEquals(ended, true);
  await session.close();
});
