/**
 * An agent that calls a tool which never answers: `caller_child.ts ROOT LOG`. The test kills it.
 *
 * @module
 */
import { createAgent, scripted } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { connectMcp } from "../../src/mcp/mod.ts";
import { processEndpoint, ServerLog } from "./mcp_support.ts";

const [root, folder] = Deno.args;
const server = await connectMcp({ name: "bank", endpoint: processEndpoint(ServerLog.at(folder!)) });
const agent = createAgent({
  store: openFileStore({ root: root! }),
  model: scripted([[{ call: { name: "bank__hang", arguments: { to: "alice" } } }]]),
  tools: server.tools,
  approvers: [() => "allowed-once"],
});
const session = await agent.create({ id: "killed" });
await session.send("pay");
