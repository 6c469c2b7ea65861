/** Several tabs, one session. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createSession, defineTool, openSession, type Tool } from "../../mod.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import type { WorkerError } from "../../web/client.ts";
import { FakeBrowser, type FakeTab } from "./fake_browser.ts";
import { settle } from "../support/fake_clock.ts";

/** A tool whose body waits until the test lets it end, and does not care about being cancelled. */
function stubbornTool(): { readonly tool: Tool; readonly end: () => void; readonly began: () => number } {
  let count = 0;
  const ended = Promise.withResolvers<void>();
  const tool = defineTool({
    name: "pay",
    description: "",
    parameters: { type: "object" },
    effect: "none",
    execute: async () => {
      count++;
      await ended.promise;
      return "done";
    },
  });
  return { tool, end: ended.resolve, began: () => count };
}

/** How often the log holds a message with this text. */
async function timesHeard(tab: FakeTab, id: string, text: string): Promise<number> {
  const { events } = await tab.client.call("history", { id, from: 0, limit: 1000 });
  return events.filter(({ type, data }) => type === "user/message" && JSON.stringify(data).includes(text)).length;
}

/** Two tabs: the first has said hello and is idle. */
async function twoTabs(browser: FakeBrowser, second: "visible" | "hidden" = "visible") {
  const one = await browser.open("one");
  const { id } = await one.client.call("create", {});
  await one.client.call("send", { id, inputId: "first", text: "hello" });
  await browser.advance(5_000);
  const two = await browser.open("two", second);
  const view = await two.client.call("attach", { id });
  await browser.advance(1_000);
  return { one, two, id, view };
}

Deno.test("field/E17: the second tab is a live viewer, and its input runs once, at the owner", async () => {
  const browser = new FakeBrowser();
  const { one, two, id, view } = await twoTabs(browser);
  assertEquals(view.role.kind, "viewer");
  assertEquals(two.view(id).role, { kind: "viewer", ownerLabel: "one" });
  assertEquals(one.role(id), "owner");

  const sent = { id, inputId: "typed in two", text: "say it once" };
  const { seq } = await two.client.call("send", sent);
  await browser.advance(5_000);
  assertEquals(await timesHeard(one, id, "say it once"), 1);
  assertEquals((await two.client.call("send", sent)).seq, seq);
  assertEquals((await one.client.call("send", sent)).seq, seq);
  await browser.advance(5_000);
  assertEquals(await timesHeard(two, id, "say it once"), 1);

  assert(two.news.some((news) => news.kind === "chunk"));
  const { events } = await one.client.call("history", { id, from: 0, limit: 1000 });
  const seen = two.events(id);
  assertEquals(seen, events.slice(view.nextSeq));
  assertEquals(two.view(id).status, "idle");
  assertEquals(two.view(id).durability.durableSeq, events.at(-1)!.seq);
});

Deno.test("field/E03: when the owner dies a viewer takes over, and what waited is done once", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser);
  one.freeze(); // It hears nothing any more.
  const sending = two.client.call("send", { id, inputId: "late", text: "after the crash" });
  await browser.advance(500);
  one.kill();
  await sending;
  await browser.advance(5_000);
  assertEquals(two.role(id), "owner");
  assertEquals(await timesHeard(two, id, "after the crash"), 1);
});

Deno.test("a viewer forgets what the dead owner had not made durable", async () => {
  const tool = stubbornTool();
  const browser = new FakeBrowser({ tools: [tool.tool] });
  const { one, two, id, view } = await twoTabs(browser);
  await one.client.call("send", { id, inputId: "x", text: "dance" });
  // Committed and shown, and not yet written: the window of the write-behind is open.
  for (let ms = 0; one.events(id).length === two.events(id).length && ms < 100; ms++) await settle();
  await browser.advance(30);
  const before = two.events(id).length;
  one.kill();
  await browser.advance(3_000);
  assertEquals(two.role(id), "owner");
  const { events } = await two.client.call("history", { id, from: 0, limit: 1000 });
  assertEquals(two.events(id).slice(0, events.length - view.nextSeq), events.slice(view.nextSeq));
  assert(before > 0);
  assert(two.view(id).repaired !== null);
});

