/** What a page can ask besides a conversation: the list and its loss, files in and out, crashes, nonsense. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { defineTool, StorageLostError } from "../../mod.ts";
import { MemoryStorage, openMemoryStore } from "../../src/entry/memory.ts";
import { readZip } from "../../src/journal/mod.ts";
import { KNOWN_KEY } from "../../web/worker/known_sessions.ts";
import { FakeBrowser, type FakeTab } from "./fake_browser.ts";

/** A tab with a session in which a person said hello. */
async function withSession(browser: FakeBrowser, text = "hello"): Promise<{ tab: FakeTab; id: string }> {
  const tab = await browser.open("one");
  const { id } = await tab.client.call("create", {});
  await tab.client.call("send", { id, inputId: text, text });
  await browser.advance(5_000);
  return { tab, id };
}

function problems(tab: FakeTab) {
  return tab.news.flatMap((news) => news.kind === "problem" ? [news.error] : []);
}

Deno.test("serveWorker() answers every request once, also nonsense, with a code", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  // deno-lint-ignore no-explicit-any -- what a page could ask by mistake has no type
  const call = tab.client.call as (verb: string, ask: unknown) => Promise<any>;
  for (
    const [verb, ask] of [
      ["no such verb", {}],
      ["toString", {}],
      ["attach", null],
      ["attach", { id: 7 }],
      ["send", { id: "a", inputId: "b" }],
      ["answer", { id: "a", question: "b", decision: "perhaps" }],
      ["state", { state: "asleep" }],
      ["history", { id: "a", from: -1, limit: 10 }],
      ["import", { name: "x", bytes: [1, 2] }],
    ] as const
  ) {
    const error = await call(verb, ask).catch((error) => error);
    assert(["TypeError", "RangeError"].includes(error.code), `${verb}: ${error.code}`);
  }
  assertEquals((await call("surface", { id: "a" }).catch((error) => error)).code, "NOT_FOUND");
});

Deno.test("field/E10, field/E11: without a medium, hello says the cause, and memory is used only when it is accepted", async () => {
  const openStore = ({ volatile }: { volatile: boolean }) => {
    if (volatile) return Promise.resolve(openMemoryStore({ storage: new MemoryStorage() }));
    return Promise.reject(new StorageLostError("Cannot open the origin private file system: the browser refuses it"));
  };
  let done = 0;
  const pay = defineTool({
    name: "pay",
    description: "",
    parameters: { type: "object" },
    effect: "keyed",
    permission: () => ({ decision: "allow" }),
    execute: () => `${done++}`,
  });
  const browser = new FakeBrowser({ openStore, tools: [pay] });
  const error = await browser.open("one").catch((error) => error);
  assertEquals(error.code, "STORAGE_LOST");
  assertMatch(error.message, /the browser refuses it/);
  // The same worker, when the person accepts that nothing is kept.
  const tab = browser.tabs[0]!;
  const { traits } = await tab.client.call("hello", { tabLabel: "one", state: "visible", volatile: true });
  assertEquals([traits.sync, traits.persistence], ["none", "volatile"]);
  const { id } = await tab.client.call("create", {});
  await tab.client.call("send", { id, inputId: "i", text: "pay 10 to alice" });
  await browser.advance(5_000);
  assertEquals(done, 1);
  // What lies on the medium that cannot be used is not lost.
  browser.values.set(KNOWN_KEY, { sessionIds: ["on the disk"], isPersisted: null });
  assertEquals((await tab.client.call("list", {})).map((row) => row.id), [id]);
  assertEquals(tab.news.some((news) => news.kind === "persistence"), false);
});

Deno.test("field/E11: a medium that does not answer is given up on within two seconds", async () => {
  const browser = new FakeBrowser({ openStore: () => new Promise(() => {}) });
  const opening = browser.open("one").catch((error) => error);
  await browser.advance(2_000);
  const error = await opening;
  assertEquals(error.code, "STORAGE_LOST");
  assertMatch(error.message, /did not answer/);
});

