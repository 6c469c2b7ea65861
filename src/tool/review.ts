/**
 * What becomes of an outcome between the body and the log: the cancel, the reviewers, the tool's last word, the observers.
 *
 * @see execution §3.3 (9 to 11)
 * @module
 */
import { freezeJson } from "../event/mod.ts";
import { contextMessages } from "./contexts.ts";
import type { PostDecision } from "./hooks.ts";
import { abortedBeforeDispatch, failure, messageOf, success, type ToolOutcome } from "./outcome.ts";
import { blocksOf, outputOutcome } from "./output.ts";
import { type Scene, subjectOf } from "./scene.ts";
import { answerOf } from "./strangers.ts";
import { aborted, isUnsettled, lostResult } from "./unsettled.ts";

/** What is known about an outcome beside itself. */
export interface Unreviewed {
  readonly outcome: ToolOutcome;
  /** Whether a body was entered. */
  readonly hadBody: boolean;
  /** How much of this file applies: nothing but the observers, all but the reviewers, or all of it. */
  readonly review: "none" | "finalize" | "full";
}

/**
 * Makes an outcome final and tells the observers. Never rejects.
 *
 * A reviewer that fails takes the result with it: what was not reviewed is not shown. If a body with an effect ran, the outcome
 * then counts as unknown. An outcome that leaves its effect open stays so, whatever a reviewer says.
 *
 * @example
 * ```ts
 * import { abortedBeforeDispatch } from "./outcome.ts";
 * import { finalOutcome } from "./review.ts";
 * import type { Scene } from "./scene.ts";
 *
 * async function endUnseen(scene: Scene): Promise<string | undefined> {
 *   const outcome = await finalOutcome(scene, { outcome: abortedBeforeDispatch(), hadBody: false, review: "none" });
 *   return outcome.error?.code;
 * }
 * ```
 */
export async function finalOutcome(scene: Scene, unreviewed: Unreviewed): Promise<ToolOutcome> {
  const { review, hadBody } = unreviewed;
  let { outcome } = unreviewed;
  if (review !== "none") {
    outcome = underCancel(scene, outcome, hadBody);
    const ran = outcome;
    if (review === "full") outcome = underCancel(scene, await reviewed(scene, outcome, hadBody), hadBody);
    outcome = await finalized(scene, outcome, hadBody);
    outcome = keptOpen(scene, ran, outcome);
  }
  freezeJson(outcome);
  const { hooks } = scene.host;
  hooks.notify("tools/result", [scene.hooked, outcome], subjectOf(scene.host));
  return outcome;
}

/** A cancel takes back a success, and nothing else: denials and a body's own errors stand. */
function underCancel({ hooked, host }: Scene, outcome: ToolOutcome, hadBody: boolean): ToolOutcome {
  if (!host.signal.aborted || outcome.isError) return outcome;
  return hadBody ? aborted(outcome, hooked.effect) : abortedBeforeDispatch();
}

async function reviewed(scene: Scene, outcome: ToolOutcome, hadBody: boolean): Promise<ToolOutcome> {
  const { host, hooked } = scene;
  const chain = () =>
    host.hooks.waterfall("tools/post-execute", [hooked, outcome], () => ({ kind: "accept" }), subjectOf(host));
  const answer = await answerOf(chain, host);
  if (answer.kind === "given-up") return withheld(scene, outcome, hadBody, NOT_IN_TIME);
  if (answer.kind === "failed") return withheld(scene, outcome, hadBody, answer.error);
  try {
    return await afterDecision(scene, outcome, answer.value);
  } catch (error) {
    return withheld(scene, outcome, hadBody, error);
  }
}

const NOT_IN_TIME = new Error("its review did not end after the call was cancelled");

