/**
 * A report as HTML without a script: tables first, and an empty place beside each for the plot that a script may draw into it.
 *
 * Text in, text out: the same view is written into a file and shown by the page that measures.
 *
 * @module
 */
import type { CaseResult, RuntimeResult, Series } from "../bench_case.ts";
import { pairedRatio, percentile, summarize } from "../statistics.ts";
import { distribution, families, type Figure, growth, lanesOf, measuresOf, type ReportRun, shown } from "./figures.ts";

/** What a contestant is called that is the baseline once more: what differs between the two is noise. */
export const TWIN = "the baseline again";

/** HTML, and what is to be drawn into its `[data-figure]` elements, by number. */
export interface View {
  readonly html: string;
  readonly figures: readonly Figure[];
}

/**
 * Shows one measurement, or several side by side.
 *
 * @example
 * ```ts
 * import { reportView } from "./view.ts";
 *
 * const machine = { system: "linux", cpu: "x", cpuCount: 2, memoryBytes: 1024 ** 3, fileSystem: "ext4" };
 * const document = { machine, measuredAt: "2026-11-30T12:00:00Z", budget: "full" as const, runtimes: [], notRun: [] };
 * if (!reportView([{ label: "today", document }]).html.includes("ext4")) throw new Error("unreachable");
 * ```
 */
export function reportView(runs: readonly ReportRun[]): View {
  const figures: Figure[] = [];
  const place = (figure: Figure | null): string => {
    if (figure === null) return "";
    const number = figures.push(figure) - 1;
    return `<figure><figcaption>${escaped(figure.title)}</figcaption>
<div class="plot" data-figure="${number}" role="img" aria-label="${escaped(figure.summary)}"></div>
${legend(figure)}</figure>`;
  };
  const names = [...new Set(runs.flatMap(({ document }) => document.runtimes.map(nameOf)))];
  const html = [
    runsSection(runs),
    names.length === 0 ? `<p>Nothing was measured.</p>` : glance(runs, names),
    ...names.map((name) => runtimeSection(name, runs, place)),
  ].join("\n");
  return { html, figures };
}

function runsSection(runs: readonly ReportRun[]): string {
  const rows = runs.map(({ label, document: { machine, measuredAt, budget, runtimes, notRun } }) => {
    const memory = machine.memoryBytes > 0 ? `, ${Math.round(machine.memoryBytes / 1024 ** 3)} GiB` : "";
    const cpu = `${machine.cpuCount} × ${machine.cpu}${memory}`;
    const missing = notRun.map(({ runtime, reason }) => `<br>Not measured: ${escaped(runtime)}: ${escaped(reason)}`);
    return `<tr><th scope="row">${escaped(label)}</th><td>${escaped(measuredAt.slice(0, 16).replace("T", " "))} UTC</td>
<td>${escaped(runtimes.map(nameOf).join("; "))}${missing.join("")}</td>
<td>${escaped(cpu)}<br>${escaped(machine.system)}, ${escaped(machine.fileSystem)}</td>
<td>${
      budget === "quick"
        ? "a short look: not worth quoting"
        : budget === "full"
        ? "full"
        : "made to measure"
    }</td></tr>`;
  });
  return `<section><h2>What was measured on</h2>${
    tableOf("Runs", ["run", "when", "runtimes", "machine", "budget"], rows)
  }</section>`;
}

/** Ours beside the baseline, case by case: what most readers came for. */
function glance(runs: readonly ReportRun[], names: readonly string[]): string {
  const rows = names.flatMap((name) =>
    runs.flatMap(({ label, document }) => {
      const runtime = document.runtimes.find((one) => nameOf(one) === name);
      return (runtime?.cases ?? []).flatMap((result) =>
        result.series.filter(({ lane, samples }) => lane.startsWith("holdfast") && samples.length > 0).map((series) => {
          const ratio = ratioText(result, series);
          const which = runs.length > 1 ? `<td>${escaped(label)}</td>` : "";
          return `<tr><th scope="row">${escaped(result.name)}</th><td>${
            escaped(`${series.lane}: ${series.measure}`)
          }</td>${which}<td class="number">${
            figure(percentile(series.samples, 50), series)
          }</td><td class="number">${ratio}</td><td>${escaped(result.baseline)}</td><td>${escaped(name)}</td></tr>`;
        })
      );
    })
  );
  if (rows.length === 0) return "";
  const head = ["case", "measure", ...(runs.length > 1 ? ["run"] : []), "p50", "× the baseline", "baseline", "runtime"];
  return `<section><h2>Holdfast beside the baseline</h2>
<p>A ratio of paired rounds is the median of the quotients of each round, with the quartiles. Of a time, below 1 is faster
than the baseline; of what is done per second, above 1 is.</p>
${tableOf("Holdfast beside the baseline", head, rows)}</section>`;
}

