/**
 * One agent with a tool, run on the AI SDK's OpenAI-compatible provider against a local endpoint, its log in files: the same
 * code in Deno and in Node.
 *
 * @module
 */
import { createOpenAICompatible } from "ai-sdk-spec-4";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, defineTool, deriveMessages, fromAiSdk, type JsonObject, type Model } from "../../../mod.ts";
import { openFileStore } from "../../../src/entry/file.ts";
import { endpointContext } from "./chat_endpoint.ts";

/** What the run came to. */
export interface AgentRun {
  readonly reason: string;
  readonly paid: readonly string[];
  readonly texts: readonly string[];
  /** The roles of the messages of each request, as the provider sent them. */
  readonly sentRoles: readonly (readonly string[])[];
  readonly verdictOnDisk: string | undefined;
}

/** Runs the turn, and reopens the log to see what is in it. */
export async function runAgentOnAiSdk(): Promise<AgentRun> {
  const modelAt = (baseURL: string): Model => fromAiSdk(createOpenAICompatible({ name: "local", baseURL })("small"));
  await using served = await endpointContext(modelAt).serve(
    { pieces: [sse({ tool_calls: [call] }, "tool_calls")] },
    { pieces: [sse({ content: "Paid." }, "stop")] },
  );
  const root = mkdtempSync(join(tmpdir(), "holdfast-ai-sdk-"));
  try {
    await using store = openFileStore({ root });
    const paid: string[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays somebody",
      parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      effect: "keyed",
      execute: (args) => `paid ${paid.push((args as { to: string }).to)}`,
    });
    const agent = createAgent({ store, model: served.model, tools: [pay], approvers: [() => "allowed-once"] });
    const session = await agent.create({ id: "run" });
    const { reason } = await session.send("pay alice");
    const texts = deriveMessages(session.session.folds.surface).flatMap(({ content }) =>
      content.flatMap((block) => block.type === "text" ? [block.text] : [])
    );
    await session.close();
    const sentRoles = served.requests.map(({ messages }) => (messages as JsonObject[]).map(({ role }) => String(role)));
    return { reason: reason.kind, paid, texts, sentRoles, verdictOnDisk: (await store.stat("run"))?.state };
  } finally {
    rmSync(root, { recursive: true });
  }
}

const call = { index: 0, id: "call_1", type: "function", function: { name: "pay", arguments: '{"to":"alice"}' } };

function sse(delta: JsonObject, finish: string): string {
  const chunk = (choice: JsonObject) => ({ id: "r", created: 1, model: "small", choices: [{ index: 0, ...choice }] });
  const events = [chunk({ delta: { role: "assistant", ...delta } }), chunk({ delta: {}, finish_reason: finish })];
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + "data: [DONE]\n\n";
}