Deno.test("an answer from any tab counts, the first one, and the other tabs see it", async () => {
  const paid: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "",
    parameters: { type: "object" },
    effect: "keyed",
    execute: (_args, { effectKey }) => `${paid.push(effectKey)} paid`,
  });
  const browser = new FakeBrowser({ tools: [pay] });
  const { one, two, id } = await twoTabs(browser);
  await two.client.call("send", { id, inputId: "pay", text: "pay 10 to alice" });
  await browser.advance(3_000);
  const [question] = two.view(id).questions;
  assertEquals(question, one.view(id).questions[0]);
  const answer = { id, question: question!.question };
  assertEquals(await two.client.call("answer", { ...answer, decision: "allowed-once" }), { isFirst: true });
  assertEquals(await one.client.call("answer", { ...answer, decision: "allowed-once" }), { isFirst: false });
  const error = await two.client.call("answer", { ...answer, decision: "rejected" }).catch((error) => error);
  assertEquals(error.code, "ALREADY_EXISTS");
  await browser.advance(3_000);
  assertEquals(paid.length, 1);
  assertEquals(one.view(id).questions, []);
  assertEquals(two.view(id).questions, []);

  // Asked of the next owner, the log knows the answer.
  one.kill();
  await browser.advance(3_000);
  assertEquals(await two.client.call("answer", { ...answer, decision: "allowed-once" }), { isFirst: false });
});

Deno.test("field/E03: an owner lets go when its page is frozen, and becomes a viewer when it wakes", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser);
  await one.state("freeze");
  one.freeze();
  await browser.advance(1_000);
  assertEquals(two.role(id), "owner");
  await two.client.call("send", { id, inputId: "second", text: "while you slept" });
  await browser.advance(60_000);
  one.wake();
  const woken = [one.state("resume"), one.state("visible")];
  await browser.advance(2_000);
  await Promise.all(woken);
  assertEquals(one.view(id).role, { kind: "viewer", ownerLabel: "two" });
  assertEquals(await timesHeard(one, id, "while you slept"), 1);
  const { events } = await two.client.call("history", { id, from: 0, limit: 1000 });
  assertEquals(one.events(id), events.slice(one.events(id)[0]!.seq));
});

Deno.test("field/E03: an owner frozen in a turn that does not let go makes viewers read-only with the reason, until it wakes", async () => {
  const { tool, end, began } = stubbornTool();
  const browser = new FakeBrowser({ tools: [tool] });
  const { one, two, id } = await twoTabs(browser);
  await one.client.call("send", { id, inputId: "pay", text: "pay 10 to alice" });
  await browser.advance(2_000);
  assertEquals(began(), 1);
  const frozen = one.state("freeze");
  await settle();
  one.freeze();
  await browser.advance(3_000);
  const { role } = two.view(id);
  assert(role.kind === "stuck");
  assertEquals(role.ownerLabel, "one");
  assertMatch(role.reason, /"one".*Wake or close that tab/);
  const refused = await two.client.call("send", { id, inputId: "no", text: "now" }).catch((error) => error);
  assertEquals(refused.code, "LOCK_HELD");
  assert((await two.client.call("history", { id, from: 0, limit: 10 })).events.length > 0);

  one.wake();
  end();
  await browser.advance(3_000);
  await frozen;
  assertEquals(two.role(id), "owner");
});

Deno.test("field/E03: a frozen owner that is closed is taken over from", async () => {
  const { tool } = stubbornTool();
  const browser = new FakeBrowser({ tools: [tool] });
  const { one, two, id } = await twoTabs(browser);
  await one.client.call("send", { id, inputId: "pay", text: "pay 10 to alice" });
  await browser.advance(2_000);
  one.freeze();
  await browser.advance(3_000);
  assertEquals(two.role(id), "stuck");
  one.kill();
  await browser.advance(1_000);
  assertEquals(two.role(id), "owner");
  assertEquals(two.view(id).repaired?.calls.map((call) => [call.name, call.class]), [["pay", "outcome_unknown"]]);
});

Deno.test("a hidden idle owner lets go after five seconds; hidden tabs do not pass the session around", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser, "hidden");
  assertEquals(two.role(id), "viewer");
  await one.state("hidden");
  await browser.advance(4_000);
  assertEquals(one.role(id), "owner");
  await browser.advance(2_000);
  assertEquals([one.role(id), two.role(id)], ["released", "released"]);
  assertEquals(browser.heldLocks, []);
  const { events } = await one.client.call("history", { id, from: 0, limit: 1000 });
  await browser.advance(60_000);
  assertEquals(browser.heldLocks, []);
  assertEquals((await one.client.call("history", { id, from: 0, limit: 1000 })).events.length, events.length);

  // Whoever is looked at again takes it.
  await two.state("visible");
  await browser.advance(1_000);
  assertEquals([one.view(id).role, two.view(id).role.kind], [{ kind: "viewer", ownerLabel: "two" }, "owner"]);
  // And after a death a hidden tab does.
  two.kill();
  await browser.advance(1_000);
  assertEquals(one.role(id), "owner");
});

Deno.test("a tab that let go takes the session again at its next input", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser, "hidden");
  await one.state("hidden");
  await browser.advance(6_000);
  assertEquals(one.role(id), "released");
  await one.client.call("send", { id, inputId: "again", text: "from the background" });
  await browser.advance(1_000);
  assertEquals(one.role(id), "owner");
  assertEquals(two.role(id), "viewer");
  await browser.advance(20_000);
  assertEquals([one.role(id), two.role(id)], ["released", "released"]);
});

