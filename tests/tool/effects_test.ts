/**
 * Effects, counted where they happen: at a remote outside of the session.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { BufferFullError, StorageLostError } from "../../src/errors.ts";
import { isEvent } from "../../src/event/mod.ts";
import { openSession, type Session } from "../../src/session/mod.ts";
import { outcomeUnknown, type Tool, type ToolCall } from "../../src/tool/mod.ts";
import { commitCall, dispatchCall, prepareCall } from "../../src/tool/pipeline.ts";
import { settle } from "../support/fake_clock.ts";
import type { FakeStore } from "../support/fake_store.ts";
import { seededRandom } from "../support/seeded_random.ts";
import {
  checkPromises,
  contextOf,
  dataOf,
  eventsOf,
  newHooks,
  openStep,
  propose,
  reached,
  run,
  textOf,
  tool,
} from "./tool_support.ts";

/** A remote that deduplicates by key. */
class Remote {
  readonly requests: string[] = [];
  readonly effects = new Set<string>();

  send(key: string): string {
    this.requests.push(key);
    this.effects.add(key);
    return "paid";
  }
}

/** What a new process finds: turn 2 with an open step, on what was durable. */
async function reopened(store: FakeStore) {
  const { session, resumed } = await openSession({ store: store.crash(), id: "s1" });
  return { session, resumed };
}

async function openTurnTwo(session: Session): Promise<void> {
  session.append({ type: "turn/start", data: { turn: 2 } });
  session.append({ type: "step/start", data: { turn: 2, step: 1 } });
  await session.flush();
}

function runAgain(session: Session, act: Tool, id: string) {
  const call = { id, name: "act", arguments: "{}" };
  const message = {
    role: "assistant",
    content: [{ type: "tool-call", ...call }],
    source: { kind: "model", provider: "p", model: "m" },
    id: `a${session.nextSeq}`,
  };
  session.append({ type: "assistant/message", data: { turn: 2, step: 1, message, stream: [] }, surfaceOp: "append" });
  return prepareCall({ turn: 2, step: 1, callId: id, name: "act", arguments: "{}" }, contextOf(session, [act]))
    .then((prepared) => dispatchCall(prepared, contextOf(session, [act])))
    .then((settled) => commitCall(settled, contextOf(session, [act])));
}

Deno.test("exec/I03: a body that sends its effect twice under its key has one effect", async () => {
  const { session } = await openStep();
  const remote = new Remote();
  const act = tool({
    effect: "keyed",
    execute: (_, { effectKey }) => (remote.send(effectKey), remote.send(effectKey)),
  });
  await run(session, [act]);
  assertEquals([remote.requests.length, remote.effects.size], [2, 1]);
});

Deno.test("exec/I05, exec/T37: providers repeat and omit ids, and no two effects share a key", async () => {
  const remote = new Remote();
  const act = tool({ effect: "keyed", execute: (_, { effectKey }) => remote.send(effectKey) });
  for (const seed of [1, 2]) {
    const { session } = await openStep({ random: seededRandom(seed) });
    await run(session, [act], { id: "call_0" });
  }
  assertEquals(remote.effects.size, 2);

  const { session } = await openStep({ random: seededRandom(3) });
  const calls: ToolCall[] = [];
  const noting = tool({ effect: "keyed", execute: (_, call) => (calls.push(call), remote.send(call.effectKey)) });
  const context = contextOf(session, [noting]);
  for (const callId of ["call-1-1-0", "call-1-1-1"]) {
    propose(session, [{ id: callId, name: "act", arguments: "{}" }]);
    const proposed = { turn: 1, step: 1, callId, name: "act", arguments: "{}", providerCallId: "" };
    await commitCall(await dispatchCall(await prepareCall(proposed, context), context), context);
  }
  assertEquals(remote.effects.size, 4);
  assertEquals(calls.map(({ callId, providerCallId }) => [callId, providerCallId]), [
    ["call-1-1-0", ""],
    ["call-1-1-1", ""],
  ]);
});

Deno.test("exec/C16: of calls side by side each body starts only when its own marker is durable, and no seq is written twice", async () => {
  const { store, session } = await openStep();
  const act = tool({
    execute: (_, { callSeq }) => {
      const durable = store.events("s1");
      assert(durable.some((event) => isEvent(event, "effect/dispatched") && event.data.callSeq === callSeq));
      return "done";
    },
  });
  const context = contextOf(session, [act]);
  const calls = ["a", "b", "c"].map((id) => ({ id, name: "act", arguments: `"${id}"` }));
  propose(session, calls);
  const release = store.hold();
  const running = [];
  for (const { id: callId, name, arguments: text } of calls) {
    running.push(
      dispatchCall(await prepareCall({ turn: 1, step: 1, callId, name, arguments: text }, context), context),
    );
    await settle();
  }
  release();
  for (const settled of running) assertEquals((await commitCall(await settled, context)).outcome.isError, false);
  const seqs = store.calls.flatMap(({ seqs }) => seqs);
  assertEquals(seqs, seqs.map((_, index) => index));
  await checkPromises(session);
});

