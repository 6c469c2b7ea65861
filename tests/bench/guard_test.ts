import { assert, assertEquals, assertThrows } from "@std/assert";
import type { CaseResult, RuntimeResult } from "../../bench/bench_case.ts";
import { benchCases, chooseCases } from "../../bench/cases.ts";
import { guardCases, guardText, judge } from "../../bench/guard.ts";
import { growth, mostIn } from "../../bench/load_cases.ts";
import { benchMain } from "../../bench/main.ts";

const paired = (name: string, ours: number[], base: number[], facts = {}): CaseResult => ({
  name,
  baseline: "C",
  isPaired: true,
  series: [
    { lane: "holdfast, flush", measure: "until durable", unit: "ms", samples: ours },
    { lane: "C", measure: "until durable", unit: "ms", samples: base },
  ],
  facts,
});

const result = (...cases: CaseResult[]): RuntimeResult => ({ runtime: "Deno", medium: "files", absent: [], cases });

Deno.test("judge() takes the paired ratio, and says which limits are met", () => {
  const share = { "holdfast, flush: log bytes per raw byte": 0.56 };
  const lines = judge(
    result(paired("barrier none", [1.25, 12.5, 1], [1, 10, 1]), paired("barrier zstd", [1.7, 1.7], [1, 1], share)),
    ["barrier none", "barrier zstd"],
  );
  assertEquals(lines.map(({ value, isMet }) => [value, isMet]), [[1.25, true], [1.7, false], [0.56, false]]);
  assert(guardText(lines[0]!).startsWith("met") && guardText(lines[1]!).startsWith("MISSED"));
});

Deno.test("judge() counts what was not measured as not met", () => {
  const lines = judge(result());
  assert(lines.length > 0 && lines.every(({ value, isMet }) => value === null && !isMet));
});

Deno.test("judge() wants throughput to be at least its limit", () => {
  const many = (value: number): CaseResult => ({
    name: "concurrent 8 sessions",
    baseline: "raw",
    isPaired: false,
    series: [],
    facts: { "holdfast: throughput to the baseline's": value },
  });
  assertEquals(judge(result(many(0.81)), ["concurrent 8 sessions"]).map(({ isMet }) => isMet), [true]);
  assertEquals(judge(result(many(0.79)), ["concurrent 8 sessions"]).map(({ isMet }) => isMet), [false]);
});

Deno.test("the guard's cases are there, by their whole names", () => {
  for (const name of guardCases) assert(benchCases.some((each) => each.name === name), name);
});

Deno.test("chooseCases() leaves out what takes minutes unless it is named whole", () => {
  const names = (wanted: string[]) => chooseCases(wanted).map(({ name }) => name);
  assert(!names([]).includes("memory 1300000 events") && !names(["memory"]).includes("memory 1300000 events"));
  assertEquals(names(["memory 1300000 events"]), ["memory 1300000 events"]);
  assertThrows(() => names(["nothing"]), RangeError);
});

Deno.test("mostIn() counts the fullest window, and growth() compares the thirds", () => {
  assertEquals(mostIn([], 200), 0);
  assertEquals(mostIn([0, 200, 400.5, 601], 200), 1);
  assertEquals(mostIn([0, 100, 199.5, 250], 200), 3);
  assertEquals(growth([10, 10, 10, 99, 99, 99, 20, 20, 20]), 2);
  assertEquals(growth([]), 1);
});

Deno.test("benchMain() explains its flags, and refuses what they cannot be", async () => {
  assertEquals(await benchMain(["--help"], {}), 0);
  assertEquals(await benchMain(["--list"], {}), 0);
  assertEquals(await benchMain(["--seconds", "none"], {}), 2);
});
