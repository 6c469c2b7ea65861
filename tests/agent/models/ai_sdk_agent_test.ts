import { assert, assertEquals } from "@std/assert";
import { bundleForNode, findNode } from "../../support/node.ts";
import { type AgentRun, runAgentOnAiSdk } from "./ai_sdk_agent.ts";

const EXPECTED: AgentRun = {
  reason: "completed",
  paid: ["alice"],
  texts: ["pay alice", "Paid."],
  sentRoles: [["user"], ["user", "assistant", "tool"]],
  verdictOnDisk: "ok",
};

Deno.test("an agent runs on the AI SDK's OpenAI-compatible provider in Deno", async () => {
  assertEquals(await runAgentOnAiSdk(), EXPECTED);
});

Deno.test("the same agent runs unchanged in Node", async () => {
  const node = await findNode();
  const bundle = await bundleForNode("tests/agent/models/ai_sdk_agent_node.ts");
  try {
    const { success, stdout, stderr } = await new Deno.Command(node, { args: [bundle] }).output();
    assert(success, new TextDecoder().decode(stderr));
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), EXPECTED);
  } finally {
    await Deno.remove(bundle.replace(/\/[^/]*$/, ""), { recursive: true });
  }
});
