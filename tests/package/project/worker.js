// The first time it writes a session into the browser's own file system; later it reads it back and goes on.
import { createAgent, defineTool, scripted } from "@holdfast/holdfast";
import { openOpfsStore } from "@holdfast/holdfast/opfs";

async function main() {
  const store = await openOpfsStore({ root: "sessions" });
  const pay = defineTool({
    name: "pay",
    description: "Pays somebody",
    parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    effect: "keyed",
    execute: ({ to }) => `paid ${to}`,
  });
  const model = scripted([[{ call: { name: "pay", arguments: { to: "alice" } } }], [{ text: "Paid." }]]);
  const agent = createAgent({ store, model, tools: [pay], approvers: [() => "allowed-once"] });

  const found = [];
  for await (const row of store.list()) found.push(row.id);
  const session = found.length === 0 ? await agent.create() : await agent.resume(found[0]);
  const before = await session.session.history({ from: 0, limit: 1000 });
  const { reason } = await session.send("pay alice");
  const { durableSeq } = session.session;
  await session.close();
  await store.close();
  return { found, id: session.id, before: before.events.map(({ type }) => type), reason: reason.kind, durableSeq };
}

main().then(postMessage, (error) => postMessage({ error: `${error.code ?? error.name}: ${error.message}` }));
