/**
 * What one piece of the lab's work is, as data and as a word that can be typed: a seed and a unit replay a run.
 *
 * @module
 */
import { type Letter, LETTERS } from "./letters.ts";

/** A simulated medium. */
export type MediumKind = "posix" | "opfs";
/** How logs are stored. */
export type Compression = "none" | "zstd";
/** A fault of one call, as the simulated medium names it. */
export type FaultKind = typeof FAULT_KINDS[number];

/** Every fault of one call. */
export const FAULT_KINDS = [
  "EIO",
  "ENOSPC",
  "short-write",
  "sync-refused",
  "sync-drops",
  "handle-refused",
  "vanished",
] as const;
/** Every medium. */
export const MEDIA: readonly MediumKind[] = ["posix", "opfs"];
/** Every way to store a log. */
export const COMPRESSIONS: readonly Compression[] = ["none", "zstd"];

/** One piece of work: a workload on a medium, and which of its crash states are looked at. */
export interface Unit {
  /**
   * `all`: every crash state of the last letter. `random`: long lives with delays and losses, some states of each, and some of
   * what follows from them. `fault`: one call fails, and some states of what is left.
   */
  readonly kind: "all" | "random" | "fault";
  readonly medium: MediumKind;
  readonly compression: Compression;
  readonly seed: number;
  /** What each process does before it crashes; the last one crashes no more. `all` and `fault` have one. */
  readonly lives: readonly (readonly Letter[])[];
  /** For `fault`: which call of the medium fails, from 0, and how. */
  readonly fault?: { readonly operation: number; readonly kind: FaultKind; readonly isSticky: boolean };
}

/**
 * A unit as one word, without its seed.
 *
 * @example
 * ```ts
 * import { parseUnit, unitText } from "./unit.ts";
 *
 * const text = "all:posix:zstd:pay-say";
 * if (unitText(parseUnit(text, 1)) !== text) throw new Error("unreachable");
 * ```
 */
export function unitText({ kind, medium, compression, lives, fault }: Unit): string {
  const letters = lives.map((life) => life.join("-")).join("/");
  const failing = fault === undefined ? [] : [`${fault.operation}.${fault.kind}${fault.isSticky ? ".sticky" : ""}`];
  return [kind, medium, compression, letters, ...failing].join(":");
}

/**
 * Reads what {@linkcode unitText} wrote.
 *
 * @throws {SyntaxError} when it is no unit
 */
export function parseUnit(text: string, seed: number): Unit {
  const [kind, medium, compression, letters, failing] = text.split(":");
  const lives = (letters ?? "").split("/").map((life) => life === "" ? [] : life.split("-"));
  const fault = failing === undefined ? undefined : /^(\d+)\.([a-zA-Z-]+)(\.sticky)?$/.exec(failing);
  const isUnit = (kind === "all" || kind === "random" || kind === "fault") &&
    (MEDIA as readonly unknown[]).includes(medium) && (COMPRESSIONS as readonly unknown[]).includes(compression) &&
    lives.flat().every((letter) => Object.hasOwn(LETTERS, letter)) &&
    fault !== null && (fault === undefined || (FAULT_KINDS as readonly string[]).includes(fault[2]!)) &&
    (kind === "fault") === (fault !== undefined);
  if (!isUnit) throw new SyntaxError(`Cannot read the unit "${text}": wanted ${UNIT_FORM}`);
  return {
    ...{ kind, medium: medium as MediumKind, compression: compression as Compression, seed },
    lives: lives as Letter[][],
    ...(fault === undefined ? {} : {
      fault: { operation: Number(fault[1]), kind: fault[2] as FaultKind, isSticky: fault[3] !== undefined },
    }),
  };
}

/** What a unit looks like, for a message. */
export const UNIT_FORM = "all|random|fault:posix|opfs:none|zstd:LETTERS[:OPERATION.FAULT[.sticky]]";
