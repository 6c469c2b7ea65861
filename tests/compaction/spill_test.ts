import { assert, assertEquals, assertThrows } from "@std/assert";
import { type AgentOptions, createAgent, scripted, type ScriptStep } from "../../src/agent/mod.ts";
import { checkedSpillOptions, INLINE_BYTES_MAX, spillInto, spillNotice } from "../../src/compaction/mod.ts";
import { previewOf, utf8Length } from "../../src/compaction/spill_preview.ts";
import { MemoryStorage, openMemoryStore } from "../../src/entry/memory.ts";
import { openRawLogs } from "../../src/entry/raw_logs.ts";
import { type Block, type EventData, isEvent, type SessionEvent } from "../../src/event/mod.ts";
import { forkSession, openSession, type Session } from "../../src/session/mod.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { defineTool, type Tool } from "../../src/tool/mod.ts";
import { newHooks, openStep, run, tool } from "../tool/tool_support.ts";

const MiB = 1024 * 1024;

/** A tool without an effect that gives back what a test says. */
function gives(output: () => unknown, name = "look"): Tool {
  return defineTool({ name, description: "", parameters: {}, effect: "none", execute: () => output() as string });
}

/** An agent that makes these calls, one per step, and then says that it is done. */
async function agentOn(
  store: SessionStore,
  options: Partial<AgentOptions> & { readonly steps: readonly ScriptStep[] },
) {
  const { steps, ...rest } = options;
  const model = scripted([...steps, [{ text: "done" }]]);
  const session = await createAgent({ store, model, ...rest }).create({ id: "s1" });
  return { session, model };
}

const CALL: ScriptStep = [{ call: { id: "c1", name: "look", arguments: {} } }];

async function eventsOf(session: Session): Promise<readonly SessionEvent[]> {
  return (await session.history({ limit: 10_000 })).events;
}

function spilledIn(events: readonly SessionEvent[]): EventData["result/spilled"][] {
  return events.flatMap((event) => isEvent(event, "result/spilled") ? [event.data] : []);
}

/** The texts of the results in a log, nested ones left out. */
function resultsIn(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (!isEvent(event, "tool/result") || event.surfaceOp !== "append") return [];
    const [block] = event.data.message.content;
    return block?.type === "tool-result" ? [textOf(block.content)] : [];
  });
}

function textOf(content: readonly Block[]): string {
  return content.map((block) => block.type === "text" ? block.text : `<${block.type}>`).join("|");
}

Deno.test("compaction/C-82: a result over the cap is kept whole in a blob, and log and model get a preview within the cap", async () => {
  const whole = `begin ${"middle ".repeat(700)} end`;
  const { session } = await openStep();
  const counted = tool({
    output: { schema: { type: "string" }, render: (_args: unknown, value: unknown) => String(value) },
    execute: () => whole,
  } as never);
  const end = await run(session, [counted], {}, { keepContent: spillInto(session, { maxInlineBytes: 800 }) });
  const shown = textOf(end.outcome.content);
  assert(utf8Length(shown) <= 800 && utf8Length(shown) > 700, String(utf8Length(shown)));
  assert(shown.startsWith("begin middle") && /\n\n\[\d+ of \d+ bytes are left out here; [^\n]+\]$/.test(shown), shown);
  assertEquals(end.outcome.value, whole);
  const events = await eventsOf(session);
  const [spilled] = spilledIn(events);
  assertEquals(spilled?.sizeBytes, whole.length);
  assert(shown.includes(`blob:${spilled!.digest.slice(0, 16)}`));
  assertEquals(new TextDecoder().decode(await session.getBlob(spilled!.digest)), whole);
  const types = events.map(({ type }) => type);
  assert(types.indexOf("result/spilled") < types.indexOf("tool/result"));
});