/** @throws whatever is wrong with the decision */
async function afterDecision(scene: Scene, outcome: ToolOutcome, decision: PostDecision): Promise<ToolOutcome> {
  const { tool, args, host } = scene;
  // Each member is read once, so that what is checked is what is kept.
  const { kind, feedback, content, value, additionalContexts } = decision as Partial<Record<string, unknown>>;
  const contexts = contextMessages(additionalContexts as Parameters<typeof contextMessages>[0], host.random);
  if (kind === "block") {
    const said = failure(new Error(String(feedback)));
    return contexts.length === 0 ? said : { ...said, additionalContexts: contexts };
  }
  if (kind !== "accept") throw new TypeError("a reviewer answered with no decision");
  if (content !== undefined && value !== undefined) throw new TypeError("a reviewer replaced both content and value");
  let next = outcome;
  if (value !== undefined) {
    if (outcome.isError) throw new TypeError("a reviewer replaced the value of a failure");
    if (tool === null || tool.output === null) {
      throw new TypeError("a reviewer replaced the value of a tool without one");
    }
    next = replaced(outcome, await outputOutcome(tool, args, value, host));
  } else next = await kept(scene, content === undefined ? outcome : withContent(outcome, content));
  const all = [...outcome.additionalContexts ?? [], ...contexts];
  return all.length === 0 ? next : { ...next, additionalContexts: all };
}

/** A long content is kept elsewhere, behind everybody who decides about it. One whose value was replaced is another's business. */
async function kept({ call, host }: Scene, outcome: ToolOutcome): Promise<ToolOutcome> {
  const { callId, callSeq, name, parentCallId } = call;
  if (host.keepContent === undefined || parentCallId !== null || callSeq === -1) return outcome;
  const content = await host.keepContent({ callId, callSeq, name, isNested: false }, outcome.content);
  return content === null ? outcome : { ...outcome, content };
}

/** The new value and what was rendered from it; if it is no good, the failure that says so. */
function replaced(outcome: ToolOutcome, rendered: ToolOutcome): ToolOutcome {
  if (rendered.isError) return rendered;
  const { meta: _, ...rest } = outcome;
  return { ...rest, ...rendered };
}

/** @throws {TypeError} when it is no content */
function withContent(outcome: ToolOutcome, given: unknown): ToolOutcome {
  const checked = success({ content: blocksOf(given) });
  if (checked.isError) throw new TypeError("the new content of a result is none");
  return { ...outcome, content: checked.content };
}

/** The tool's own last change of what the model reads. */
async function finalized(scene: Scene, outcome: ToolOutcome, hadBody: boolean): Promise<ToolOutcome> {
  const { tool, hooked, host } = scene;
  const finalize = tool?.finalizeContent ?? null;
  if (finalize === null) return outcome;
  freezeJson(outcome);
  const answer = await answerOf(() => finalize(hooked, outcome), host);
  if (answer.kind === "given-up") return withheld(scene, outcome, hadBody, NOT_IN_TIME);
  if (answer.kind === "failed") return withheld(scene, outcome, hadBody, answer.error);
  try {
    return withContent(outcome, answer.value);
  } catch (error) {
    return withheld(scene, outcome, hadBody, error);
  }
}

/** The result stays hidden. If there may be an effect behind it, the model must not take the failure for "nothing happened". */
function withheld({ hooked }: Scene, outcome: ToolOutcome, hadBody: boolean, error: unknown): ToolOutcome {
  const reason = new Error(`the result is withheld: ${messageOf(error)}`);
  const hasEffect = hadBody && hooked.effect !== "none" && (!outcome.isError || isUnsettled(outcome));
  return hasEffect ? lostResult(reason) : failure(reason);
}

/** A failure that leaves an effect open keeps its code, so that the effect counts as unresolved. */
function keptOpen({ hooked }: Scene, ran: ToolOutcome, outcome: ToolOutcome): ToolOutcome {
  if (hooked.effect === "none" || !isUnsettled(ran) || isUnsettled(outcome)) return outcome;
  const { name, code } = ran.error!;
  return { ...outcome, isError: true, error: { name, code } };
}