Deno.test("a hidden viewer takes over from a tab that is closed or frozen", async () => {
  for (const state of ["pagehide", "freeze"] as const) {
    const browser = new FakeBrowser();
    const { one, two, id } = await twoTabs(browser, "hidden");
    await one.state(state);
    one.freeze();
    await browser.advance(1_000);
    assertEquals(two.role(id), "owner");
  }
});

Deno.test("field/E01: a log that something else holds is tried again and shown meanwhile, with the reason", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser);
  const { name } = (await one.client.call("list", {}))[0]!;
  await one.client.call("detach", { id });
  await two.client.call("detach", { id });
  const stranger = browser.storage.peer();
  const lock = await stranger.lock(name.replace(/[^/]*$/, "session.lock"));
  const attached = two.client.call("attach", { id });
  await browser.advance(4_000);
  const { role } = await attached;
  assert(role.kind === "stuck");
  assertMatch(role.reason, /another writer is alive/);
  await lock.release();
  await browser.advance(4_000);
  assertEquals(two.role(id), "owner");
});

Deno.test("a log that somebody wrote behind a tab's back is read again before it is written", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser, "hidden");
  await two.client.call("detach", { id });
  await one.state("freeze");
  one.freeze();
  // Somebody who speaks to no tab: another program on the same medium.
  await using store = openMemoryStore({ storage: browser.storage.peer() });
  const { session } = await openSession({ store, id });
  session.append({ type: "turn/start", data: { turn: 2 } });
  session.append({ type: "turn/end", data: { turn: 2, reason: { kind: "completed" } } });
  await session.close();
  one.wake();
  const woken = [one.state("resume"), one.state("visible")];
  await browser.advance(2_000);
  await Promise.all(woken);
  assertEquals(one.role(id), "owner");
  const { events } = await one.client.call("history", { id, from: 0, limit: 1000 });
  assert(events.some(({ type, data }) => type === "turn/start" && (data as { turn: number }).turn === 2));
  assertEquals(events.map(({ seq }) => seq), events.map((_, index) => index));
  assertEquals(one.events(id).at(-1)!.seq, one.view(id).nextSeq - 1);
});

Deno.test("a log that became another one behind a tab's back takes its place in the page, from the beginning", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser, "hidden");
  await two.client.call("detach", { id });
  await one.client.call("send", { id, inputId: "seen", text: "seen" });
  await browser.advance(5_000);
  await one.state("freeze");
  one.freeze();
  await using store = openMemoryStore({ storage: browser.storage.peer() });
  await store.delete(id);
  const session = await createSession({ store, id });
  session.append({ type: "turn/start", data: { turn: 1 } });
  session.append({ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } });
  await session.close();
  one.wake();
  const woken = [one.state("resume"), one.state("visible")];
  await browser.advance(2_000);
  await Promise.all(woken);
  assertEquals(one.role(id), "owner");
  const { events } = await one.client.call("history", { id, from: 0, limit: 1000 });
  assertEquals(one.events(id), events);
  assertEquals(events.length, 4);
});

Deno.test("a session whose medium refuses to sync is opened again, and given up with the reason when that does not help", async () => {
  const browser = new FakeBrowser();
  const { one, two, id } = await twoTabs(browser);
  await two.client.call("detach", { id });
  one.failSyncs(2); // The second is the retry of the journal.
  const failed = await one.client.call("send", { id, inputId: "a", text: "once" }).catch((error) => error);
  assertEquals(failed.code, "SYNC_FAILED");
  await browser.advance(5_000);
  assertEquals(one.role(id), "owner");
  await one.client.call("send", { id, inputId: "a", text: "once" });
  await browser.advance(5_000);
  assertEquals(await timesHeard(one, id, "once"), 1);

  one.failSyncs(1_000);
  await one.client.call("send", { id, inputId: "b", text: "never" }).catch(() => {});
  await browser.advance(20_000);
  const { role } = one.view(id);
  assert(role.kind === "read-only" || role.kind === "stuck");
  assert((await one.client.call("history", { id, from: 0, limit: 10 })).events.length > 0);
});

Deno.test("attach() refuses a session that is not there, and more than eight at once", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  const missing = await tab.client.call("attach", { id: "nothing" }).catch((error) => error);
  assertEquals(missing.code, "NOT_FOUND");
  assertEquals(browser.heldLocks, []);
  for (let count = 0; count < 8; count++) await tab.client.call("create", {});
  const error: WorkerError = await assertRejects(() => tab.client.call("create", {})) as WorkerError;
  assertEquals(error.code, "RangeError");
});
