/**
 * A model that believes what it reads: it makes every call of a plan that its conversation does not show as done, and leaves alone
 * what is still unknown.
 *
 * @module
 */
import { type Message, type Model, OUTCOME_UNKNOWN_TEXT, scripted, type ScriptStep } from "../../mod.ts";
import type { LabPlan } from "./lab_plan.ts";
import { argumentsOf } from "./lab_tools.ts";

/** What a call that is made again has behind its id. */
export const AGAIN = "-again";

/** Makes the model. `fetch` asks which version a resource has now. */
export function believer(plan: LabPlan, origin: string): Model {
  return {
    provider: "believer",
    id: "believer",
    async *stream(request, signal) {
      yield* scripted([await nextStep(plan, origin, request.messages)]).stream(request, signal);
    },
  };
}

async function nextStep(plan: LabPlan, origin: string, messages: readonly Message[]): Promise<ScriptStep> {
  const calls = plan.processes.flatMap(({ calls }) => calls);
  const isDoneHere = messages.some(({ content }) =>
    content.some((block) => {
      return block.type === "tool-result" && block.toolCallId.endsWith(AGAIN);
    })
  );
  const missing = isDoneHere ? [] : calls.filter(({ id }) => isMissing(id, messages));
  if (missing.length === 0) return [{ text: "Everything is done." }];
  return await Promise.all(missing.map(async (call) => {
    const etag = call.tool === "http_put" ? await etagOf(`${origin}/resources/${call.id}`) : undefined;
    const args = argumentsOf(call, { origin, sessionId: plan.id, etag });
    return { call: { id: `${call.id}${AGAIN}`, name: call.tool, arguments: args } };
  }));
}

/** Whether a conversation says that a call did not happen. */
function isMissing(callId: string, messages: readonly Message[]): boolean {
  for (const { content, source } of messages) {
    for (const block of content) {
      if (block.type !== "tool-result" || block.toolCallId !== callId) continue;
      if (!block.isError) return false;
      const text = block.content.map((part) => part.type === "text" ? part.text : "").join("");
      if (text !== OUTCOME_UNKNOWN_TEXT) return true;
    }
    const isNotice = source.kind === "plugin" && source.plugin === "holdfast" &&
      content.some((block) => block.type === "text" && block.text.includes(`call "${callId}"`));
    if (isNotice) return "summary" in source && String(source.summary).endsWith(": absent");
  }
  // Unknown and never settled; or never proposed at all.
  return !messages.some(({ content }) => content.some((block) => block.type === "tool-call" && block.id === callId));
}

async function etagOf(url: string): Promise<string> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.headers.get("etag")!;
}