function runtimeSection(name: string, runs: readonly ReportRun[], place: (figure: Figure | null) => string): string {
  const having = runs.flatMap(({ label, document }, run) => {
    const result = document.runtimes.find((one) => nameOf(one) === name);
    return result === undefined ? [] : [{ run, label: runs.length > 1 ? label : "", result }];
  });
  const caseNames = [...new Set(having.flatMap(({ result }) => result.cases.map((one) => one.name)))];
  const curves = families(caseNames).flatMap((family) => {
    const cases = having.flatMap(({ result }) =>
      result.cases.filter((one) => family.cases.some((each) => each.name === one.name))
    );
    return measuresOf(cases).map((measure) => place(growth(having, family, measure)));
  }).filter((html) => html !== "");
  const notes = having.flatMap(({ label, result }) => [
    ...(result.notes ?? []).map((note) => label === "" ? note : `${label}: ${note}`),
    ...result.absent.map(({ name, reason }) => `Not measured: ${name}: ${reason}`),
  ]);
  return `<section><h2>${escaped(name)}</h2>
${
    notes.length === 0
      ? ""
      : `<ul class="notes">${[...new Set(notes)].map((note) => `<li>${escaped(note)}</li>`).join("")}</ul>`
  }
${curves.length === 0 ? "" : `<h3>How it grows</h3><div class="curves">${curves.join("\n")}</div>`}
${caseNames.map((caseName) => caseSection(caseName, having, place)).join("\n")}</section>`;
}

function caseSection(
  name: string,
  having: readonly { readonly run: number; readonly label: string; readonly result: RuntimeResult }[],
  place: (figure: Figure | null) => string,
): string {
  const results = having.flatMap(({ run, label, result }) => {
    const found = result.cases.find((one) => one.name === name);
    return found === undefined ? [] : [{ run, label, result: found }];
  });
  const isCompared = having.length > 1;
  const measures = measuresOf(results.map(({ result }) => result));
  const rows = lanesOf(results.map(({ result }) => result)).flatMap((lane) =>
    measures.flatMap((measure) =>
      results.flatMap(({ label, result }) =>
        result.series.filter((one) => one.lane === lane && one.measure === measure).map((series) =>
          laneRow(result, series, isCompared ? label : null, measures.length > 1, againstFirst(results, series))
        )
      )
    )
  );
  const head = [
    "contestant",
    ...(isCompared ? ["run"] : []),
    ...(measures.length > 1 ? ["measure"] : []),
    "n",
    "p50",
    "p90",
    "p99",
    "max",
    "× the baseline",
    ...(isCompared ? ["× the first run"] : []),
  ];
  const facts = results.flatMap(({ label, result }) =>
    Object.entries(result.facts ?? {}).map(([fact, value]) =>
      `${label === "" ? "" : `${label}: `}${fact}: ${shown(value)}`
    )
  );
  const noise = results.flatMap(({ label, result }) => noiseOf(result, label));
  return `<div class="case"><h3>${escaped(name)}</h3>
<div class="pair"><div>${tableOf(name, head, rows)}
${facts.length === 0 ? "" : `<ul class="notes">${facts.map((text) => `<li>${escaped(text)}</li>`).join("")}</ul>`}
${noise.map((text) => `<p class="noise">${escaped(text)}</p>`).join("")}</div>
<div>${measures.map((measure) => place(distribution(results, measure))).join("\n")}</div></div></div>`;
}