Deno.test("the loss of all sessions is an error with their ids, not an empty list, until the person starts over", async () => {
  const browser = new FakeBrowser();
  const { tab, id } = await withSession(browser);
  const second = await withSession(browser);
  await tab.client.call("list", {});
  tab.kill();
  second.tab.kill();
  await browser.clearFiles();
  const later = await browser.open("later");
  const error = await later.client.call("list", {}).catch((error) => error);
  assertEquals(error.code, "STORAGE_LOST");
  assertEquals([...error.sessionIds].sort(), [id, second.id].sort());

  const { sessionIds } = await later.client.call("forgetLost", {});
  assertEquals([...sessionIds].sort(), [id, second.id].sort());
  assertEquals(await later.client.call("list", {}), []);
  const fresh = await later.client.call("create", {});
  await later.client.call("send", { id: fresh.id, inputId: "i", text: "hello" });
  assertEquals((await later.client.call("list", {})).map((row) => row.id), [fresh.id]);
});

Deno.test("the loss of one session is told once, beside the list of the others", async () => {
  const browser = new FakeBrowser();
  const { tab, id } = await withSession(browser);
  const other = await withSession(browser);
  other.tab.kill();
  await browser.clearFiles(other.id);
  assertEquals((await tab.client.call("list", {})).map((row) => row.id), [id]);
  await tab.client.call("list", {});
  assertEquals(problems(tab).map(({ code, sessionIds }) => [code, sessionIds]), [["STORAGE_LOST", [other.id]]]);
});

Deno.test("a session that is deleted is no loss, and every tab hears of it", async () => {
  const browser = new FakeBrowser();
  const { tab, id } = await withSession(browser);
  const two = await browser.open("two");
  assertEquals((await two.client.call("list", {})).length, 1);
  const refused = await two.client.call("delete", { id }).catch((error) => error);
  assertEquals(refused.code, "LOCK_HELD");
  await tab.client.call("delete", { id });
  await browser.advance(1_000);
  assertEquals(await two.client.call("list", {}), []);
  const told = two.news.findLast((news) => news.kind === "sessions");
  assertEquals(told?.kind === "sessions" && told.rows, []);
  assertEquals(problems(tab), []);
});

Deno.test("the browser is asked to persist when the first session is written, once, and every tab hears the answer", async () => {
  const browser = new FakeBrowser();
  const { tab } = await withSession(browser);
  const told = (of: FakeTab) => of.news.flatMap((news) => news.kind === "persistence" ? [news.wasAsked] : []);
  assertEquals(told(tab), [false]);
  const two = await browser.open("two");
  await tab.client.call("persisted", { isPersisted: true });
  await browser.advance(100);
  assertEquals([told(tab), told(two)], [[false, true], [true]]);
  const { id } = await tab.client.call("create", {});
  await tab.client.call("send", { id, inputId: "i", text: "hello" });
  await browser.advance(1_000);
  assertEquals(told(tab), [false, true]);
});

Deno.test("an exported log is the file, and comes back byte for byte", async () => {
  const browser = new FakeBrowser();
  const { tab, id } = await withSession(browser);
  const { name, bytes } = await tab.client.call("export", { id });
  assertEquals(name, "session.v3.jsonl.zstd");
  const elsewhere = new FakeBrowser();
  const other = await elsewhere.open("other");
  const taken = { name: "copy.zstd", bytes: new Uint8Array(bytes) };
  assertEquals(await other.client.call("import", taken), {
    id,
    fault: null,
    spilled: { count: 0, missing: [], damaged: [] },
  });
  assertEquals((await other.client.call("export", { id })).bytes, bytes);
  assertEquals((await other.client.call("import", taken).catch((error) => error)).code, "ALREADY_EXISTS");
  const { events } = await tab.client.call("history", { id, from: 0, limit: 1000 });
  assertEquals((await other.client.call("history", { id, from: 0, limit: 1000 })).events, events);
});

