/**
 * Whether an event may stand next in a log: the same question for every store, so the answer lives with the folds.
 *
 * @module
 */
import { type SessionEvent, type SessionHeader, shapeProblem } from "../event/mod.ts";
import { type CheckedLog, withSurface } from "../fold/checked_log.ts";
import { withSlim } from "./legacy/slim_surface.ts";

export { type CheckedLog, emptyLog, withBatch, withEvent } from "../fold/checked_log.ts";

/**
 * The log with one more event, with a surface that forgets what its messages say: for a log that is looked through and not kept.
 * What may stand next does not depend on the texts.
 */
export function withEventLean(log: CheckedLog, event: SessionEvent, header: SessionHeader): CheckedLog | string {
  return shapeProblem(event) ?? withSurface(log, event, withSlim(log.surface, event), header);
}
