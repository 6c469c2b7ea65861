/**
 * The script inside of `report.html`: draws the figures that stand in the file.
 *
 * @module
 */
import { drawFigures } from "./draw.ts";
import type { Figure } from "./figures.ts";

const data = document.getElementById("figures")!.textContent!;
drawFigures(document.querySelector<HTMLElement>(".report")!, JSON.parse(data) as readonly Figure[]);
