/**
 * A random life of three tabs with one session: opened, frozen, killed, hidden, typed into, asked.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { defineTool, type SessionEvent } from "../../mod.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import { settle } from "../support/fake_clock.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import { FakeBrowser, type FakeTab } from "./fake_browser.ts";

/** How many things happen in one schedule. */
const OPERATIONS = 40;
const TABS_MAX = 3;

/** What a schedule left behind. */
export interface ScheduleResult {
  readonly inputs: number;
  readonly takeovers: number;
  readonly paid: number;
}

/** Runs one schedule and judges what it left. Throws at the first thing that is wrong. */
export async function runSchedule(seed: number): Promise<ScheduleResult> {
  const random = seededRandom(seed);
  const payments: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "",
    parameters: { type: "object" },
    effect: "keyed",
    execute: (_args, { effectKey }) => `${payments.push(effectKey)} paid`,
  });
  const browser = new FakeBrowser({ tools: [pay] }, seed);
  const life = new Life(browser, random);
  await life.begin();
  for (let count = 0; count < OPERATIONS; count++) await life.step();
  const { id, inputs } = await life.end();

  await using store = openMemoryStore({ storage: browser.storage.peer() });
  await using log = await store.open(id, "read");
  assertEquals(log.state().fault, null);
  const { events } = await log.read({ limit: 100_000 });
  const told = events.flatMap(toldIds);
  assertEquals(
    [...inputs].map((input) => [input, told.filter((id) => id === input).length]).filter(([, n]) => n !== 1),
    [],
  );
  assertEquals(
    payments.filter((key) => !events.some((event) => isDispatched(event, key))),
    [],
    "an effect without intent",
  );
  assertEquals(new Set(payments).size, payments.length, "an effect twice");
  for (const tab of browser.tabs) {
    const known = tab.events(id);
    assertEquals(known, events.slice(known[0]?.seq ?? events.length), "a tab knows another log");
  }
  const takeovers = events.filter(({ type }) => type === "session/end-seed").length;
  return { inputs: inputs.size, takeovers, paid: payments.length };
}

class Life {
  readonly #browser: FakeBrowser;
  readonly #random: SeededRandom;
  readonly #frozen = new Set<FakeTab>();
  readonly inputs = new Map<string, string>();
  readonly #unanswered = new Set<string>();
  #id = "";
  #opened = 0;

  constructor(browser: FakeBrowser, random: SeededRandom) {
    this.#browser = browser;
    this.#random = random;
  }

  async begin(): Promise<void> {
    const tab = await this.#browser.open("first");
    this.#id = (await tab.client.call("create", {})).id;
    await tab.client.call("send", { id: this.#id, inputId: "first", text: "hello" });
    this.inputs.set("first", "hello");
  }

  async step(): Promise<void> {
    const tabs = this.#browser.tabs;
    const tab = tabs.length === 0 ? null : this.#random.pick(tabs);
    switch (
      this.#random.pick([
        "open",
        "kill",
        "freeze",
        "hard freeze",
        "wake",
        "page",
        "type",
        "type",
        "type",
        "answer",
        "answer",
      ])
    ) {
      case "open":
        if (tabs.length < TABS_MAX) await this.#open();
        break;
      case "kill":
        if (tab !== null && this.#random.below(2) === 0) tab.kill();
        break;
      case "freeze":
        if (tab === null || this.#frozen.has(tab)) break;
        void tab.state("freeze").catch(() => {});
        if (this.#random.below(2) === 0) await settle();
        this.#freeze(tab);
        break;
      case "hard freeze":
        if (tab !== null && !this.#frozen.has(tab) && this.#random.below(2) === 0) this.#freeze(tab);
        break;
      case "wake":
        if (tab !== null && this.#frozen.has(tab)) this.#wake(tab);
        break;
      case "page":
        if (tab !== null) void tab.state(this.#random.pick(["visible", "hidden"])).catch(() => {});
        break;
      case "type":
        if (tab !== null) this.#type(tab);
        break;
      case "answer":
        if (tab !== null) this.#answer(tab);
        break;
    }
    if (this.#random.below(3) > 0) await this.#browser.advance(this.#random.below(1_500));
  }

  /** Everything wakes, whatever was not acknowledged is sent again, and all is quiet. */
  async end(): Promise<{ readonly id: string; readonly inputs: ReadonlySet<string> }> {
    for (const tab of [...this.#frozen]) this.#wake(tab);
    await this.#browser.advance(5_000);
    const tabs = this.#browser.tabs;
    const last = tabs.length < TABS_MAX ? await this.#open() : tabs[0]!;
    const shown = last.state("visible");
    await this.#browser.advance(5_000);
    await shown;
    for (const inputId of [...this.#unanswered]) this.#send(last, inputId);
    for (let count = 0; count < 100; count++) {
      await this.#browser.advance(1_000);
      const { questions, status } = last.view(this.#id);
      if (questions.length > 0) this.#answer(last);
      else if (status === "idle" && this.#unanswered.size === 0) break;
    }
    await this.#browser.advance(10_000);
    assertEquals([...this.#unanswered], [], `an input was never taken; the last tab is ${last.role(this.#id)}`);
    for (const tab of tabs) if (tab.role(this.#id) === "stuck") throw new Error("a tab is stuck for good");
    return { id: this.#id, inputs: new Set(this.inputs.keys()) };
  }

  async #open(): Promise<FakeTab> {
    const state = this.#random.pick(["visible", "visible", "hidden"] as const);
    const tab = await this.#browser.open(`tab ${this.#opened++}`, state);
    const attached = tab.client.call("attach", { id: this.#id });
    await this.#browser.advance(4_000);
    await attached;
    return tab;
  }

  #freeze(tab: FakeTab): void {
    tab.freeze();
    this.#frozen.add(tab);
  }

  #wake(tab: FakeTab): void {
    this.#frozen.delete(tab);
    tab.wake();
    void tab.state("resume").catch(() => {});
    void tab.state(this.#random.pick(["visible", "hidden"])).catch(() => {});
  }

  #type(tab: FakeTab): void {
    const inputId = `input ${this.inputs.size}`;
    this.inputs.set(inputId, this.#random.pick(["hello", "pay 10 to alice", "dance", "pay 1 to bob and pay 2 to eve"]));
    this.#unanswered.add(inputId);
    this.#send(tab, inputId);
    // The same input again, from anywhere.
    if (this.#random.below(4) === 0) this.#send(this.#random.pick(this.#browser.tabs), inputId);
  }

  #send(tab: FakeTab, inputId: string): void {
    const ask = { id: this.#id, inputId, text: this.inputs.get(inputId)! };
    tab.client.call("send", ask).then(() => this.#unanswered.delete(inputId), () => {});
  }

  #answer(tab: FakeTab): void {
    let questions: readonly { readonly question: string }[] = [];
    try {
      questions = tab.view(this.#id).questions;
    } catch {
      return; // It has not been told anything yet.
    }
    for (const { question } of questions) {
      const decision = this.#random.pick(["allowed-once", "allowed-once", "rejected"] as const);
      tab.client.call("answer", { id: this.#id, question, decision }).catch(() => {});
    }
  }
}

/** The message that an event puts before the model. One that a crash cut off untold is queued again, and told once all the same. */
function toldIds({ type, data }: SessionEvent): string[] {
  return type === "user/message" ? [(data as unknown as { readonly id: string }).id] : [];
}

function isDispatched({ type, data }: SessionEvent, effectKey: string): boolean {
  return type === "effect/dispatched" && (data as { readonly effectKey?: unknown }).effectKey === effectKey;
}