Deno.test("an exported session with long results is an archive of both; a bare log comes back and says what did not", async () => {
  const text = "long 漢 ".repeat(10_000);
  const list = defineTool({
    name: "list_files",
    description: "",
    parameters: { type: "object" },
    effect: "none",
    execute: () => text,
  });
  const browser = new FakeBrowser({ tools: [list] });
  const { tab, id } = await withSession(browser, "list the files");
  const { name, bytes, spilled } = await tab.client.call("export", { id });
  assertEquals([name, spilled], ["session.zip", { count: 1, missing: [], damaged: [] }]);
  const members = await readZip(name, bytes);
  assertEquals(members.map(({ bytes }) => bytes.length).at(-1), new TextEncoder().encode(text).length);

  const other = await new FakeBrowser().open("other");
  const taken = await other.client.call("import", { name, bytes: new Uint8Array(bytes) });
  assertEquals(taken, { id, fault: null, spilled: { count: 1, missing: [], damaged: [] } });
  assertEquals((await other.client.call("export", { id })).bytes, bytes);
  const third = await new FakeBrowser().open("third");
  const bare = await third.client.call("import", { name: members[0]!.name, bytes: members[0]!.bytes });
  assertEquals(bare.spilled.missing.map(({ code }) => code), ["NOT_FOUND"]);
  const again = await third.client.call("export", { id });
  assertEquals([again.name, again.spilled.missing.length], ["session.v3.jsonl.zstd", 1]);
});

Deno.test("a file that is no log is refused with a code; a damaged log is kept, and shown up to its damage", async () => {
  const browser = new FakeBrowser();
  const { tab, id } = await withSession(browser);
  const { bytes } = await tab.client.call("export", { id });
  const { events } = await tab.client.call("history", { id, from: 0, limit: 1000 });
  const elsewhere = new FakeBrowser();
  const other = await elsewhere.open("other");
  const nonsense = new TextEncoder().encode("hello");
  const refused = await other.client.call("import", { name: "x", bytes: nonsense }).catch((error) => error);
  assertMatch(refused.code, /^(CORRUPT_LOG|CORRUPT_FRAME)$/);
  assertEquals(await other.client.call("list", {}), []);

  const damaged = new Uint8Array(bytes);
  damaged[Math.floor(damaged.length / 2)]! ^= 0xff;
  const { fault } = await other.client.call("import", { name: "x", bytes: damaged });
  assert(fault !== null);
  const view = await other.client.call("attach", { id });
  assertEquals(view.role, { kind: "read-only", fault });
  const kept = (await other.client.call("history", { id, from: 0, limit: 1000 })).events;
  assertEquals(kept, events.slice(0, fault.seq!));
  const error = await other.client.call("send", { id, inputId: "i", text: "x" }).catch((error) => error);
  assertEquals(error.code, fault.code);
});

Deno.test("an imported log with an open turn is closed by the conservative rules, and says where it came from", async () => {
  const pay = defineTool({
    name: "pay",
    description: "",
    parameters: { type: "object" },
    effect: "keyed",
    execute: () => "",
  });
  const browser = new FakeBrowser({ tools: [pay] });
  const { tab, id } = await withSession(browser, "pay 10 to alice");
  assertEquals(tab.view(id).questions.length, 1);
  const { bytes } = await tab.client.call("export", { id });
  // Where it was written, the missing marker proves that nothing ran.
  tab.kill();
  const again = await browser.open("again");
  await again.client.call("attach", { id });
  await browser.advance(1_000);
  assertEquals(again.view(id).repaired?.calls.map((call) => call.class), ["not_dispatched"]);

  const elsewhere = new FakeBrowser({ tools: [pay] });
  const other = await elsewhere.open("other");
  await other.client.call("import", { name: "from.zstd", bytes: new Uint8Array(bytes) });
  // Looking at it changes nothing.
  const looked = await other.client.call("attach", { id });
  await elsewhere.advance(5_000);
  assertEquals(looked.role, { kind: "released" });
  assertEquals(other.role(id), "released");
  assertEquals((await other.client.call("export", { id })).bytes, bytes);
  await other.client.call("send", { id, inputId: "go on", text: "dance" });
  await elsewhere.advance(5_000);
  assertEquals(other.role(id), "owner");
  assertEquals(other.view(id).repaired?.calls.map((call) => call.class), ["outcome_unknown"]);
  assertEquals(other.view(id).unknowns.map(({ toolName, effectKey }) => [toolName, effectKey]), [["pay", null]]);
  const { events } = await other.client.call("history", { id, from: 0, limit: 1000 });
  const salvaged = events.filter(({ type }) => type === "log/salvaged");
  assertEquals(salvaged.map(({ data }) => (data as { source: { name: string } }).source.name), ["from.zstd"]);

  // Once is enough.
  await other.client.call("detach", { id });
  await other.client.call("attach", { id });
  await elsewhere.advance(1_000);
  const later = (await other.client.call("history", { id, from: 0, limit: 1000 })).events;
  assertEquals(later.filter(({ type }) => type === "log/salvaged").length, 1);
});