function laneRow(
  result: CaseResult,
  series: Series,
  label: string | null,
  hasMeasure: boolean,
  first: number | null,
): string {
  const isBaseline = series.lane === result.baseline;
  const cells = [
    ...(label === null ? [] : [`<td>${escaped(label)}</td>`]),
    ...(hasMeasure ? [`<td>${escaped(series.measure)}</td>`] : []),
  ];
  const name = `<th scope="row">${escaped(series.lane)}${isBaseline ? " *" : ""}</th>`;
  if (series.samples.length === 0) {
    return `<tr>${name}${cells.join("")}<td class="number">0</td>${`<td class="number">–</td>`.repeat(5)}${
      label === null ? "" : "<td>–</td>"
    }</tr>`;
  }
  const { count, p50, p90, p99, max } = summarize(series.samples);
  const numbers = [
    String(count),
    ...[p50, p90, p99, max].map((value) => figure(value, series)),
    ratioText(result, series),
    ...(label === null ? [] : [first === null ? "–" : first.toFixed(2)]),
  ];
  return `<tr class="${isBaseline ? "baseline" : ""}">${name}${cells.join("")}${
    numbers.map((text) => `<td class="number">${text}</td>`).join("")
  }</tr>`;
}

/** Median beside the median of the first run that has this case. */
function againstFirst(results: readonly { readonly result: CaseResult }[], series: Series): number | null {
  const first = results[0]?.result.series.find((one) => one.lane === series.lane && one.measure === series.measure);
  if (first === undefined || first.samples.length === 0 || series.samples.length === 0) return null;
  const base = percentile(first.samples, 50);
  return base > 0 ? percentile(series.samples, 50) / base : null;
}

/** What the baseline says of itself: differences as small as that mean nothing. */
function noiseOf(result: CaseResult, label: string): string[] {
  const twin = result.series.find(({ lane }) => lane === TWIN);
  const base = result.series.find(({ lane }) => lane === result.baseline);
  const ratio = twin && base ? pairedRatio(twin.samples, base.samples) : null;
  if (ratio === null) return [];
  const whose = label === "" ? "" : `${label}: `;
  return [
    `${whose}Noise: the baseline against itself is × ${ratio.p50.toFixed(2)}, half of the rounds between ${
      ratio.p25.toFixed(2)
    } and ${ratio.p75.toFixed(2)}. A ratio inside of that says nothing.`,
  ];
}

function ratioText({ baseline, isPaired, series }: CaseResult, { lane, measure, samples }: Series): string {
  if (lane === baseline) return "1";
  const base = series.find((one) => one.lane === baseline && one.measure === measure)?.samples ?? [];
  if (base.length === 0 || samples.length === 0) return "–";
  if (!isPaired) {
    const median = percentile(base, 50);
    return median > 0 ? `${short(percentile(samples, 50) / median)} <small>of medians</small>` : "–";
  }
  const ratio = pairedRatio(samples, base);
  return ratio === null ? "–" : `${short(ratio.p50)} <small>${short(ratio.p25)}–${short(ratio.p75)}</small>`;
}

function legend({ lines }: Figure): string {
  const items = lines.map(({ label, colour, run, isBaseline }) =>
    `<li><span class="line colour-${colour % COLOURS} run-${run % PATTERNS}"></span>${escaped(label)}${
      isBaseline ? " *" : ""
    }</li>`
  );
  return `<ul class="legend">${items.join("")}</ul>`;
}

/** How many colours and patterns there are before they come again. */
export const COLOURS = 8;
/** See {@linkcode COLOURS}. */
export const PATTERNS = 4;

function tableOf(label: string, head: readonly string[], rows: readonly string[]): string {
  const cells = head.map((text) =>
    `<th scope="col"${/^(n|p\d+|max|×.*)$/.test(text) ? ' class="number"' : ""}>${escaped(text)}</th>`
  );
  return `<div class="table" role="region" tabindex="0" aria-label="Table: ${escaped(label)}"><table>
<thead><tr>${cells.join("")}</tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`;
}

function figure(value: number, { unit }: Series): string {
  if (unit === "bytes") return value < 1e6 ? `${shown(value / 1024)} KiB` : `${shown(value / 1024 ** 2)} MiB`;
  return unit === "ms" ? `${shown(value)} ms` : unit === "per second" ? `${shown(value)}/s` : shown(value);
}

function short(value: number): string {
  return value < 100 ? value.toFixed(2) : value.toFixed(0);
}

function nameOf({ runtime, medium }: RuntimeResult): string {
  return `${runtime}, ${medium}`;
}

/** Text as it may stand in HTML, in an attribute too. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
