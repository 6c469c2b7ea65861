/** A verdict is written once, and no question is empty. */
import { assertEquals, assertMatch } from "@std/assert";
import { defineTool } from "../../mod.ts";
import { FakeBrowser } from "./fake_browser.ts";

/** A keyed payment that says nothing about why it asks. */
const pay = defineTool({
  name: "pay",
  description: "",
  parameters: { type: "object" },
  effect: "keyed",
  execute: () => "paid",
});

/** How often the time is moved on before something is given up. */
const LOOKS_MAX = 1_000;

async function until(browser: FakeBrowser, isThere: () => boolean): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX && !isThere(); looks++) await browser.advance(100);
}

/** A session whose payment was allowed and then cut off behind its marker, opened again. */
async function withUnknown() {
  const browser = new FakeBrowser({ tools: [pay] });
  const tab = await browser.open("one");
  const { id } = await tab.client.call("create", {});
  await tab.client.call("send", { id, inputId: "pay", text: "pay 10 to alice" });
  // A digest is computed outside of the fake time.
  await until(browser, () => tab.news.some((news) => news.kind === "view" && news.view.questions.length > 0));
  const [question] = tab.view(id).questions;
  await tab.client.call("crash", { at: "before-effect" });
  const answered = tab.client.call("answer", { id, question: question!.question, decision: "allowed-once" });
  answered.catch(() => {}); // The worker may be gone before it has answered.
  await browser.advance(5_000);
  const two = await browser.open("two");
  const { client } = two;
  await client.call("attach", { id });
  await until(browser, () => two.news.some((news) => news.kind === "view" && news.view.unknowns.length > 0));
  const { callSeq } = two.view(id).unknowns[0]!;
  const settle = async (verdict: "happened" | "absent" | "retry") => {
    const settled = client.call("settle", { id, callSeq, verdict });
    settled.catch(() => {}); // Awaited below.
    await browser.advance(1_000);
    await settled;
  };
  const verdicts = async () => {
    const { events } = await client.call("history", { id, from: 0, limit: 1000 });
    return events.flatMap(({ type, data }) =>
      type === "effect/reconciled" ? [(data as { readonly verdict?: unknown }).verdict] : []
    );
  };
  return { question: question!, view: () => two.view(id), settle, verdicts };
}

Deno.test("settle writes a verdict once, however often it is given, and refuses another after the last word", async () => {
  const { view, settle, verdicts } = await withUnknown();
  assertEquals(view().unknowns[0]!.isRetryAllowed, false);
  await settle("retry");
  assertEquals(view().unknowns[0]!.isRetryAllowed, true);
  await settle("retry");
  assertEquals(await verdicts(), ["retry"]);
  await settle("happened");
  assertEquals(view().unknowns, []);
  await settle("happened");
  assertEquals(await verdicts(), ["retry", "happened"]);
  const error = await settle("absent").catch((error) => error);
  assertEquals([error.code, await verdicts()], ["ALREADY_EXISTS", ["retry", "happened"]]);
  assertMatch(error.message, /the verdict was "happened"/);
});

Deno.test("a tool that gives no reason is asked about by its name and arguments", async () => {
  const { question } = await withUnknown();
  assertEquals(question.reason, 'pay {"to":"alice","amount":"10"}');
});

Deno.test("import names the session that has the id already", async () => {
  const browser = new FakeBrowser();
  const tab = await browser.open("one");
  const line = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\n';
  const bytes = new TextEncoder().encode(line);
  await tab.client.call("import", { name: "a.jsonl", bytes });
  const error = await tab.client.call("import", { name: "b.jsonl", bytes }).catch((error) => error);
  assertEquals([error.code, error.sessionIds], ["ALREADY_EXISTS", ["a"]]);
});
