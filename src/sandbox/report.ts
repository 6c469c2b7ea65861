/**
 * What a sandbox enforces, one answer per dimension. It is measured by the probe and never assumed.
 *
 * @module
 */

/**
 * What a confinement is about.
 *
 * - `files`: what can be changed, and whether what is hidden stays unread. Reading everything else is allowed by design.
 * - `network`: whom a process can talk to, local sockets included.
 * - `processes`: what it can do to processes outside, how many it can start, and whether any outlives it.
 * - `environment`: which variables of the server it sees.
 */
export type Dimension = "files" | "network" | "processes" | "environment";

/** All dimensions, in the order in which they are reported. */
export const DIMENSIONS: readonly Dimension[] = ["files", "network", "processes", "environment"];

/** How much of a dimension is enforced. */
export type Enforcement = "full" | "partial" | "none";

/** Something that is not enforced, in words for a person. */
export interface Gap {
  /** The dimension it belongs to. */
  readonly dimension: Dimension;
  /** What is possible all the same. */
  readonly what: string;
}

/** What a command ran under. */
export interface EnforcementReport {
  /** The mode of the policy. */
  readonly mode: "read-only" | "workspace-write" | "danger-full-access";
  /** The provider that confined it; `null` = it was not confined. */
  readonly provider: string | null;
  /** Per dimension; `null` = it was not confined, so there is nothing to report. */
  readonly enforcement: Readonly<Record<Dimension, Enforcement>> | null;
  /** Why a dimension is not "full". A dimension that the policy leaves open is "none" and has its entry too. */
  readonly gaps: readonly Gap[];
}

/** The report of a command that nothing confines. */
export const UNCONFINED: EnforcementReport = Object.freeze({
  mode: "danger-full-access",
  provider: null,
  enforcement: null,
  gaps: Object.freeze([]),
});

/**
 * The level of each dimension from what is missing in it: nothing is "full", something is "partial", and what is left
 * open altogether is "none".
 *
 * @example
 * ```ts
 * import { enforcementOf } from "./report.ts";
 *
 * const { files, network } = enforcementOf([{ dimension: "files", what: "the host's /tmp can be written" }], ["network"]);
 * if (files !== "partial" || network !== "none") throw new Error("unreachable");
 * ```
 */
export function enforcementOf(
  gaps: readonly Gap[],
  open: readonly Dimension[] = [],
): Readonly<Record<Dimension, Enforcement>> {
  const levelOf = (dimension: Dimension): Enforcement => {
    if (open.includes(dimension)) return "none";
    return gaps.some((gap) => gap.dimension === dimension) ? "partial" : "full";
  };
  return Object.freeze({
    files: levelOf("files"),
    network: levelOf("network"),
    processes: levelOf("processes"),
    environment: levelOf("environment"),
  });
}
