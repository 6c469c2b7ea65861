import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { CaseResult } from "../../bench/bench_case.ts";
import { benchReport } from "../../bench/report.ts";
import type { BenchDocument } from "../../bench/run.ts";

const paired: CaseResult = {
  name: "flush 200 B",
  baseline: "raw",
  isPaired: true,
  series: [
    { lane: "holdfast", measure: "until durable", unit: "ms", samples: [2, 4, 6, 800] },
    { lane: "raw", measure: "until durable", unit: "ms", samples: [1, 2, 3, 400] },
    { lane: "none", measure: "until durable", unit: "ms", samples: [] },
  ],
};

const streamed: CaseResult = {
  name: "batching 100/s",
  baseline: "raw",
  isPaired: false,
  series: [
    { lane: "holdfast", measure: "events per sync", unit: "events", samples: [20, 21] },
    { lane: "raw", measure: "events per sync", unit: "events", samples: [1, 1, 1] },
  ],
};

const document: BenchDocument = {
  machine: { system: "linux 6 x64", cpu: "Some CPU", cpuCount: 2, memoryBytes: 24 * 1024 ** 3, fileSystem: "ext4" },
  measuredAt: "2026-11-30T12:00:00.000Z",
  budget: "full",
  runtimes: [{
    runtime: "Deno 2",
    medium: "files",
    absent: [{ name: "a tape", reason: "nobody has one" }],
    cases: [paired, streamed],
  }],
  notRun: [{ runtime: "chromium", reason: "Cannot measure Chromium: none here" }],
};

Deno.test("benchReport() shows the machine, figures that end on one edge, ratios, and what was not measured", () => {
  const lines = benchReport(document);
  assertEquals(lines[0], "linux 6 x64, 2 × Some CPU, 24 GiB, ext4");
  const row = (text: string) => lines.find((line) => line.includes(text))?.replace(/\s+/g, " ").trim();
  assertEquals(
    row("flush 200 B"),
    "flush 200 B holdfast until durable 4 4.00 ms 800 ms 800 ms 800 ms ×2.00 (2.00–2.00)",
  );
  assertEquals(row("raw *"), "raw * until durable 4 2.00 ms 400 ms 400 ms 400 ms 1 (the baseline)");
  assertEquals(row("none"), "none until durable 0 – – – – –");
  assertEquals(row("batching"), "batching 100/s holdfast events per sync 2 20 21 21 21 ×20.00 (of the medians)");
  assertStringIncludes(lines.join("\n"), "Not measured: a tape: nobody has one");
  assertStringIncludes(lines.join("\n"), "Not measured: chromium: Cannot measure Chromium: none here");
  const rows = lines.filter((line) => line.includes("until durable"));
  assertEquals(new Set(rows.slice(0, 2).map((line) => line.indexOf(" ms"))).size, 1);
  assert(!lines.join("\n").includes("not worth quoting"));
});

Deno.test("benchReport() says of a short look that it is one", () => {
  assertStringIncludes(benchReport({ ...document, budget: "quick" }).join("\n"), "not worth quoting");
});
