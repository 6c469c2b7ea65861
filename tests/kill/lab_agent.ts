/**
 * What a process of the lab does until it dies: takes the session up, or makes it, and has the model make its calls. Knows no
 * runtime.
 *
 * @module
 */
import { createAgent, hasCode, isEvent, scripted, type SessionStore, type Tool } from "../../mod.ts";
import type { Failpoints, TraceSink } from "./lab_failpoints.ts";
import type { LabPlan } from "./lab_plan.ts";
import { argumentsOf } from "./lab_tools.ts";

/** What a process is made of. */
export interface LabLife {
  readonly plan: LabPlan;
  /** Which of the plan's processes it is. */
  readonly index: number;
  /** Of the world. */
  readonly origin: string;
  readonly store: SessionStore;
  readonly tools: readonly Tool[];
  readonly points: Failpoints;
  readonly trace: TraceSink;
}

/** What taking a session up has found, as it stands in the trace. */
export interface OpenedReport {
  readonly calls: readonly { readonly callId: string; readonly class: string }[];
  /** The callSeq of each effect that is still unknown. */
  readonly unresolved: readonly number[];
}

/** Lives. Resolves when the turn is over, if the process does not die before. */
export async function live({ plan, index, origin, store, tools, points, trace }: LabLife): Promise<void> {
  const calls = plan.processes[index]!.calls.map((call) => ({
    call: { id: call.id, name: call.tool, arguments: argumentsOf(call, { origin, sessionId: plan.id }) },
  }));
  // Inputs that an earlier process did not get to come first, each in a turn of its own.
  const rest = plan.processes.map(() => [{ text: "Done." }]);
  const model = scripted([calls, ...rest]);
  const agent = createAgent({ store, model, tools, approvers: [() => "allowed-once"] });
  const session = await agent.resume(plan.id).catch((error) => {
    if (hasCode(error, "NOT_FOUND")) return agent.create({ id: plan.id });
    throw error;
  });
  if (session.resumed !== null) trace.add(["opened", Date.now(), 0, JSON.stringify(reportOf(session.resumed))]);
  session.subscribe((live) => {
    if (live.kind !== "event") return;
    const { event } = live;
    const callSeq = isEvent(event, "effect/dispatched") ? event.data.callSeq : event.sourceEventSeqs?.[0] ?? null;
    trace.add(["appended", Date.now(), event.seq, event.type, callSeq]);
  });
  points.phase = "turn";
  const { reason } = await session.send(`part ${index}`);
  trace.add(["over", Date.now(), 0, reason.kind]);
}

/** What is reported of a session that was taken up. */
export function reportOf(
  { calls, unresolved }: {
    readonly calls: OpenedReport["calls"];
    readonly unresolved: readonly { readonly callSeq: number }[];
  },
): OpenedReport {
  return {
    calls: calls.map(({ callId, class: given }) => ({ callId, class: given })),
    unresolved: unresolved.map(({ callSeq }) => callSeq),
  };
}
