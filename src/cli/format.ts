/**
 * Sizes, times and tables for a person.
 *
 * @module
 */
import { printableLine } from "./printable.ts";

/** The longest piece of foreign text on one line, in UTF-16 units. */
const PIECE_LENGTH_MAX = 160;

/** Rows as columns, the last one as long as it is. A cell never breaks its line. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(printableLine));
  const widths: number[] = [];
  for (const row of cells) row.forEach((cell, index) => widths[index] = Math.max(widths[index] ?? 0, cell.length));
  return cells.map((row) =>
    row.map((cell, index) => index === row.length - 1 ? cell : cell.padEnd(widths[index]!)).join("  ").trimEnd()
  );
}

/** A size: `812 B`, `4.1 KiB`, `3.0 MiB`. */
export function humanSize(sizeBytes: number): string {
  let value = sizeBytes;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024) return unit === "B" ? `${value} B` : `${value.toFixed(1)} ${unit}`;
    value /= 1024;
  }
  return `${value.toFixed(1)} TiB`;
}

/** A time in UTC: `2026-11-30 12:34:56`. A number that is no time stays a number. */
export function humanTime(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? String(timeMs) : date.toISOString().replace("T", " ").slice(0, 19);
}

/** `1 event`, `2 events`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Foreign text on one line, cut between characters. */
export function piece(text: string): string {
  // Cut first: the text may be huge.
  const flat = text.slice(0, 4 * PIECE_LENGTH_MAX).replace(/\s+/g, " ");
  if (flat.length <= PIECE_LENGTH_MAX && text.length <= 4 * PIECE_LENGTH_MAX) return flat;
  return flat.slice(0, PIECE_LENGTH_MAX - 1).replace(/[\ud800-\udbff]$/, "") + "…";
}

/** An argument as a POSIX shell reads it back: quoted when it must be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
