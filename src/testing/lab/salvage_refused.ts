/**
 * What salvage makes of a session that was refused: a copy on a medium of its own, and a process that goes on with it.
 *
 * @module
 */
import { hasCode } from "../../../mod.ts";
import { logBytes, salvageLog } from "../../entry/salvage.ts";
import type { Files, LabTrace } from "../judge/mod.ts";
import { simulatedMedium } from "../media/mod.ts";
import { LAB_SESSION_ID, LabProcess, type ProcessOptions, type Workshop } from "./lab_process.ts";
import type { Run } from "./moment.ts";
import type { MediumKind } from "./unit.ts";

/** What is salvaged, and by whom. */
export interface RefusedSession extends ProcessOptions {
  readonly workshop: Workshop;
  readonly medium: MediumKind;
  /** The full name of the refused log. */
  readonly log: string;
}

/**
 * Salvages a damaged log and lets another process run a turn on the copy. The run itself goes on without any of this.
 *
 * @param image the files as the crash left them
 * @returns `undefined` when there is no event in the log: nothing of it is there to be salvaged
 */
export async function salvageRefused(run: Run, image: Files, refused: RefusedSession): Promise<LabTrace["salvaged"]> {
  const { workshop, log, compression, medium: kind } = refused;
  const other = run.fork();
  other.incarnation++;
  const medium = simulatedMedium({ kind, seed: refused.seed });
  const storage = medium.open("salvager");
  try {
    const source = logBytes(log, new Uint8Array(image.get(log)!));
    const runtime = {
      clock: { now: () => 0, schedule: () => () => {} },
      random: { bytes: (size: number) => new Uint8Array(size) },
    };
    await salvageLog(source, {
      ...{ storage, codec: workshop.codec, compression, runtime, newId: () => LAB_SESSION_ID },
    });
  } catch (error) {
    if (!hasCode(error, "CORRUPT_LOG")) throw error;
    return other.record.acknowledgedThroughSeq < 0 ? undefined : { log, files: new Map(), wentOn: false };
  } finally {
    await storage.close();
  }
  const files = medium.snapshot();
  const life = new LabProcess(workshop, other, medium, { ...refused, isChancy: false, lockHeldAfterDeath: 0 });
  const opened = await life.resume();
  if (opened.kind !== "open") return { log, files, wentOn: false };
  const ended = await life.play(opened.session, "say", `${other.incarnation}s`);
  const outcome = ended.kind === "done" ? ended.value as { readonly reason: { readonly kind: string } } : null;
  medium.kill(life.name);
  return { log, files, wentOn: outcome?.reason.kind === "completed" };
}
