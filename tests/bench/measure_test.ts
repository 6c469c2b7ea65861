import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Budget, LatencyCase, StreamCase } from "../../bench/bench_case.ts";
import { batchingCases } from "../../bench/batching_cases.ts";
import { benchCases, chooseCases } from "../../bench/cases.ts";
import { flushCases } from "../../bench/flush_cases.ts";
import { openCases } from "../../bench/open_cases.ts";
import { measureAll } from "../../bench/measure.ts";
import { makePayload } from "../../bench/payload.ts";
import type { EventDraft, SessionEvent } from "../../mod.ts";
import { MadeUpPlace } from "./made_up_place.ts";

const BUDGET: Budget = { warmUpRounds: 2, rounds: 6, timeMaxMs: 1000, streams: 1, streamMs: 100 };

/** A case of raw writers only. */
const rawCase: LatencyCase = {
  kind: "latency",
  name: "raw",
  unit: "ms",
  lanes: (place) =>
    place.rawWriters.map(({ name, open }) => ({
      name,
      async prepare() {
        const writer = await open();
        return { round: () => writer.write(new Uint8Array(1)), close: () => writer.close() };
      },
    })),
  baseline: (place) => place.rawWriters[0].name,
};

Deno.test("measureAll() times every lane once per round, after the warm-up, and gives the first place around", async () => {
  const place = new MadeUpPlace({ a: 1, b: 2, c: 5 });
  const { cases, runtime, absent } = await measureAll([rawCase], place, BUDGET, () => {});
  assertEquals([runtime, absent.length], ["Made up 1", 1]);
  assertEquals(cases[0]!.series.map(({ lane, samples }) => [lane, samples]), [
    ["a", [1, 1, 1, 1, 1, 1]],
    ["b", [2, 2, 2, 2, 2, 2]],
    ["c", [5, 5, 5, 5, 5, 5]],
  ]);
  assertEquals([cases[0]!.baseline, cases[0]!.isPaired], ["a", true]);
  const rounds = Array.from({ length: 8 }, (_, round) => place.written.slice(3 * round, 3 * round + 3).join(""));
  assertEquals(rounds, ["abc", "bca", "cab", "abc", "bca", "cab", "abc", "bca"]);
});

Deno.test("measureAll() ends a case when its time is over, with whole rounds", async () => {
  const place = new MadeUpPlace({ a: 100, b: 150 });
  const { cases } = await measureAll([rawCase], place, BUDGET, () => {});
  // Two warm-up rounds and two that count take 1000 ms.
  assertEquals(cases[0]!.series.map(({ samples }) => samples.length), [2, 2]);
});

Deno.test("measureAll() closes every lane when one fails, and says what failed", async () => {
  const place = new MadeUpPlace();
  const failing: LatencyCase = {
    ...rawCase,
    lanes: (place) => [
      ...rawCase.lanes(place),
      { name: "x", prepare: () => Promise.reject(new Error("no such lane")) },
    ],
  };
  await assertRejects(() => measureAll([failing], place, BUDGET, () => {}), Error, "no such lane");
  assertEquals(place.openCount, 0);
});

Deno.test("measureAll() says which case it is at, and how far", async () => {
  const said: string[] = [];
  await measureAll([rawCase, { ...rawCase, name: "again" }], new MadeUpPlace(), BUDGET, (text) => said.push(text));
  assertEquals(said.at(-1), "Made up 1: again (2 of 2), round 0 of 6");
});

Deno.test("every flush case runs in a place, ours beside its raw writers", async () => {
  const place = new MadeUpPlace();
  const { cases } = await measureAll(flushCases, place, BUDGET, () => {});
  assertEquals(cases.map(({ name }) => name), ["flush 200 B", "flush 4 KiB", "flush 64 KiB"]);
  for (const { series } of cases) {
    assertEquals(series.map(({ lane, samples }) => [lane, samples.length]), [["holdfast", 6], ["base", 6], [
      "slow",
      6,
    ]]);
  }
  assertEquals(place.openCount, 0);
});