Deno.test("exec/T26: bodies side by side overlap and settle in any order; results stand in the model's order", async () => {
  const { session } = await openStep();
  const order: string[] = [];
  const gates = new Map(["1", "2", "3"].map((id) => [id, Promise.withResolvers<void>()]));
  const act = tool({
    effect: "none",
    isConcurrencySafe: () => true,
    execute: async (_, { callId }) => {
      order.push(`start ${callId}`);
      await gates.get(callId)!.promise;
      order.push(`end ${callId}`);
      return callId;
    },
  });
  const context = contextOf(session, [act]);
  const calls = [...gates.keys()].map((id) => ({ id, name: "act", arguments: "{}" }));
  propose(session, calls);
  const running = [];
  for (const { id: callId, name, arguments: text } of calls) {
    running.push(
      dispatchCall(await prepareCall({ turn: 1, step: 1, callId, name, arguments: text }, context), context),
    );
  }
  await settle();
  for (const id of ["3", "1", "2"]) {
    gates.get(id)!.resolve();
    await settle();
  }
  for (const settled of running) await commitCall(await settled, context);
  assertEquals(order, ["start 1", "start 2", "start 3", "end 3", "end 1", "end 2"]);
  assertEquals((await dataOf(session, "tool/result")).map(({ message }) => message.source.callId), ["1", "2", "3"]);
});

Deno.test("exec/C18: a result that is only in memory when the process dies is unknown; one with an effect does not wait for that", async () => {
  const quiet = await openStep();
  await run(quiet.session, [tool({ effect: "none" })], { id: "c1" });
  const lost = await reopened(quiet.store);
  assertEquals(lost.resumed.calls.map(({ class: found }) => found), ["outcome_unknown"]);

  const effectful = await openStep();
  await run(effectful.session, [tool()], { id: "c1" });
  assertEquals((await reopened(effectful.store)).resumed.calls, []);

  // The store goes before the result is durable.
  const unlucky = await openStep();
  const act = tool({ execute: () => (unlucky.store.failure = new StorageLostError("gone"), "paid") });
  await run(unlucky.session, [act], { id: "c1" });
  const after = await reopened(unlucky.store);
  assertEquals(after.resumed.calls.map(({ class: found }) => found), ["outcome_unknown"]);
  assertEquals(after.session.folds.unresolved.effects.length, 1);
});

Deno.test("field/B11: a result that the disk refused is kept, and written before anything else", async () => {
  const { store, session } = await openStep();
  const act = tool({
    execute: () => {
      store.inject({ fail: new StorageLostError("EIO") });
      return "paid";
    },
  });
  const end = await run(session, [act], { id: "c1" });
  assertEquals([textOf(end.outcome), store.events("s1").at(-1)?.type], ["paid", "effect/dispatched"]);
  session.append({ type: "step/end", data: { turn: 1, step: 1 } });
  await session.flush();
  assertEquals(store.events("s1").slice(-2).map(({ type }) => type), ["tool/result", "step/end"]);
});

Deno.test("field/B05: a crash in a body runs nothing again; only the model's own equal call does, under the same key", async () => {
  const first = await openStep();
  const remote = new Remote();
  const hanging = tool({
    effect: "keyed",
    execute: (_, { effectKey }) => (remote.send(effectKey), new Promise<never>(() => {})),
  });
  const marked = reached(first.session, "effect/dispatched");
  void run(first.session, [hanging], { id: "c1" });
  await marked;
  await settle();
  assertEquals(remote.requests.length, 1);

  const { session, resumed } = await reopened(first.store);
  await openTurnTwo(session);
  await settle();
  assertEquals([resumed.calls.map(({ class: found }) => found), remote.requests.length], [["outcome_unknown"], 1]);
  const paying = tool({ effect: "keyed", execute: (_, { effectKey }) => remote.send(effectKey) });
  assertEquals(textOf((await runAgain(session, paying, "c2")).outcome), "paid");
  assertEquals([remote.requests.length, remote.effects.size], [2, 1]);
  assertEquals(session.folds.unresolved.effects, []);
});

