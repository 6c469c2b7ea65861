/**
 * `report.html`: one file with tables and plots of one or several measurements, which asks nobody for anything.
 *
 * As a program: `deno run -A bench/report_html.ts OUTPUT.html RESULT.json…`.
 *
 * @module
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";
import { escaped, reportView } from "./plots/view.ts";
import type { ReportRun } from "./plots/figures.ts";
import { REPORT_COLOURS, REPORT_STYLE } from "./plots/style.ts";
import type { BenchDocument } from "./run.ts";

/**
 * Writes a report of one measurement or of several. The first of several is what the others are compared with.
 *
 * @param path where the file goes; what is there is replaced
 * @throws {Error} when the script does not bundle, or the file cannot be written
 *
 * @example
 * ```ts
 * import { writeReport } from "./report_html.ts";
 *
 * const compare = (before: Parameters<typeof writeReport>[0], path: string) => writeReport(before, path);
 * if (typeof compare !== "function") throw new Error("unreachable");
 * ```
 */
export async function writeReport(runs: BenchDocument | readonly ReportRun[], path: string): Promise<void> {
  const list = "runtimes" in runs ? [{ label: "this run", document: runs }] : runs;
  await writeFile(path, reportHtml(list, await reportScript()));
}

/**
 * The file's text.
 *
 * @param script what draws the figures, bundled
 *
 * @example
 * ```ts
 * import { reportHtml } from "./report_html.ts";
 *
 * const machine = { system: "linux", cpu: "x", cpuCount: 2, memoryBytes: 1024 ** 3, fileSystem: "ext4" };
 * const document = { machine, measuredAt: "2026-11-30T12:00:00Z", budget: "full" as const, runtimes: [], notRun: [] };
 * if (!reportHtml([{ label: "today", document }], "").startsWith("<!doctype html>")) throw new Error("unreachable");
 * ```
 */
export function reportHtml(runs: readonly ReportRun[], script: string): string {
  const { html, figures } = reportView(runs);
  const title = runs.length > 1 ? `Benchmark: ${runs.map(({ label }) => label).join(" and ")}` : "Benchmark";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Holdfast</title>
<link rel="icon" href="data:,">
<style>
${REPORT_COLOURS}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
${REPORT_STYLE}
</style>
</head>
<body>
<main class="report">
<h1>${escaped(title)}</h1>
${METHOD}
${html}
</main>
<script type="application/json" id="figures">${inJson(JSON.stringify(figures))}</script>
<script type="module">${inScript(script)}</script>
</body>
</html>
`;
}

/** What the figures mean, in short; the methods page of the benchmarks says it in full. */
const METHOD =
  `<p>Every contestant has one turn per round, in an order that goes around, so that a busy neighbour meets all of them alike.
A contestant marked * is the baseline: what the same runtime does to the same bytes without Holdfast, unchecked and uncompressed.
Percentiles are nearest-rank: each is a time that was measured. Distributions are drawn by percentile, the tail as wide as the middle.</p>
<p>Not measured: power loss. A time says that the sync call returned, not what the device does. Compare ratios; the times of one
machine are not those of another.</p>`;

/** JSON that holds no letter which HTML could take for its own. */
function inJson(text: string): string {
  return text.replaceAll("<", "\\u003c");
}

/** A script that cannot end the element it stands in: both can only occur in texts and patterns, where the bar changes nothing. */
function inScript(text: string): string {
  return text.replace(/<(?=\/script|!--)/gi, "\\x3c");
}

async function reportScript(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-report-"));
  try {
    const output = join(folder, "report.js");
    await bundle(fileURLToPath(new URL("./plots/report_page.ts", import.meta.url)), "browser", output);
    return await readFile(output, "utf8");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [output, ...inputs] = Deno.args;
  if (output === undefined || inputs.length === 0) {
    console.error("deno run -A bench/report_html.ts OUTPUT.html RESULT.json…");
    Deno.exit(2);
  }
  const runs = await Promise.all(inputs.map(async (input) => ({
    label: basename(input).replace(/\.json$/, ""),
    document: JSON.parse(await readFile(input, "utf8")) as BenchDocument,
  })));
  await writeReport(runs, output);
}
