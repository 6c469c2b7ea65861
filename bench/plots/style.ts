/**
 * How a report looks. One text, for the file that stands alone and for the page that measures: a page whose policy allows no
 * style in a script adopts it as a sheet.
 *
 * @module
 */

const LIGHT = `
  --paper: #f7f7f4; --sheet: #ffffff; --line: #d9d9d1; --ink: #1b1f1e; --ink-soft: #565c59; --sea: #0d5560; --sea-ink: #ffffff;
  --plot-ink: #565c59; --plot-grid: #e3e3dc;
  --plot-0: #0d6f7c; --plot-1: #4a4f4d; --plot-2: #b3541e; --plot-3: #6a4fb0; --plot-4: #2f7d43; --plot-5: #b0355f;
  --plot-6: #86690c; --plot-7: #2b62b8;`;
const DARK = `
  --paper: #121615; --sheet: #191e1d; --line: #2c3331; --ink: #e4e8e5; --ink-soft: #9fa9a4; --sea: #7cc7cb; --sea-ink: #0b1f22;
  --plot-ink: #9fa9a4; --plot-grid: #2a312f;
  --plot-0: #6fd3d8; --plot-1: #b9c1bd; --plot-2: #f0a36b; --plot-3: #b9a4f5; --plot-4: #85d39b; --plot-5: #f08fb0;
  --plot-6: #dcc160; --plot-7: #86b4f7;`;

const COLOURS = Array.from(
  { length: 8 },
  (_, index) => `.report .colour-${index} { color: var(--plot-${index}); }`,
).join("\n");

/** The colours of the file that stands alone; a page of ours has most of them, and lacks only those of the plots. */
export const REPORT_COLOURS: string = `
:root { color-scheme: light dark; ${LIGHT} }
@media (prefers-color-scheme: dark) { :root { ${DARK} } }
`;

/** Everything below `.report`. */
export const REPORT_STYLE: string = `
.report { max-width: 84rem; margin: 0 auto; padding: 1.4rem 1.2rem 3rem; }
.report h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.2rem 0 0.4rem; }
.report h2 { font-size: 1.25rem; margin: 2.2rem 0 0.6rem; padding-top: 0.9rem; border-top: 1px solid var(--line); }
.report h3 { font-size: 1.05rem; margin: 0 0 0.5rem; }
.report p { max-width: 52rem; margin: 0.4rem 0; }
.report a { color: var(--sea); }
.report .notes { color: var(--ink-soft); margin: 0 0 0.8rem; padding-inline-start: 1.1rem; max-width: 60rem; list-style: disc; }
.report .noise { color: var(--ink-soft); font-size: 0.92em; }
.report .table { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--sheet); }
.report .table:focus-visible { outline: 2px solid var(--sea); outline-offset: 2px; }
.report table { border-collapse: collapse; width: 100%; font-size: 0.93rem; }
.report th, .report td { text-align: start; vertical-align: top; padding: 0.32rem 0.5rem; }
.report thead th { color: var(--ink-soft); font-weight: 600; white-space: nowrap; border-bottom: 1px solid var(--line); }
.report tbody th { font-weight: 500; min-width: 7.5rem; }
.report tbody tr + tr > * { border-top: 1px solid var(--line); }
.report .number { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; font-family: inherit; font-size: inherit; }
.report small { color: var(--ink-soft); }
.report .number small { display: block; }
.report tr.baseline > * { color: var(--ink-soft); }
.report .case, .report .curves > figure { margin-top: 1rem; }
.report .case { border: 1px solid var(--line); border-radius: 8px; padding: 0.9rem; background: var(--paper); }
.report .pair { display: grid; grid-template-columns: minmax(0, 1.3fr) minmax(0, 1fr); gap: 1.1rem; align-items: start; }
.report .curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 0 1.1rem; margin-bottom: 1.2rem; }
.report figure { margin: 0; min-width: 0; border: 1px solid var(--line); border-radius: 6px; background: var(--sheet); padding: 0.6rem 0.7rem; }
.report figure + figure { margin-top: 0.8rem; }
.report .curves > figure + figure { margin-top: 1rem; }
.report figcaption { font-weight: 600; font-size: 0.93rem; margin-bottom: 0.2rem; }
.report .plot { min-height: 260px; width: 100%; overflow: hidden; }
.report .legend { display: flex; flex-wrap: wrap; gap: 0.15rem 1rem; margin: 0.3rem 0 0; padding: 0; list-style: none; font-size: 0.88rem; }
.report .legend li { display: flex; align-items: center; gap: 0.4rem; }
.report .line { display: inline-block; width: 1.5rem; border-top: 3px solid; }
.report .line.run-1 { border-top-style: dashed; }
.report .line.run-2 { border-top-style: dotted; }
.report .line.run-3 { border-top-style: double; }
${COLOURS}
.report .uplot, .report .uplot * { box-sizing: border-box; }
.report .uplot { width: min-content; font-family: inherit; line-height: 1.5; }
.report .u-wrap { position: relative; user-select: none; }
.report .u-over, .report .u-under { position: absolute; }
.report .u-under { overflow: hidden; }
.report .uplot canvas { display: block; position: relative; width: 100%; height: 100%; }
.report .u-axis { position: absolute; }
@media (max-width: 68rem) { .report .pair { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 30rem) {
  .report { padding: 1rem 0.8rem 2rem; }
  .report .case { padding: 0.7rem; }
  .report th, .report td { padding: 0.3rem 0.35rem; }
  .report table { font-size: 0.86rem; }
  .report tbody th { min-width: 5.6rem; }
}
@media print { .report .case { break-inside: avoid; } }
`;

/** The colours of the plots alone, for a page that has the others. */
export const PLOT_COLOURS: string = `
:root { ${plotOnly(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { ${plotOnly(DARK)} } }
`;

function plotOnly(colours: string): string {
  return colours.split(";").filter((rule) => rule.includes("--plot-")).join(";") + ";";
}
