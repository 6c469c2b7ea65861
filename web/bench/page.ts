/**
 * The page that measures the browser it is opened in, and shows what came of it.
 *
 * @module
 */
import type { RuntimeResult } from "../../bench/bench_case.ts";
import { drawFigures } from "../../bench/plots/draw.ts";
import { PLOT_COLOURS, REPORT_STYLE } from "../../bench/plots/style.ts";
import { reportView } from "../../bench/plots/view.ts";
import type { BenchDocument } from "../../bench/run.ts";
import type { MeasureMessage, MeasureRequest } from "./worker.ts";

const PAGE_STYLE = `
.bench-controls { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: center; }
#measure { background: var(--sea); color: var(--sea-ink); border-color: var(--sea); font-weight: 600; padding: 0.45rem 1.1rem; }
#measure:disabled { background: transparent; color: var(--ink-soft); border-color: var(--line); }
#progress { width: min(100%, 30rem); accent-color: var(--sea); }
#failure:not(:empty) { border: 1px solid var(--rust-line); background: var(--rust-wash); color: var(--rust); border-radius: 6px; padding: 0.7rem 0.9rem; max-width: 52rem; }
`;

/** Styles in a script are forbidden by the policy of the page; a sheet that is adopted is not. */
function adoptStyle(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(PLOT_COLOURS + REPORT_STYLE + PAGE_STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

function element<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

const measureButton = element<HTMLButtonElement>("measure");
const stopButton = element<HTMLButtonElement>("stop");
const save = element<HTMLAnchorElement>("save");
const bar = element<HTMLProgressElement>("progress");
const status = element("status");
const failure = element("failure");
const results = element("results");
const isShort = new URLSearchParams(location.search).has("short");
let forget = () => {};

function start(): void {
  failure.textContent = "";
  if (typeof Worker !== "function") return fail("This browser has no workers, and only a worker may write and flush.");
  const startedAt = new Date().toISOString();
  let isHidden = document.visibilityState === "hidden";
  const onVisibility = () => isHidden ||= document.visibilityState === "hidden";
  document.addEventListener("visibilitychange", onVisibility);
  const worker = new Worker(new URL("./bench_worker.js", import.meta.url), { type: "module" });
  const end = (text: string) => {
    worker.terminate();
    document.removeEventListener("visibilitychange", onVisibility);
    measureButton.disabled = false;
    stopButton.hidden = bar.hidden = true;
    status.textContent = text;
  };
  measureButton.disabled = true;
  stopButton.hidden = bar.hidden = false;
  bar.value = 0;
  let told = "";
  worker.onerror = ({ message }) => {
    end("");
    fail(`The worker could not run: ${message || "the browser does not say why"}`);
  };
  worker.onmessage = ({ data }: MessageEvent<MeasureMessage>) => {
    switch (data.kind) {
      case "progress": {
        bar.value = data.share;
        // Whoever listens to the page hears each case once, and not each round.
        const name = data.text.split(":")[0]!;
        if (name !== told) status.textContent = `Measuring ${told = name}`;
        return;
      }
      case "failure":
        end("Nothing was measured.");
        return fail(data.message);
      case "result": {
        end("Done. What follows was measured just now, in this browser.");
        const notes = isHidden
          ? ["The tab was hidden for a while, when browsers slow a page down: measure again."]
          : [];
        return show(documentOf({ ...data.result, notes: [...data.result.notes ?? [], ...notes] }, startedAt));
      }
    }
  };
  stopButton.onclick = () => end("Stopped. Nothing is shown of a measurement that was not finished.");
  worker.postMessage({ runtime: browserName(), isShort } satisfies MeasureRequest);
}

function show(found: BenchDocument): void {
  forget();
  const { html, figures } = reportView([{ label: "this browser", document: found }]);
  results.innerHTML = html;
  forget = drawFigures(results, figures);
  URL.revokeObjectURL(save.href);
  save.href = URL.createObjectURL(new Blob([JSON.stringify(found) + "\n"], { type: "application/json" }));
  save.hidden = false;
}

function fail(message: string): void {
  failure.textContent = message;
}

/** What a browser says of its machine, which is little. */
function documentOf(result: RuntimeResult, measuredAt: string): BenchDocument {
  const { deviceMemory = 0 } = navigator as { readonly deviceMemory?: number };
  return {
    machine: {
      system: navigator.platform || "unknown system",
      cpu: "a processor the browser does not name",
      cpuCount: navigator.hardwareConcurrency,
      memoryBytes: deviceMemory * 1024 ** 3,
      fileSystem: "the browser's private file system",
    },
    measuredAt,
    budget: isShort ? "quick" : "full",
    runtimes: [result],
    notRun: [],
  };
}

function browserName(): string {
  const [, name, version] = /(Firefox|Chrome)\/(\d+)/.exec(navigator.userAgent) ?? [];
  if (name !== undefined) return `${name === "Chrome" ? "Chromium" : name} ${version}`;
  const [, safari] = /Version\/(\d+)\S* .*Safari/.exec(navigator.userAgent) ?? [];
  return safari === undefined ? "An unknown browser" : `Safari ${safari}`;
}

adoptStyle();
measureButton.onclick = start;
