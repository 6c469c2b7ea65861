import { assertEquals, assertThrows } from "@std/assert";
import { createAgent, scripted } from "../../src/agent/mod.ts";
import { BREAKER_COOLDOWN_MS, breakerState, budgetOf, compactionSettings } from "../../src/compaction/mod.ts";
import { FakeStore } from "../support/fake_store.ts";

Deno.test("compactionSettings() refuses unknown keys, bad numbers and contradictions", () => {
  for (
    const options of [
      { threshold: 1 },
      { retainRatio: 0.1, retainTokens: 5 },
      { modelPolicies: [{ provider: "p", model: "m" }, { provider: "p", model: "m" }] },
      { modelPolicies: [{ provider: "p", model: "" }] },
      { modelPolicies: [{ provider: "p", model: "m", ratio: 1 }] },
      { summarizer: { provider: "p", model: "" } },
      { auto: "no" },
      { prune: { head: 1 } },
    ]
  ) assertThrows(() => compactionSettings(options as never), TypeError, "", JSON.stringify(options));
  for (
    const options of [
      { thresholdRatio: 0 },
      { thresholdRatio: 1.1 },
      { retainRatio: 0.8 },
      { retainRatio: 0 },
      { retainTokens: -1 },
      { maxTokens: 0 },
      { compactionRetries: 1.5 },
      { maxOverflowRetries: -1 },
      { modelPolicies: [{ provider: "p", model: "m", retainRatio: 0.9 }] },
    ]
  ) assertThrows(() => compactionSettings(options as never), RangeError, "", JSON.stringify(options));
});

Deno.test("createAgent() refuses compaction options that make no sense", () => {
  const parts = { store: new FakeStore(), model: scripted([]) };
  assertThrows(() => createAgent({ ...parts, compaction: { thresholdRatio: 2 } }), RangeError, "thresholdRatio is 2");
});

Deno.test("budgetOf() takes the answer's reserve off, and a retention of a model takes the place of the general one", () => {
  const route = { provider: "p", model: "m" };
  const settings = compactionSettings({ modelPolicies: [{ ...route, thresholdRatio: 0.5, retainTokens: 7 }] });
  const other = { provider: "p", model: "n" };
  assertEquals(budgetOf(settings, other, 1000, 200), { usableTokens: 800, thresholdTokens: 640, retainTokens: 128 });
  assertEquals(budgetOf(settings, route, 1000, 0), { usableTokens: 1000, thresholdTokens: 500, retainTokens: 7 });
  assertEquals(budgetOf(settings, other, 1000, 5000).usableTokens, 500);
  assertThrows(() => budgetOf(compactionSettings({ retainTokens: 640 }), other, 800, 0), RangeError, "are to stay");
});

Deno.test("breakerState() opens after three, lets one through after the cooldown, and does not trust a clock that was set back", () => {
  const state = (failures: number, now: number) =>
    breakerState({ failures, lastFailureTime: failures === 0 ? null : 1000 }, now, BREAKER_COOLDOWN_MS);
  assertEquals(state(0, 0), "closed");
  assertEquals(state(2, 1000), "closed");
  assertEquals(state(3, 1000), "open");
  assertEquals(state(9, 1000 + BREAKER_COOLDOWN_MS - 1), "open");
  assertEquals(state(3, 1000 + BREAKER_COOLDOWN_MS), "half-open");
  assertEquals(state(3, 999), "half-open");
});