Deno.test("compaction/C-83: what is not accepted, nested, of a reading tool, no text alone, or within the cap stays as it is", async () => {
  const long = "x".repeat(2000);
  const image: Block = { type: "image", attachment: { attachmentId: "i" } };
  const blocked = newHooks();
  blocked.on("tools/post-execute", () => ({ kind: "block", feedback: long }));
  const revalued = newHooks();
  revalued.on("tools/post-execute", () => ({ kind: "accept", value: long }));
  const valued = {
    output: { schema: {}, render: (_: unknown, value: unknown) => String(value) },
    execute: () => "short",
  } as never;
  const read = defineTool({ name: "read", description: "", parameters: {}, effect: "none", execute: () => long });
  const cases: readonly (readonly [string, Tool, object])[] = [
    ["blocked", tool({ execute: () => long }), { hooks: blocked }],
    ["value", tool(valued), { hooks: revalued }],
    ["image", tool({ execute: () => ({ content: [{ type: "text", text: long }, image] }) }), {}],
    ["at the cap", tool({ execute: () => "x".repeat(800) }), {}],
    ["read", read, {}],
  ];
  for (const [what, act, context] of cases) {
    const { session } = await openStep();
    const keepContent = spillInto(session, { maxInlineBytes: 800 });
    const { outcome } = await run(session, [act], { name: act.name }, { keepContent, ...context });
    assert(!textOf(outcome.content).includes("left out here"), what);
    assertEquals(spilledIn(await eventsOf(session)), [], what);
  }
  const { session } = await openStep();
  const keepContent = spillInto(session, { maxInlineBytes: 800 });
  let inner = "";
  const outer = tool({
    execute: async (
      _args: unknown,
      call: { dispatch: (name: string, args: unknown) => Promise<{ content: readonly Block[] }> },
    ) => {
      inner = textOf((await call.dispatch("inner", {})).content);
      return "ok";
    },
  } as never);
  await run(session, [outer, gives(() => long, "inner")], {}, { keepContent });
  assertEquals(inner, long, "the body that made the call gets it whole");
  const events = await eventsOf(session);
  const copy = events.find((event) => event.type === "tool/ptc-dispatch")!;
  assert(JSON.stringify(copy.data).includes("left out here"), "the copy in the log is capped");
  assertEquals(spilledIn(events).length, 1);
});

Deno.test("compaction/C-85: where not even the notice fits, the result stays inline, and the blob is nobody's", async () => {
  const { session } = await openStep();
  const long = "x".repeat(2000);
  const { outcome } = await run(session, [tool({ execute: () => long })], {}, {
    keepContent: spillInto(session, { maxInlineBytes: 20 }),
  });
  assertEquals(textOf(outcome.content), long);
  assertEquals(spilledIn(await eventsOf(session)), []);
});

Deno.test("compaction/C-86: a preview is cut between characters, and counts exactly what it leaves out", () => {
  const alphabet = ["a", "ä", "漢", "😀", "e\u0301"];
  for (let cap = 60; cap < 160; cap++) {
    for (const character of alphabet) {
      const text = `${character}|`.repeat(200);
      const sizeBytes = utf8Length(text);
      assertEquals(sizeBytes, new TextEncoder().encode(text).length);
      let omitted = -1;
      const notice = (bytes: number) => `(${omitted = bytes} left out)`;
      const preview = previewOf(text, sizeBytes, { sizeBytesMax: cap, notice })!;
      assert(utf8Length(preview) <= cap, `${utf8Length(preview)} bytes, the cap is ${cap}`);
      assert(preview.isWellFormed() && !preview.includes("\ufffd"));
      const [head, rest] = preview.split("\n[…]\n") as [string, string];
      const tail = rest.slice(0, rest.lastIndexOf("\n\n"));
      assert(text.startsWith(head) && text.endsWith(tail));
      assertEquals(omitted, sizeBytes - utf8Length(head) - utf8Length(tail));
    }
  }
  assertEquals(previewOf("x".repeat(100), 100, { sizeBytesMax: 10, notice: () => "much too long" }), null);
  assert(spillNotice(1, 2, null).includes("could not be kept"));
  for (const maxInlineBytes of [-1, 1.5, NaN]) assertThrows(() => checkedSpillOptions({ maxInlineBytes }), RangeError);
  assertEquals(checkedSpillOptions({}).maxInlineBytes, INLINE_BYTES_MAX);
});