Deno.test("field/B07: three crashes in a row are three tries in the log, one key and one effect", async () => {
  const remote = new Remote();
  let { store, session } = await openStep();
  let turn = 1;
  const hanging = tool({
    effect: "keyed",
    execute: (_, { effectKey }) => (remote.send(effectKey), new Promise<never>(() => {})),
  });
  for (let tries = 0; tries < 3; tries++) {
    const marked = reached(session, "effect/dispatched");
    const id = `c${tries}`;
    const message = {
      role: "assistant",
      content: [{ type: "tool-call", id, name: "act", arguments: "{}" }],
      source: { kind: "model", provider: "p", model: "m" },
      id: `a${session.nextSeq}`,
    };
    session.append({ type: "assistant/message", data: { turn, step: 1, message, stream: [] }, surfaceOp: "append" });
    const context = contextOf(session, [hanging]);
    void prepareCall({ turn, step: 1, callId: id, name: "act", arguments: "{}" }, context)
      .then((prepared) => dispatchCall(prepared, context));
    await marked;
    await settle();
    store = store.crash();
    ({ session } = await openSession({ store, id: "s1" }));
    session.append({ type: "turn/start", data: { turn: ++turn } });
    session.append({ type: "step/start", data: { turn, step: 1 } });
    await session.flush();
  }
  const markers = await dataOf(session, "effect/dispatched");
  assertEquals(markers.length, 3);
  assertEquals(new Set(markers.map(({ effectKey }) => effectKey)).size, 1);
  assertEquals(markers.map(({ retryOf }) => retryOf), [undefined, markers[0]!.callSeq, markers[0]!.callSeq]);
  const codes = (await dataOf(session, "tool/result")).map(({ error }) => error?.code);
  assertEquals(codes, Array(3).fill("TOOL_OUTCOME_UNKNOWN"));
  assertEquals([remote.requests.length, remote.effects.size], [3, 1]);
});

Deno.test("field/B29: two calls of one message that were given ids of their own are answered one by one", async () => {
  const { session } = await openStep();
  const context = contextOf(session, [tool()]);
  const ids = ["dup", "call-1-1-1"];
  propose(session, ids.map((id, n) => ({ id, name: "act", arguments: `${n}` })));
  for (const [n, callId] of ids.entries()) {
    const proposed = { turn: 1, step: 1, callId, name: "act", arguments: `${n}`, providerCallId: "dup" };
    await commitCall(await dispatchCall(await prepareCall(proposed, context), context), context);
  }
  await checkPromises(session);
  assertEquals((await eventsOf(session)).filter(({ type }) => type === "tool/result").length, 2);
});

Deno.test("committing again after the log refused it asks no reviewer and tells no observer twice", async () => {
  const { session } = await openStep();
  const hooks = newHooks();
  const notes: string[] = [];
  hooks.on("tools/post-execute", (_, __, next) => (notes.push("review"), next()));
  hooks.on("tools/result", () => notes.push("told"));
  const context = contextOf(session, [tool()], { hooks });
  propose(session, [{ id: "c1", name: "act", arguments: "{}" }]);
  const proposed = { turn: 1, step: 1, callId: "c1", name: "act", arguments: "{}" };
  const settled = await dispatchCall(await prepareCall(proposed, context), context);
  const append = session.append.bind(session);
  let refusals = 2;
  session.append = (draft) => {
    if (draft.type === "tool/result" && refusals-- > 0) throw new BufferFullError("full");
    return append(draft);
  };
  await assertRejects(() => commitCall(settled, context), BufferFullError);
  assertEquals(textOf((await commitCall(settled, context)).outcome), "done");
  assertEquals(notes, ["review", "told"]);
  await checkPromises(session);
});

Deno.test("a result that no log can take is answered all the same", async () => {
  const { session } = await openStep();
  const attachment = { type: "image", attachment: { mediaType: "image/png" } } as const;
  assertEquals(
    (await run(session, [tool({ effect: "none", execute: () => ({ content: [attachment] }) })])).outcome.isError,
    false,
  );
  const append = session.append.bind(session);
  session.append = (draft) => {
    if (draft.type === "tool/result" && JSON.stringify(draft.data).includes("odd")) {
      throw new TypeError("no such shape");
    }
    return append(draft);
  };
  const end = await run(session, [tool({ execute: () => "odd" })]);
  assertEquals(end.outcome.error?.code, "INVALID_TOOL_OUTPUT");
  const open = await run(session, [tool({ execute: () => Promise.reject(outcomeUnknown("odd")) })], { arguments: "1" });
  assertEquals(open.outcome.error?.code, "TOOL_OUTCOME_UNKNOWN");
  assertEquals(session.folds.unresolved.effects.length, 1);
  await checkPromises(session);
});

Deno.test("a full buffer is flushed once, wherever a call meets it", async () => {
  const { session } = await openStep();
  const append = session.append.bind(session);
  const refused = new Set<string>();
  session.append = (draft) => {
    const isFirst = !refused.has(draft.type) && draft.type !== "assistant/message";
    refused.add(draft.type);
    if (isFirst) throw new BufferFullError("full");
    return append(draft);
  };
  const inner = tool({ name: "inner" });
  const outer = tool({ execute: async (_, call) => textOf(await call.dispatch("inner", {})) });
  assertEquals(textOf((await run(session, [outer, inner])).outcome), "done");
  assertEquals(refused.size, 6);
  await checkPromises(session);
});
