/** What a person is shown about an effect whose outcome is unknown, and about a call that may be its second time. */
import { assert, assertEquals } from "@std/assert";
import { defineTool, type EffectClass } from "../../mod.ts";
import { FakeBrowser, type FakeTab } from "./fake_browser.ts";

/** How often the time is moved on before something is given up. */
const LOOKS_MAX = 1_000;

async function until(browser: FakeBrowser, isThere: () => boolean): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX && !isThere(); looks++) await browser.advance(100);
  assert(isThere(), "it never came");
}

function hasView(tab: FakeTab, fits: (view: ReturnType<FakeTab["view"]>) => boolean): boolean {
  return tab.news.some((news) => news.kind === "view") &&
    tab.news.some((news) => news.kind === "view" && fits(news.view));
}

/** A session whose payment died before or after it was made, opened again in another tab. */
async function withUnknown(effect: EffectClass) {
  const pay = defineTool({
    name: "pay",
    description: "",
    parameters: { type: "object" },
    effect,
    execute: () => "paid",
  });
  const browser = new FakeBrowser({ tools: [pay] });
  const one = await browser.open("one");
  const { id } = await one.client.call("create", {});
  await one.client.call("send", { id, inputId: "first", text: "pay 10 to alice" });
  await until(browser, () => hasView(one, ({ questions }) => questions.length > 0));
  const [question] = one.view(id).questions;
  assertEquals(question!.repeats, null);
  await one.client.call("crash", { at: "before-effect" });
  one.client.call("answer", { id, question: question!.question, decision: "allowed-once" }).catch(() => {});
  await until(browser, () => one.news.some(({ kind }) => kind === "crash"));
  const tab = await browser.open("two");
  await tab.client.call("attach", { id });
  await until(browser, () => hasView(tab, ({ unknowns }) => unknowns.length > 0));
  return { browser, tab, id, callSeq: question!.callSeq! };
}

/** Sends, and returns the question that follows. */
async function asked(browser: FakeBrowser, tab: FakeTab, id: string, text: string) {
  await tab.client.call("send", { id, inputId: `${text} ${tab.news.length}`, text });
  await until(browser, () => tab.view(id).questions.length > 0);
  return tab.view(id).questions[0]!;
}

async function decide(browser: FakeBrowser, tab: FakeTab, id: string, decision: "allowed-once" | "rejected") {
  const { question } = tab.view(id).questions[0]!;
  await tab.client.call("answer", { id, question, decision });
  await until(browser, () => tab.view(id).questions.length === 0 && tab.view(id).status === "idle");
}

Deno.test("a question about a call that repeats an unsettled one says so, until that one is settled", async () => {
  for (const effect of ["opaque", "keyed"] as const) {
    const { browser, tab, id, callSeq } = await withUnknown(effect);
    assertEquals((await asked(browser, tab, id, "pay 11 to alice")).repeats, null, "other arguments");
    await decide(browser, tab, id, "rejected");
    const again = await asked(browser, tab, id, "pay 10 to alice");
    assertEquals(again.repeats, { callSeq, effect });
    await decide(browser, tab, id, "rejected");
    const settled = tab.client.call("settle", { id, callSeq, verdict: "absent" });
    await browser.advance(1_000);
    await settled;
    assertEquals((await asked(browser, tab, id, "pay 10 to alice")).repeats, null, "settled");
  }
});

Deno.test("an unknown comes with its class's reason and proofs, each at the frame of the file that holds it", async () => {
  const { tab, id, callSeq } = await withUnknown("keyed");
  const [unknown] = tab.view(id).unknowns;
  const { events } = await tab.client.call("history", { id, from: 0, limit: 1000 });
  const seqs = unknown!.proofs.map(({ seq }) => seq);
  assertEquals(seqs.map((seq) => events[seq]!.type), ["tool/call", "effect/dispatched", "tool/result"]);
  assertEquals([seqs[0], unknown!.callSeq], [callSeq, callSeq]);
  assert(unknown!.proofs.every(({ says }) => says !== "") && unknown!.reason !== "");

  const { bytes } = await tab.client.call("export", { id });
  const starts = frameStarts(bytes);
  const places = await tab.client.call("places", { id, seqs });
  assertEquals(places.map(({ seq }) => seq), seqs);
  for (const { frame, offsetBytes } of places) assertEquals(starts[frame], offsetBytes);
  assert(places[0]!.frame < places[2]!.frame, "the closer was written by the next start");
  assertEquals(await tab.client.call("places", { id, seqs: [] }), []);
  assertEquals(await tab.client.call("places", { id, seqs: [events.length + 5] }), []);
});

Deno.test("places() refuses what is no list of seqs, and a session that is not there", async () => {
  const { tab, id } = await withUnknown("keyed");
  for (const seqs of [[-1], [0.5], ["1"], Array(65).fill(0), {}]) {
    const error = await tab.client.call("places", { id, seqs: seqs as number[] }).catch((error) => error);
    assertEquals(error.code, "RangeError", JSON.stringify(seqs));
  }
  const error = await tab.client.call("places", { id: "nothing", seqs: [0] }).catch((error) => error);
  assertEquals(error.code, "NOT_FOUND");
});

/** Where zstd frames begin, found by their magic number; it may not occur anywhere else in so short a log. */
function frameStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at + 4 <= bytes.length; at++) {
    if (bytes[at] === 0x28 && bytes[at + 1] === 0xb5 && bytes[at + 2] === 0x2f && bytes[at + 3] === 0xfd) {
      starts.push(at);
    }
  }
  return starts;
}
