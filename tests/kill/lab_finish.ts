/**
 * What is done with a session when nobody kills any more: it is read, taken up, and what is missing is done. Knows no runtime.
 *
 * @module
 */
import { type Agent, readSession, type SessionStore } from "../../mod.ts";
import { check } from "./check.ts";
import { type OpenedReport, reportOf } from "./lab_agent.ts";
import type { LabPlan } from "./lab_plan.ts";

/** What was found when a session was taken up. */
export interface Found {
  /** What a reader said of the log as the last process left it, and what the first resume found. */
  readonly read: OpenedReport["calls"];
  readonly opened: OpenedReport | null;
}

/** Whose session it is, and what it is taken up with. */
export interface Survivor {
  readonly plan: LabPlan;
  readonly agent: Agent;
  readonly store: SessionStore;
  /** The size of the log. */
  readonly sizeOf: () => Promise<number>;
}

/**
 * Reads a session and takes it up until nothing more is found out.
 *
 * @throws {Error} when taking it up once more finds something or adds a byte
 */
export async function takeUp({ plan, agent, store, sizeOf }: Survivor): Promise<Found> {
  const { log, open } = await readSession({ store, id: plan.id });
  await log.close();
  const found: OpenedReport[] = [];
  for (let times = 0; times < 2; times++) {
    const session = await agent.resume(plan.id);
    found.push(reportOf(session.resumed!));
    await session.close();
  }
  check(found[1]!.calls.length === 0, `a second resume found ${JSON.stringify(found[1])}`);
  if (found[1]!.unresolved.length === 0) {
    const beforeBytes = await sizeOf();
    const session = await agent.resume(plan.id);
    const { verdicts, closers } = session.resumed!;
    await session.close();
    const added = await sizeOf() - beforeBytes;
    check(verdicts.length + closers.length + added === 0, `taking it up once more added ${added} bytes`);
  }
  return { read: reportOf({ calls: open?.calls ?? [], unresolved: [] }).calls, opened: found[0]! };
}

/** Has the model do what is missing. @param isThere whether there is a session */
export async function lastTurn({ plan, agent }: Survivor, isThere: boolean): Promise<void> {
  const last = isThere ? await agent.resume(plan.id) : await agent.create({ id: plan.id });
  const { reason } = await last.send("finish what is missing");
  check(reason.kind === "completed", `the last turn ended ${reason.kind}`);
  await last.close();
}
