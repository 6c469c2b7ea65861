/**
 * Draws the figures of a view into its places, in the colours of the moment: light or dark, wide or narrow.
 *
 * @module
 */
import uPlot from "uplot";
import type { Figure } from "./figures.ts";
import { COLOURS, PATTERNS } from "./view.ts";

const HEIGHT_PX = 260;
const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
/** The percentiles that are named below a distribution. */
const NAMED_PERCENTS: readonly number[] = [0, 50, 75, 90, 95, 99, 99.9];

/**
 * Draws into every `[data-figure]` below the element. Follows its width and the colours of the system until it is called off.
 *
 * @returns calls it off
 *
 * @example
 * ```ts
 * import { drawFigures } from "./draw.ts";
 * import { reportView } from "./view.ts";
 *
 * function show(element: HTMLElement, label: string, document: Parameters<typeof reportView>[0][number]["document"]) {
 *   const { html, figures } = reportView([{ label, document }]);
 *   element.innerHTML = html;
 *   return drawFigures(element, figures);
 * }
 * ```
 */
export function drawFigures(root: HTMLElement, figures: readonly Figure[]): () => void {
  const drawn = new Map<HTMLElement, { plot: uPlot; figure: Figure }>();
  const draw = (place: HTMLElement, figure: Figure) => {
    drawn.get(place)?.plot.destroy();
    drawn.set(place, { plot: plotOf(place, figure), figure });
  };
  for (const place of root.querySelectorAll<HTMLElement>("[data-figure]")) {
    const figure = figures[Number(place.dataset["figure"])];
    if (figure !== undefined) draw(place, figure);
  }
  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const { plot } = drawn.get(target as HTMLElement)!;
      const width = (target as HTMLElement).clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT_PX });
    }
  });
  for (const place of drawn.keys()) resized.observe(place);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const recolour = () => {
    for (const [place, { figure }] of drawn) draw(place, figure);
  };
  scheme.addEventListener("change", recolour);
  return () => {
    resized.disconnect();
    scheme.removeEventListener("change", recolour);
    for (const { plot } of drawn.values()) plot.destroy();
  };
}

function plotOf(place: HTMLElement, figure: Figure): uPlot {
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(`--plot-${name}`).trim();
  const isDistribution = figure.kind === "distribution";
  const values = figure.lines.flatMap((line) => line.values.filter((value) => value !== null));
  // A logarithm needs values above zero; a count that is zero somewhere is drawn straight.
  const isLogY = values.every((value) => value > 0);
  const axis = { stroke: colour("ink"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid") } };
  const font = `12px ${style.fontFamily}`;
  const shownPercents = NAMED_PERCENTS.filter((percent) => percent <= lastPercent(figure));
  const named = shownPercents.map(tailOf);
  return new uPlot(
    {
      width: place.clientWidth || 320,
      height: HEIGHT_PX,
      legend: { show: false },
      cursor: { show: false },
      padding: [10, 30, 0, 0],
      scales: {
        x: isDistribution
          ? { time: false, range: [0, tailOf(lastPercent(figure))] }
          : { time: false, distr: 3, range: (_, min, max) => [min, max] },
        y: isLogY ? { distr: 3, range: (_, min, max) => wideRange(min, max) } : {},
      },
      axes: [
        {
          ...axis,
          font,
          labelFont: font,
          label: figure.xLabel,
          labelSize: 18,
          ...(isDistribution
            ? {
              splits: () => [...named],
              values: (_: uPlot, splits: number[]) => splits.map((at) => String(shownPercents[named.indexOf(at)])),
            }
            : {
              // The sizes that were measured, and no others.
              splits: (self: uPlot) => spaced(figure.xs, self.width),
              values: (_: uPlot, splits: number[]) => splits.map(figure.isBytes ? bytes : compact),
              filter: (_: uPlot, splits: number[]) => splits,
            }),
        },
        {
          ...axis,
          font,
          labelFont: font,
          label: figure.yLabel,
          labelSize: 18,
          size: 54,
          values: (_: uPlot, splits: (number | null)[]) => splits.map((at) => at === null ? "" : compact(at)),
          ...(isLogY
            ? { splits: (_: uPlot, _axis: number, min: number, max: number) => logSplits(min, max), filter: keepAll }
            : {}),
        },
      ],
      series: [
        {},
        ...figure.lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: colour(String(line.colour % COLOURS)),
          width: line.isBaseline ? 1.5 : 2,
          dash: [...DASHES[line.run % PATTERNS]!],
          points: { show: !isDistribution, size: 6, fill: colour(String(line.colour % COLOURS)) },
          spanGaps: !isDistribution,
        })),
      ],
    },
    [
      isDistribution ? figure.xs.map(tailOf) : [...figure.xs],
      ...figure.lines.map((line) => [...line.values]),
    ],
    place,
  );
}

/** Where a percentile stands: 90, 99 and 99.9 are equally far from each other. */
function tailOf(percent: number): number {
  return -Math.log10(1 - percent / 100);
}

/** The last percentile that some line has: few samples have no far tail. */
function lastPercent({ xs, lines }: Figure): number {
  const last = xs.findLastIndex((_, index) => lines.some(({ values }) => values[index] !== null));
  return Math.max(90, xs[last] ?? 0);
}

function wideRange(min: number, max: number): [number, number] {
  return [min / 1.25, max * 1.25];
}

function keepAll(_: uPlot, splits: number[]): number[] {
  return splits;
}

/** 1, 2 and 5 of every power of ten; only the powers when that is many. */
function logSplits(min: number, max: number): number[] {
  const decades = Math.log10(max / min);
  const steps = decades > 3 ? [1] : decades > 1.6 ? [1, 3] : [1, 2, 5];
  const splits: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++) {
    for (const step of steps) {
      const at = step * 10 ** power;
      if (at >= min && at <= max) splits.push(at);
    }
  }
  return splits;
}

/** Those of the sizes whose names do not run into each other. */
function spaced(xs: readonly number[], widthPx: number): number[] {
  const ends = Math.log(xs.at(-1)! / xs[0]!) || 1;
  const gap = 52 / Math.max(120, widthPx - 90);
  const kept: number[] = [];
  for (const x of xs) {
    const last = kept.at(-1);
    if (last === undefined || Math.log(x / last) / ends >= gap) kept.push(x);
  }
  return kept;
}

function bytes(value: number): string {
  return value < 1024
    ? `${value} B`
    : value < 1024 ** 2
    ? `${compact(value / 1024)} KiB`
    : `${compact(value / 1024 ** 2)} MiB`;
}

function compact(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}
