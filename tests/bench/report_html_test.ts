import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { CaseResult } from "../../bench/bench_case.ts";
import { timerStepMs } from "../../bench/clock_steps.ts";
import { distribution, families, growth, PERCENTS } from "../../bench/plots/figures.ts";
import { reportView, TWIN } from "../../bench/plots/view.ts";
import { reportHtml } from "../../bench/report_html.ts";
import type { BenchDocument } from "../../bench/run.ts";

function flush(name: string, factor: number): CaseResult {
  const samples = Array.from({ length: 100 }, (_, index) => index + 1);
  const lane = (lane: string, times: number) => ({
    lane,
    measure: "until durable",
    unit: "ms" as const,
    samples: samples.map((sample) => sample * times),
  });
  return {
    name,
    baseline: "raw",
    isPaired: true,
    series: [lane("holdfast", factor), lane("raw", 1), lane(TWIN, 1.5)],
    facts: { "holdfast: log bytes per raw byte": 0.5 },
  };
}

function documentOf(factor: number): BenchDocument {
  return {
    machine: { system: "linux <6>", cpu: "Some & CPU", cpuCount: 2, memoryBytes: 24 * 1024 ** 3, fileSystem: "ext4" },
    measuredAt: "2026-11-30T12:00:00.000Z",
    budget: "full",
    runtimes: [{
      runtime: "Deno 2",
      medium: "files",
      absent: [{ name: "a tape", reason: "nobody has one" }],
      notes: ["steps of 5 µs"],
      cases: [flush("flush 200 B", factor), flush("flush 4 KiB", factor * 2)],
    }],
    notRun: [{ runtime: "chromium", reason: "</script><script>alert(1)</script>" }],
  };
}

Deno.test("reportView() says machine, figures, paired ratios, facts, noise and what was not measured", () => {
  const { html, figures } = reportView([{ label: "today", document: documentOf(3) }]);
  for (
    const text of [
      "linux &#60;6&#62;, ext4",
      "2 × Some &#38; CPU, 24 GiB",
      "2026-11-30 12:00 UTC",
      "3.00 <small>3.00–3.00</small>",
      "6.00 <small>6.00–6.00</small>",
      "50.0 ms",
      "steps of 5 µs",
      "log bytes per raw byte: 0.500",
      "the baseline against itself is × 1.50",
      "a tape: nobody has one",
      "&#60;/script&#62;",
    ]
  ) assertStringIncludes(html, text);
  assert(!html.includes("<script"));
  // A curve over both sizes, then one distribution of each.
  assertEquals(figures.map(({ kind, title }) => `${kind}: ${title}`), [
    "growth: flush N bytes: until durable, median",
    "distribution: flush 200 B: until durable",
    "distribution: flush 4 KiB: until durable",
  ]);
  assertEquals(html.match(/data-figure="\d"/g)?.length, 3);
});

Deno.test("reportView() puts two runs side by side, and compares with the first", () => {
  const { html, figures } = reportView([
    { label: "before", document: documentOf(2) },
    { label: "after", document: documentOf(3) },
  ]);
  assertStringIncludes(html, "× the first run");
  assertStringIncludes(html, `<td class="number">1.50</td></tr>`);
  assertEquals(figures[0]!.lines.map(({ label, run }) => `${run} ${label}`).slice(0, 4), [
    "0 holdfast, before",
    "0 raw, before",
    `0 ${TWIN}, before`,
    "1 holdfast, after",
  ]);
});

Deno.test("distribution() gives nearest-rank percentiles, and no tail that no sample stands for", () => {
  const figure = distribution([{ run: 0, label: "", result: flush("flush 200 B", 1) }], "until durable")!;
  const at = (percent: number) => figure.lines[0]!.values[PERCENTS.indexOf(percent)];
  assertEquals([at(1), at(51), at(90), at(99)], [1, 51, 90, 99]);
  assertEquals(at(99.9), null);
  assertEquals(distribution([{ run: 0, label: "", result: flush("flush 200 B", 1) }], "another"), null);
});

Deno.test("families() and growth() make a curve of names that differ in one number", () => {
  const names = ["flush 200 B", "flush 64 KiB", "flush 4 KiB", "open 1000 events", "open 1.3M events", "codecs"];
  assertEquals(families(names).map(({ name, cases }) => [name, cases.map(({ size }) => size)]), [
    ["flush N bytes", [200, 4096, 65_536]],
    ["open N events", [1000, 1_300_000]],
  ]);
  const [result] = documentOf(3).runtimes;
  const [family] = families(result!.cases.map(({ name }) => name));
  const curve = growth([{ run: 0, label: "", result: result! }], family!, "until durable")!;
  assertEquals(curve.xs, [200, 4096]);
  assertEquals(curve.lines.map(({ label, values }) => [label, ...values]), [
    ["holdfast", 150, 300],
    ["raw", 50, 50],
    [TWIN, 75, 75],
  ]);
});

Deno.test("reportHtml() is one file that asks nobody, and that no text in it can leave", () => {
  const html = reportHtml([{ label: "a </script> b", document: documentOf(3) }], `"</script><!--"`);
  assertEquals(html.match(/<script/g)?.length, 2);
  assertEquals(html.match(/<\/script/g)?.length, 2);
  assertStringIncludes(html, String.raw`"\x3c/script>\x3c!--"`);
  assertEquals(html.match(/(?:src|href)="(?!data:,)/g), null);
  assertStringIncludes(html, "default-src 'none'");
});

Deno.test("timerStepMs() finds the step of a clock, and gives up one that stands", () => {
  let looks = 0;
  assertEquals(timerStepMs(() => Math.floor(looks++ / 10) * 0.25), 0.25);
  assertEquals(timerStepMs(() => 7), 0);
});