Deno.test("field/F05: a result of 42 MiB becomes a blob that is durable before its event, and a line under 64 KiB", async () => {
  const whole = `${"0123456789abcdef".repeat(42 * MiB / 16)}`;
  const storage = new MemoryStorage({ simulate: "disk" });
  await using store = openMemoryStore({ storage });
  const { session } = await agentOn(store, { steps: [CALL], tools: [gives(() => whole)] });
  const durableBlobs: boolean[] = [];
  session.session.subscribe((event) => {
    if (!isEvent(event, "result/spilled")) return;
    // Published is synced, whole and under its name.
    const isBlob = (name: string | null) => name?.endsWith(`blobs/${event.data.digest}`) === true;
    durableBlobs.push(storage.operations.some(({ kind, name }) => kind === "publish" && isBlob(name)));
  });
  assertEquals((await session.send("go")).reason.kind, "completed");
  assertEquals(durableBlobs, [true]);
  const events = await eventsOf(session.session);
  for (const event of events) assert(JSON.stringify(event).length < 64 * 1024, event.type);
  const [{ digest, sizeBytes }] = spilledIn(events) as [EventData["result/spilled"]];
  assertEquals([sizeBytes, (await session.session.getBlob(digest)).length], [whole.length, whole.length]);
  await session.close();
});

Deno.test("the limit is configurable, and false keeps every result in the log", async () => {
  for (const [spill, count] of [[{ maxInlineBytes: 400 }, 1], [{}, 0], [false, 0]] as const) {
    await using store = openMemoryStore({ simulate: "disk" });
    const { session } = await agentOn(store, { steps: [CALL], tools: [gives(() => "y".repeat(1000))], spill });
    await session.send("go");
    assertEquals(spilledIn(await eventsOf(session.session)).length, count);
    await session.close();
  }
});

