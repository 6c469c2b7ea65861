/**
 * Tails: what a client is sent, what it is never sent, and what becomes of one that does not read.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { encodeRow, type SessionEvent } from "../../src/event/mod.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import { CorruptFrameError } from "../../src/errors.ts";
import { createSession } from "../../src/session/mod.ts";
import { defineTool } from "../../src/tool/mod.ts";
import type { LogReader } from "../../src/store/session_store.ts";
import {
  HEARTBEAT_MS,
  LIVE_FRAMES_MAX,
  RING_FRAMES_MAX,
  STALLED_HEARTBEATS_MAX,
  TAIL_PAGE_EVENTS,
} from "../../src/server/limits.ts";
import { liveFrame } from "../../src/server/sse.ts";
import { Tails } from "../../src/server/tails.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import {
  EventStream,
  eventually,
  payStep,
  payTool,
  scriptedModel,
  startServer,
  storeOf,
  type TestServer,
} from "./server_support.ts";

/** The rows of a session's log, as `export` gives them: without the header. */
async function rowsOf(server: TestServer, id: string): Promise<string[]> {
  const text = await (await server.ask(`/v1/sessions/${id}/export`)).text();
  return text.trimEnd().split("\n").slice(1);
}

Deno.test("GET events: a stream has every durable event once, under its seq, with the bytes of the log", async () => {
  const { tool } = payTool();
  const model = scriptedModel([[{ text: ["One ", "two."] }, ...payStep()], [{ text: "Done." }]]);
  await using server = await startServer({ model, tools: [tool], approvers: [() => "allowed-once"] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await using stream = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/inputs", { body: { text: "pay" }, status: 202 });
  await stream.event("turn/end");
  const rows = await rowsOf(server, "a");
  assertEquals(stream.durable.map(({ id }) => id), rows.map((_, seq) => seq));
  assertEquals(stream.durable.map(({ row }) => row), rows);

  // What is not durable has no id, and a chunk comes before the message it becomes.
  const live = stream.frames.filter(({ event }) => event === "live");
  assert(live.every(({ id }) => id === null));
  const chunk = stream.frames.findIndex(({ event, data }) => event === "live" && data.includes('"text-delta"'));
  const message = stream.frames.findIndex(({ id, data }) => id !== null && data.includes('"assistant/message"'));
  assert(chunk !== -1 && chunk < message, `chunk ${chunk}, message ${message}`);
});

Deno.test("GET events: Last-Event-ID resumes behind it at every seq, without a gap and without a repeat", async () => {
  await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await using first = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/inputs", { body: { text: "hello" }, status: 202 });
  await first.event("turn/end");
  const { durable } = first;
  for (const { id } of durable.slice(0, -1)) {
    await using stream = await EventStream.open(server, "a", id);
    await stream.event("turn/end");
    assertEquals(stream.durable, durable.slice(id + 1));
  }
  for (const wrong of ["-1", "1.5", "x", "1 ", "99999999999999999999"]) {
    const headers = { accept: "text/event-stream", "last-event-id": wrong };
    const response = await server.ask("/v1/sessions/a/events", { headers });
    assertEquals(response.status, wrong === "1 " ? 200 : 400, wrong);
    await response.body?.cancel();
  }
  // Nothing was ever sent under this id.
  const headers = { accept: "text/event-stream", "last-event-id": "4000" };
  const problem = await server.json("/v1/sessions/a/events", { headers, status: 409 });
  assertEquals([problem.code, problem.nextSeq], ["SEQUENCE_GAP", durable.length]);
});

Deno.test("field/B28: after a kill the client that comes back gets the closers as ordinary events", async () => {
  const root = await Deno.makeTempDir();
  try {
    let last: number;
    {
      const { tool } = payTool();
      await using server = await startServer({ model: scriptedModel([payStep()]), tools: [tool] }, { root });
      await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
      await using stream = await EventStream.open(server, "a");
      await server.json("/v1/sessions/a/inputs", { body: { text: "pay" }, status: 202 });
      await stream.event("approval/bound");
      last = stream.durable.at(-1)!.id;
      // As a kill leaves it: the question is open and nobody will write its end.
      await Deno.mkdir(`${root}/killed`);
      const copied = await new Deno.Command("cp", { args: ["-r", `${root}/tokens`, `${root}/killed`] }).output();
      assert(copied.success);
    }
    await using server = await startServer({}, { root: `${root}/killed` });
    await using stream = await EventStream.open(server, "a", last);
    const end = await stream.event("turn/end");
    assertEquals(end.data.reason, { kind: "interrupted" });
    assertEquals(stream.durable[0]?.id, last + 1);
    const types = stream.durable.map(({ row }) => JSON.parse(row).type);
    assertEquals(types, ["approval/decided", "tool/result", "step/end", "turn/end"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("field/G01, field/G02: of clients that leave and clients that never read nothing is left, and whoever writes does not wait", async () => {
  const look = defineTool({
    name: "look",
    description: "Looks.",
    parameters: { type: "object" },
    effect: "none",
    execute: () => "x".repeat(2000),
  });
  const steps = Array.from({ length: 200 }, () => [{ call: { name: "look", arguments: {} } }]);
  const model = scriptedModel([...steps, [{ text: "Done." }], [{ text: "Done." }]]);
  await using server = await startServer({ model, tools: [look] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const idle = await EventStream.open(server, "a");
  const never = await EventStream.open(server, "a");
  await using reading = await EventStream.open(server, "a");
  assertEquals(server.serving.counts().tails, 3);
  await idle[Symbol.asyncDispose]();
  await eventually(() => server.serving.counts().tails === 2);
  await server.json("/v1/sessions/a/inputs", { body: { text: "hello" }, status: 202 });
  await reading.event("turn/end");
  assert(reading.durable.length >= 1000, `${reading.durable.length} events`);
  await never[Symbol.asyncDispose]();
  await eventually(() => server.serving.counts().tails === 1);
  // The other one goes on.
  await server.json("/v1/sessions/a/inputs", { body: { text: "more" }, status: 202 });
  await reading.event("turn/end");
});

Deno.test("GET events: the stream of a session that is deleted ends, and says so", async () => {
  await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await using stream = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/inputs", { body: { text: "hello" }, status: 202 });
  await stream.event("turn/end");
  await server.json("/v1/sessions/a", { method: "DELETE", status: 204 });
  const closed = await stream.until(({ event }) => event === "closed");
  assertEquals(JSON.parse(closed.data).code, "deleted");
  assertEquals(await stream.next(), null);
});

/** A session in memory with so many events, and tails of it on a clock that stands still. */
async function tailed(events: number) {
  const clock = new FakeClock();
  const store = openMemoryStore({ simulate: "disk" });
  const session = await createSession({ store, id: "a" });
  const append = (count: number) => {
    for (let index = 0; index < count; index++) session.append({ type: "x/y", data: { index }, ignorable: true });
    return session.flush();
  };
  await append(events);
  const tails = new Tails({ store, clock });
  return {
    clock,
    session,
    tails,
    append,
    async [Symbol.asyncDispose]() {
      await session.close();
      await store.close();
    },
  };
}

function ids(text: string): number[] {
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

Deno.test("TailClient: one that is far behind is read to from the log, page by page, up to the newest", async () => {
  const count = RING_FRAMES_MAX + 3 * TAIL_PAGE_EVENTS;
  await using world = await tailed(count);
  const { tails, append } = world;
  const head = count + 1; // The barrier policy is an event too.
  const stream = await tails.open("a", { from: 5, wantsLive: false, onEnd() {} });
  await append(RING_FRAMES_MAX + 10);
  const reader = stream.getReader();
  let text = "";
  while (ids(text).at(-1) !== head + RING_FRAMES_MAX + 9) text += new TextDecoder().decode((await reader.read()).value);
  assertEquals(ids(text), Array.from({ length: head + RING_FRAMES_MAX + 5 }, (_, index) => index + 5));
  await reader.cancel();
  assertEquals(tails.count, 0);
});

Deno.test("TailClient: one that takes nothing gets no more than the bound of live frames, and is closed in the end", async () => {
  await using world = await tailed(3);
  const { tails, clock } = world;
  let ended = 0;
  const stream = await tails.open("a", { from: 0, wantsLive: true, onEnd: () => ended++ });
  for (let index = 0; index < 3 * LIVE_FRAMES_MAX; index++) tails.hear("a", { kind: "status", status: "running" });
  await clock.advance(HEARTBEAT_MS * STALLED_HEARTBEATS_MAX);
  assertEquals(ended, 0);
  const text = await new Response(stream).text();
  // The durable ones come with the next connection.
  assertMatch(text, /event: closed\ndata: \{"code":"slow"/);
  assert(text.split("event: live").length <= LIVE_FRAMES_MAX + 1);
  assertEquals(ended, 1);

  const dead = await tails.open("a", { from: 0, wantsLive: true, onEnd: () => ended++ });
  await clock.advance(HEARTBEAT_MS * (STALLED_HEARTBEATS_MAX + 1));
  assertEquals(ended, 2, "a client that does not even take the end is let go");
  assertEquals(tails.count, 0);
  await dead.cancel().catch(() => {});
});

Deno.test("TailClient: over the bound live frames are dropped, with a note, and what is durable still comes whole", async () => {
  await using world = await tailed(2);
  const { tails, append } = world;
  const stream = await tails.open("a", { from: 0, wantsLive: true, onEnd() {} });
  for (let index = 0; index < LIVE_FRAMES_MAX + 5; index++) tails.hear("a", { kind: "status", status: "running" });
  await append(2);
  const reader = stream.getReader();
  let text = "";
  while (ids(text).length < 5) text += new TextDecoder().decode((await reader.read()).value);
  assertStringIncludes(text, '{"kind":"dropped"}');
  assertEquals(ids(text), [0, 1, 2, 3, 4]);
  await reader.cancel();
});

Deno.test("TailClient: a live frame comes between the durable ones it happened between, and never behind its own", async () => {
  await using world = await tailed(2);
  const { tails, append, session } = world;
  const stream = await tails.open("a", { from: 0, wantsLive: true, onEnd() {} });
  tails.hear("a", { kind: "status", status: "running" });
  const event = session.append({ type: "x/y", data: { index: 2 }, ignorable: true });
  tails.hear("a", { kind: "event", event });
  await append(1);
  await settle();
  const reader = stream.getReader();
  let text = "";
  while (ids(text).length < 5) text += new TextDecoder().decode((await reader.read()).value);
  const order = [...text.matchAll(/^(?:id: (\d+)|event: (live))$/gm)].map(([, id, live]) => id ?? live);
  assertEquals(order, ["0", "1", "2", "live", "live", "3", "4"]);
  await reader.cancel();
});

Deno.test("TailClient: while nothing happens it says that it is alive", async () => {
  await using world = await tailed(1);
  const { tails, clock } = world;
  const stream = await tails.open("a", { from: 2, wantsLive: true, onEnd() {} });
  const reader = stream.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), "retry: 1000\n\n");
  for (let beat = 0; beat < 2 * STALLED_HEARTBEATS_MAX; beat++) {
    const next = reader.read();
    await clock.advance(HEARTBEAT_MS);
    assertEquals(new TextDecoder().decode((await next).value), ": alive\n\n");
  }
  await reader.cancel();
});

Deno.test("Tails: when the log cannot be followed any further its clients are told, and who comes later gets another reader", async () => {
  const damage = Promise.withResolvers<never>();
  damage.promise.catch(() => {});
  let opened = 0;
  const store = openMemoryStore({ simulate: "disk" });
  const copy = await createSession({ store, id: "a" });
  copy.append({ type: "x/y", data: {}, ignorable: true });
  await copy.close();
  const open = store.open.bind(store) as (id: string, mode: "read") => Promise<LogReader>;
  store.open = (async (id: string) => {
    const reader = await open(id, "read");
    const damaged = { [Symbol.asyncIterator]: () => ({ next: () => damage.promise }) };
    if (++opened === 1) reader.watch = () => damaged;
    return reader;
  }) as never;
  const tails = new Tails({ store, clock: new FakeClock() });
  const first = await tails.open("a", { from: 0, wantsLive: true, onEnd() {} });
  damage.reject(new CorruptFrameError("Cannot read a frame: its checksum is wrong"));
  assertMatch(await new Response(first).text(), /event: closed\ndata: \{"code":"CORRUPT_FRAME"/);
  const second = await tails.open("a", { from: 0, wantsLive: true, onEnd() {} });
  assertEquals([opened, tails.count], [2, 1]);
  const reader = second.getReader();
  let text = "";
  while (ids(text).length < 2) text += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  await store.close();
});

Deno.test("liveFrame() tells of an error nobody foresaw nothing, and of ours code and message", () => {
  const frame = new TextDecoder().decode(liveFrame({ kind: "error", error: new Error("the key is hunter2") }));
  assert(!frame.includes("hunter2"));
  assertStringIncludes(frame, '"code":"INTERNAL"');
});

Deno.test("a page of events holds the rows of the log", async () => {
  await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await using stream = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/inputs", { body: { text: "hello" }, status: 202 });
  await stream.event("turn/end");
  const rows = await rowsOf(server, "a");
  const page = await server.json("/v1/sessions/a/events?from=2&limit=3");
  assertEquals(page.events.map((event: SessionEvent) => encodeRow(event)), rows.slice(2, 5));
  assertEquals(page.nextFrom, 5);
  assertEquals((await server.json(`/v1/sessions/a/events?from=${rows.length}`)).events, []);
  await server.serving.shutdown(0);
  const store = await storeOf(server.root);
  const reader = await store.open("a", "read");
  assertEquals((await reader.read()).events.slice(0, rows.length).map(encodeRow), rows);
  await store.close();
});
