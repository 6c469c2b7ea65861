// Calls a tool of an MCP server, which is this very program under another argument, and prints what came of it.
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

if (process.argv[2] === "serve") {
  const results = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "b", version: "1" },
    }),
    "tools/list": () => ({ tools: [{ name: "pay", inputSchema: { type: "object" } }] }),
    "tools/call": ({ arguments: { to } }) => ({ content: [{ type: "text", text: `paid ${to}` }] }),
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method](params) }));
  }
} else {
  const { createAgent, scripted } = await import("@holdfast/holdfast");
  const { openMemoryStore } = await import("@holdfast/holdfast/memory");
  const { connectMcp } = await import("@holdfast/holdfast/mcp");
  const { instrumentAgent } = await import("@holdfast/holdfast/otel");
  const endpoint = { command: process.execPath, args: [fileURLToPath(import.meta.url), "serve"] };
  const server = await connectMcp({ name: "bank", endpoint });
  const model = scripted([[{ call: { name: "bank__pay", arguments: { to: "alice" } } }], [{ text: "Paid." }]]);
  const store = openMemoryStore({ simulate: "disk" });
  const agent = createAgent({ store, model, tools: server.tools, approvers: [() => "allowed-once"] });
  const spans = [];
  const span = { setAttribute() {}, setAttributes() {}, addEvent() {}, setStatus() {}, end() {} };
  const startSpan = (name) => (spans.push(name), span);
  instrumentAgent(agent, { tracerProvider: { getTracer: () => ({ startSpan }) } });
  let result;
  agent.hooks.on("tools/result", (_call, { content }) => {
    result = content[0].text;
  });
  const session = await agent.create();
  const { reason } = await session.send("pay");
  console.log(JSON.stringify({ reason: reason.kind, result, spans: spans.slice(0, 9) }));
  await session.close();
  await server.close();
}