Deno.test("an open case opens, and asks a model, and reads as many rows without us; what ends a round is not timed", async () => {
  const place = new MadeUpPlace();
  const [small] = openCases;
  const { cases } = await measureAll([small!], place, BUDGET, () => {});
  assertEquals(cases[0]!.series.map(({ lane, measure, samples }) => [lane, measure, samples.length]), [
    ["holdfast, open to write", "until ready", 6],
    ["holdfast, first request", "until ready", 6],
    ["parser", "until ready", 6],
  ]);
  // One of the events of the log is its policy or its end-seed, and none is missing.
  assert(place.parsed.every((rows) => rows >= 1000 && rows < 1010), place.parsed.join());
  assertEquals([place.parsed.length, place.openCount], [8, 0]);
});

Deno.test("measureAll() gives a case with long rounds its least number of them, and not more warm-up than it wants", async () => {
  const place = new MadeUpPlace({ a: 400, b: 600 });
  const long: LatencyCase = { ...rawCase, measure: "until ready", longRounds: { warmUpMax: 1, min: 3 } };
  const { cases } = await measureAll([long], place, BUDGET, () => {});
  assertEquals(cases[0]!.series.map(({ samples, measure }) => [samples.length, measure]), [
    [3, "until ready"],
    [3, "until ready"],
  ]);
});

Deno.test("a batching case counts every event of a stream once, and the baseline syncs each alone", async () => {
  const place = new MadeUpPlace({ base: 0 });
  const hundred: StreamCase = batchingCases.find((each) => each.eventsPerSecond === 100)!;
  const { cases } = await measureAll([hundred], place, { ...BUDGET, streamMs: 200 }, () => {});
  const seen = (lane: string, measure: string) =>
    cases[0]!.series.find((series) => series.lane === lane && series.measure === measure)!.samples;
  const sum = (samples: readonly number[]) => samples.reduce((total, sample) => total + sample, 0);
  assertEquals(sum(seen("holdfast", "events per sync")), 20);
  assertEquals(seen("base", "events per sync"), Array(20).fill(1));
  for (const lane of ["holdfast", "base"]) {
    const ages = seen(lane, "oldest at risk");
    assertEquals(ages.length, seen(lane, "events per sync").length);
    assert(ages.every((ageMs) => ageMs >= 0), `${lane}: ${ages.join()}`);
  }
});

Deno.test("a batching baseline that cannot keep up is cut at the end of the stream, and its events grow old", async () => {
  const place = new MadeUpPlace({ base: 50 });
  const thousand = batchingCases.find((each) => each.eventsPerSecond === 1000)!;
  const seen = await thousand.lanes(place)[1]!.stream(place, { eventsPerSecond: 1000, durationMs: 200 });
  assertEquals(seen.oldestAgeMs, [50, 99, 148, 197]);
});

Deno.test("makePayload() makes rows of exactly the size, the same each time, that are what is appended", () => {
  for (const sizeBytes of [200, 201, 512, 1023, 4096, 65_536]) {
    const { bytes, drafts } = makePayload(sizeBytes);
    assertEquals(bytes.length, sizeBytes);
    assertEquals(makePayload(sizeBytes).bytes, bytes);
    const rows = new TextDecoder().decode(bytes).trimEnd().split("\n").map((row) => JSON.parse(row) as SessionEvent);
    assertEquals(
      rows.map(({ type, data, ignorable }): EventDraft => ({ type, data, ignorable })),
      [...drafts],
    );
  }
});

Deno.test("chooseCases() takes the cases whose name begins so, and refuses a name that fits none", () => {
  const large = benchCases.filter((each) => each.kind !== "stream" && each.isLarge === true);
  assertEquals(chooseCases([]), benchCases.filter((each) => !large.includes(each)));
  const names = large.map(({ name }) => name);
  assert(names.includes("open 1300000 events") && names.includes("memory 1300000 events"), names.join());
  for (const each of large) assertEquals(chooseCases([each.name]), [each]);
  assertEquals(chooseCases(["open"]).map(({ name }) => name), [
    "open 1000 events",
    "open 10000 events",
    "open 100000 events",
  ]);
  assertEquals(chooseCases(["batching 10/s", "flush 4"]).map(({ name }) => name), ["flush 4 KiB", "batching 10/s"]);
  try {
    chooseCases(["flsh"]);
    throw new Error("unreachable");
  } catch (error) {
    assert(error instanceof RangeError && error.message.includes('"flush 200 B"'), String(error));
  }
});
