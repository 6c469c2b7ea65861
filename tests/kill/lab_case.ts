/**
 * Everything that is known about a run of the lab.
 *
 * @module
 */
import type { OpenedReport } from "./lab_agent.ts";
import type { LabPlan } from "./lab_plan.ts";
import type { LabEffect } from "./lab_world.ts";
import type { RawRow } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

/** What is known of one process. */
export interface DeadProcess {
  /** The events that could be read after its kill; `null` when there was no log. */
  readonly left: readonly RawRow[] | null;
  readonly trace: readonly TraceLine[];
}

/** Something that happened, with the attempt where no key tells it. */
export type JudgedEffect = LabEffect & { readonly attempt?: "first" | "again" };

/** Everything known about one run. */
export interface LabCase {
  readonly plan: LabPlan;
  readonly processes: readonly DeadProcess[];
  /** What a reader said of the log as the last process left it, and what the first undisturbed resume found. */
  readonly read: OpenedReport["calls"];
  readonly opened: OpenedReport | null;
  /** The events at the end. */
  readonly final: readonly RawRow[];
  /** All that happened for the calls of this run, also after everything was over. */
  readonly effects: readonly JudgedEffect[];
}
