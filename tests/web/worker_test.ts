import { assert, assertEquals, assertMatch } from "@std/assert";
import { defineTool } from "../../mod.ts";
import { FakeBrowser } from "./fake_browser.ts";

Deno.test("serveWorker() runs a conversation: create, send, events, history, surface, detach", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  const { client } = tab;
  const created = await client.call("create", {});
  assertEquals(created.role, { kind: "owner" });
  assertEquals(await client.call("list", {}), []);
  const { seq } = await client.call("send", { id: created.id, inputId: "input-1", text: "hello" });
  assertEquals(seq, 1); // Behind the policy.
  await browser.advance(10_000);
  const { events } = await client.call("history", { id: created.id, from: 0, limit: 1000 });
  assertEquals(tab.events(created.id), events);
  assertEquals(events.at(-1)!.type, "turn/end");
  assert(tab.news.some((news) => news.kind === "chunk"));
  const view = tab.view(created.id);
  assertEquals(view.status, "idle");
  assertEquals(view.title, "hello");
  assertEquals(view.durability.pendingEvents, 0);
  assertEquals(view.durability.durableSeq, events.length - 1);
  const messages = await client.call("surface", { id: created.id });
  assertEquals(messages.at(-1)!.role, "assistant");
  const rows = await client.call("list", {});
  assertEquals(rows.map(({ id, live }) => [id, live]), [[created.id, true]]);
  await client.call("detach", { id: created.id });
  assertEquals(browser.heldLocks, []);
  assertEquals((await client.call("list", {}))[0]!.live, false);
});

Deno.test("serveWorker() asks with the arguments of the durable call, and the first answer counts", async () => {
  const done: string[] = [];
  const tool = defineTool({
    name: "write_file",
    description: "",
    parameters: { type: "object" },
    effect: "idempotent",
    execute: (args) => `${done.push(JSON.stringify(args))} done`,
  });
  const fileChangeOf = () => Promise.resolve({ path: "a.txt", before: null, after: "hi" });
  const browser = new FakeBrowser({ tools: [tool], fileChangeOf });
  const tab = await browser.open("one");
  const { id } = await tab.client.call("create", {});
  await tab.client.call("send", { id, inputId: "i", text: "write hi to a.txt" });
  await until(browser, () => tab.view(id).questions.length > 0);
  const [question] = tab.view(id).questions;
  assertEquals(question?.argumentsText, '{"path":"a.txt","content":"hi"}');
  assertEquals(question?.fileChange, { path: "a.txt", before: null, after: "hi" });
  assertMatch(question!.argumentsDigest!, /^[0-9a-f]{64}$/);
  assertEquals(done, []);
  const answer = { id, question: question!.question };
  assertEquals(await tab.client.call("answer", { ...answer, decision: "allowed-once" }), { isFirst: true });
  assertEquals(await tab.client.call("answer", { ...answer, decision: "allowed-once" }), { isFirst: false });
  const refused = await tab.client.call("answer", { ...answer, decision: "rejected" }).catch((error) => error);
  assertEquals(refused.code, "ALREADY_EXISTS");
  await until(browser, () => done.length > 0);
  assertEquals(done, ['{"path":"a.txt","content":"hi"}']);
  await tab.client.call("detach", { id });
});

/** Digests come from threads, so what the fake clock has passed is not yet what has happened. */
async function until(browser: FakeBrowser, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    await browser.advance(100);
    if (isSo()) return;
  }
}