Deno.test("a crash is where it was asked for, and the next worker finds what it left", async () => {
  for (const [at, paidBefore] of [["before-effect", 0], ["after-effect", 1]] as const) {
    let paid = 0;
    const pay = defineTool({
      name: "pay",
      description: "",
      parameters: { type: "object" },
      effect: "keyed",
      permission: () => ({ decision: "allow" }),
      execute: () => `${++paid}`,
    });
    const browser = new FakeBrowser({ tools: [pay] });
    const { tab, id } = await withSession(browser);
    await tab.client.call("crash", { at });
    await tab.client.call("send", { id, inputId: "pay", text: "pay 10 to alice" });
    await browser.advance(5_000);
    assertEquals((await tab.client.died).code, "WORKER_DIED");
    assertEquals(tab.news.at(-1), { kind: "crash", at });
    assertEquals(paid, paidBefore);
    const error = await tab.client.call("list", {}).catch((error) => error);
    assertEquals(error.code, "WORKER_DIED");

    const later = await browser.open("later");
    await later.client.call("attach", { id });
    await browser.advance(1_000);
    assertEquals(later.view(id).repaired?.calls.map((call) => call.class), ["outcome_unknown"]);
    const [unknown] = later.view(id).unknowns;
    assertMatch(unknown!.effectKey!, /^[0-9a-f]{32}$/);
    const { events } = await later.client.call("history", { id, from: 0, limit: 1000 });
    const seqs = unknown!.proofs.map(({ seq }) => seq);
    assertEquals(seqs.map((seq) => events[seq]!.type), ["tool/call", "effect/dispatched", "tool/result"]);
    assertMatch(unknown!.reason, /may have taken effect/);
    const places = await later.client.call("places", { id, seqs });
    assertEquals(places.map(({ seq }) => seq), seqs);
    await later.client.call("settle", { id, callSeq: unknown!.callSeq, verdict: "happened", note: "seen" });
    await browser.advance(1_000);
    assertEquals(later.view(id).unknowns, []);
  }
});

Deno.test("crash now is never answered, and what waits is rejected", async () => {
  const browser = new FakeBrowser();
  const { tab } = await withSession(browser);
  const error = await tab.client.call("crash", { at: "now" }).catch((error) => error);
  assertEquals(error.code, "WORKER_DIED");
});

Deno.test("field/E09: a log that vanishes under its owner is told, and trying again ends", async () => {
  const browser = new FakeBrowser();
  const { tab, id } = await withSession(browser);
  await browser.clearFiles();
  const error = await tab.client.call("send", { id, inputId: "more", text: "more" }).catch((error) => error);
  assert(typeof error.code === "string");
  await browser.advance(30_000);
  assertEquals(tab.view(id).role.kind, "read-only");
  assert(problems(tab).length > 0);
  assertEquals(browser.heldLocks, []);
});
