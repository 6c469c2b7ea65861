/**
 * How a step is entered: what was claimed is made durable, room is made, what the model will be told is put together, and
 * listeners decide.
 *
 * @see execution §1.2 (3 to 5)
 * @module
 */
import { passBarrier } from "../checkpoint/mod.ts";
import { type Message, snapshotOf } from "../event/mod.ts";
import { relievePressure } from "./compact_pressure.ts";
import { hookAnswer } from "./hook_answer.ts";
import type { Assembly, LoopPlace, StepDecision } from "./hooks.ts";
import { offeredTools } from "./kept_results.ts";
import type { Loop } from "./loop.ts";
import { ownSections, snapshotMessage } from "./runtime_context.ts";

/** What a step is entered with; `null` when it is rejected. */
export type StepEntry = { readonly messages: readonly Message[]; readonly assembly: Assembly } | null;

/**
 * Claims what waits for a step and asks whether it is entered.
 *
 * @throws the signal's reason, a barrier's refusal, or what a listener threw; no step was started
 *
 * @example
 * ```ts
 * import type { LoopPlace } from "./hooks.ts";
 * import type { Loop } from "./loop.ts";
 * import { enterStep } from "./step_entry.ts";
 *
 * async function isRejected(loop: Loop, place: LoopPlace): Promise<boolean> {
 *   return await enterStep(loop, place) === null;
 * }
 * ```
 */
export async function enterStep(loop: Loop, place: LoopPlace): Promise<StepEntry> {
  const { session, hooks } = loop;
  const { turn, step, signal } = place;
  const claimed = loop.inbox.claim(turn, step === 1);
  await passBarrier(session, { barrier: "pre-step", throughSeq: session.nextSeq - 1, signal });
  // Before anything is put together: what was summarised away is then said again in this very step.
  await relievePressure(loop, place, claimed);

  const assembly = checkedAssembly(
    await hookAnswer(
      signal,
      () => hooks.waterfall("system-prompt/assemble", [place], () => Promise.resolve(ownAssembly(loop)), about(loop)),
    ),
  );
  const context = snapshotMessage(session.folds.surface, assembly.context, session.random);
  const messages: readonly Message[] = Object.freeze(context === null ? claimed : [...claimed, context]);
  const decision = await hookAnswer(signal, () =>
    hooks.waterfall(
      "agent/pre-step",
      [{ ...place, messages }],
      () => Promise.resolve<StepDecision>({ kind: "enter", messages }),
      about(loop),
    ));
  const entered = checkedMessages(decision);
  return entered === null ? null : { messages: entered, assembly };
}

function about({ session }: Loop): { readonly subject: object } {
  return { subject: session };
}

function ownAssembly(loop: Loop): Assembly {
  const { session, systemPrompt, policy } = loop;
  return { systemPrompt, tools: offeredTools(loop), context: ownSections(session.folds.policy, policy) };
}

/** A listener is a stranger: what it answers is copied, so that it stays as it was found. */
function checkedAssembly(found: Assembly): Assembly {
  const { systemPrompt, tools, context } = found;
  if (typeof systemPrompt !== "string" || !Array.isArray(tools) || !Array.isArray(context)) {
    throw new TypeError("Cannot enter a step: a listener of system-prompt/assemble answered with no assembly");
  }
  return {
    systemPrompt,
    tools: tools.map(({ name, description, parameters }) => copy({ name, description, parameters })),
    context: context.map(({ name, order, text }) => {
      if (typeof name !== "string" || typeof order !== "number" || typeof text !== "string") {
        throw new TypeError("Cannot enter a step: a section of the runtime context has no name, order or text");
      }
      return { name, order, text };
    }),
  };
}

function checkedMessages(decision: StepDecision): readonly Message[] | null {
  if (decision?.kind === "reject") return null;
  if (decision?.kind === "enter" && Array.isArray(decision.messages)) return copy(decision.messages);
  throw new TypeError("Cannot enter a step: a listener of agent/pre-step answered with no decision");
}

function copy<Value>(value: Value): Value {
  return snapshotOf(value, "what a listener answered");
}