Deno.test("a model reads any part of a spilled result with read_result, which it is offered from then on", async () => {
  const whole = Array.from({ length: 3000 }, (_, n) => `line ${n} 漢😀`).join("\n");
  await using store = openMemoryStore({ simulate: "disk" });
  const digest = await sha256(whole);
  const locator = `blob:${digest.slice(0, 16)}`;
  const reads = [0, 9000, 18_000].map((from): ScriptStep => [{
    call: { name: "read_result", arguments: { locator, from, limit: 9000 } },
  }]);
  const { session, model } = await agentOn(store, {
    steps: [CALL, ...reads],
    tools: [gives(() => whole)],
    spill: { maxInlineBytes: 4000 },
  });
  await session.send("go");
  const [preview, ...parts] = resultsIn(await eventsOf(session.session));
  assert(preview!.includes(locator));
  const joined = parts.map((part) => part.slice(0, part.lastIndexOf("\n\n["))).join("");
  assert(whole.startsWith(joined) && joined.length >= 27_000 - 1, String(joined.length));
  assert(parts.every((part) => part.isWellFormed()));
  const offered = model.requests.map(({ header }) => header.tools?.map(({ name }) => name) ?? []);
  assertEquals(offered.slice(0, 2), [["look"], ["look", "read_result"]]);
  await session.close();
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

Deno.test("a locator of another session, or of nothing, finds nothing", async () => {
  await using store = openMemoryStore({ simulate: "disk" });
  const secret = "secret ".repeat(1000);
  const options = { tools: [gives(() => secret)], spill: { maxInlineBytes: 400 } };
  const one = await agentOn(store, { steps: [CALL], ...options });
  await one.session.send("go");
  const [{ digest }] = spilledIn(await eventsOf(one.session.session)) as [EventData["result/spilled"]];
  await one.session.close();
  const tries = [
    `blob:${digest}`,
    `blob:${digest.slice(0, 16)}`,
    "result:0",
    "result:999",
    "blob:",
    "../s1",
    "result:-1",
  ];
  const steps = tries.map((locator, n): ScriptStep => [{
    call: { id: `t${n}`, name: "read_result", arguments: { locator } },
  }]);
  const two = await createAgent({ store, model: scripted([...steps, [{ text: "done" }]]), ...options }).create({
    id: "s2",
  });
  await two.send("go");
  const results = resultsIn(await eventsOf(two.session));
  assertEquals(results.length, tries.length);
  for (const [n, result] of results.entries()) {
    assert(result.startsWith("Error: ") && !result.includes("secret"), `${tries[n]}: ${result.slice(0, 80)}`);
  }
  await two.close();
});

Deno.test("a fork has copies of the blobs its events name, outlives its parent, and dies alone", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  await using store = openMemoryStore({ storage });
  const whole = "whole ".repeat(1000);
  const { session } = await agentOn(store, {
    steps: [CALL],
    tools: [gives(() => whole)],
    spill: { maxInlineBytes: 400 },
  });
  await session.send("go");
  const [{ digest }] = spilledIn(await eventsOf(session.session)) as [EventData["result/spilled"]];
  await session.close();
  for (const [id, at] of [["f1", undefined], ["f2", undefined]] as const) {
    const { session: fork } = await forkSession({ store, sourceId: "s1", id, at });
    assertEquals(new TextDecoder().decode(await fork.getBlob(digest)), whole);
    assertEquals(fork.folds.spilled.texts.length, 1);
    await fork.close();
  }
  await store.delete("f1");
  assertEquals(await Promise.all(["s1", "f1", "f2"].map((id) => hasBlob(storage, id, digest))), [true, false, true]);
  await store.delete("s1");
  assert(!await hasBlob(storage, "s1", digest));
  const { session: fork } = await openSession({ store, id: "f2" });
  assertEquals(new TextDecoder().decode(await fork.getBlob(digest)), whole);
  await fork.close();
});

async function hasBlob(storage: MemoryStorage, id: string, digest: string): Promise<boolean> {
  return await storage.stat(`_no-cwd/${id}/blobs/${digest}`) !== null;
}

Deno.test("a log goes out with its blobs as one archive, and comes in again with them", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  await using store = openMemoryStore({ storage });
  const whole = "whole ".repeat(1000);
  const { session } = await agentOn(store, {
    steps: [CALL],
    tools: [gives(() => whole)],
    spill: { maxInlineBytes: 400 },
  });
  await session.send("go");
  const events = await eventsOf(session.session);
  const [{ digest }] = spilledIn(events) as [EventData["result/spilled"]];
  await session.close();
  const { name, bytes } = await openRawLogs(storage).read("s1");
  assertEquals(name, "session.zip");

  const elsewhere = new MemoryStorage({ simulate: "disk" });
  const logs = openRawLogs(elsewhere);
  assertEquals(await logs.take("mail.zip", bytes), {
    id: "s1",
    fault: null,
    spilled: { count: 1, missing: [], damaged: [] },
  });
  assertEquals(await logs.isAsItCame("s1"), true);
  await using other = openMemoryStore({ storage: elsewhere });
  const log = await other.open("s1", "read");
  assertEquals((await log.read({ limit: 10_000 })).events, events);
  assertEquals(new TextDecoder().decode(await log.getBlob(digest)), whole);
  await log.close();
  assertEquals((await openRawLogs(elsewhere).read("s1")).bytes, bytes);

  for (let n = 0; n < 200; n++) {
    const damaged = bytes.slice();
    damaged[Math.floor(bytes.length * n / 200)]! ^= 0x55;
    const target = new MemoryStorage({ simulate: "disk" });
    const outcome = await openRawLogs(target).take("mail.zip", damaged).then(() => "taken", (error) => error.code);
    assert(["taken", "CORRUPT_LOG", "UNSUPPORTED_FORMAT", "CORRUPT_FRAME"].includes(outcome), String(outcome));
    if (outcome !== "taken") assertEquals(await target.stat("_no-cwd/s1/session.v3.jsonl.zstd"), null);
  }
});

Deno.test("where the medium takes no blob, a result stays whole, and one that no log takes is cut and says so", async () => {
  for (const [size, isCut] of [[2000, false], [9 * MiB, true]] as const) {
    const { session } = await openStep();
    session.putBlob = () => Promise.reject(new Error("no room"));
    const { outcome } = await run(session, [tool({ execute: () => "x".repeat(size) })], {}, {
      keepContent: spillInto(session, { maxInlineBytes: 800 }),
    });
    const shown = textOf(outcome.content);
    assertEquals([outcome.isError, shown.includes("could not be kept")], [false, isCut]);
    if (!isCut) assertEquals(shown.length, size);
    assertEquals(spilledIn(await eventsOf(session)), []);
  }
});
