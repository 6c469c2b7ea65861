/** A compaction that a page asks for. */
import { assert, assertEquals } from "@std/assert";
import { FakeBrowser, type FakeTab } from "./fake_browser.ts";

const LONG = "tell me everything that you can do here, in all detail, with examples. ".repeat(12);

let inputs = 0;

async function talk(browser: FakeBrowser, tab: FakeTab, id: string, prompts: number): Promise<void> {
  for (let n = 0; n < prompts; n++) {
    await tab.client.call("send", { id, inputId: `input-${inputs++}`, text: `${n} ${LONG}` });
    await browser.advance(20_000);
  }
}

async function typesOf(tab: FakeTab, id: string): Promise<string[]> {
  const { events } = await tab.client.call("history", { id, from: 0, limit: 1000 });
  return events.map(({ type }) => type);
}

Deno.test("compact is answered when it has begun, and what comes of it is in the log", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  const { id } = await tab.client.call("create", {});
  assertEquals(await tab.client.call("compact", { id }), { isStarted: false });
  await talk(browser, tab, id, 3);
  assertEquals(await tab.client.call("compact", { id }), { isStarted: true });
  assertEquals((await typesOf(tab, id)).at(-1), "compaction/start");
  // Asked for again while it runs, it is the same one.
  assertEquals(await tab.client.call("compact", { id }), { isStarted: true });
  await browser.advance(20_000);
  const types = await typesOf(tab, id);
  assertEquals(types.slice(-4), ["compaction/start", "compaction/summary", "user/message", "compaction/end"]);
  const messages = await tab.client.call("surface", { id });
  assert(JSON.stringify(messages).includes("compacted-summary"));
  await talk(browser, tab, id, 1);
  assertEquals((await typesOf(tab, id)).at(-1), "turn/end");
});

Deno.test("compact is busy while a turn runs, and cancel ends one that runs", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  const { id } = await tab.client.call("create", {});
  await talk(browser, tab, id, 3);
  await tab.client.call("send", { id, inputId: "i", text: "hello" });
  const error = await tab.client.call("compact", { id }).catch((error) => error);
  assertEquals(error.code, "COMPACTION_BUSY");
  await browser.advance(20_000);
  await tab.client.call("compact", { id });
  await tab.client.call("cancel", { id });
  await browser.advance(1_000);
  assertEquals((await typesOf(tab, id)).slice(-2), ["compaction/start", "compaction/end"]);
  assertEquals(tab.news.filter(({ kind }) => kind === "problem"), []);
});

Deno.test("compact of a viewer is done by the tab that writes", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  const { id } = await tab.client.call("create", {});
  await talk(browser, tab, id, 3);
  const viewer = await browser.open("two");
  await viewer.client.call("attach", { id });
  await browser.advance(5_000);
  const asked = viewer.client.call("compact", { id });
  await browser.advance(20_000);
  assertEquals(await asked, { isStarted: true });
  assertEquals((await typesOf(tab, id)).at(-1), "compaction/end");
});
