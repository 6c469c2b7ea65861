// A stranger's program on Node. `agent.mjs pay ROOT` dies in the middle of an effect; `agent.mjs resume ROOT` goes on.
import { createAgent, defineTool, scripted } from "@holdfast/holdfast";
import { openFileStore } from "@holdfast/holdfast/file";

const [what, root] = process.argv.slice(2);
const store = openFileStore({ root });
const pay = defineTool({
  name: "pay",
  description: "Pays somebody",
  parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effect: "keyed",
  async execute({ to }, { effectKey }) {
    if (to === "alice") {
      process.stdout.write(JSON.stringify({ session: session.id, effectKey }) + "\n");
      await new Promise((resolve) => setTimeout(resolve, 600_000)); // The test kills this process here.
    }
    return `paid ${to}`;
  },
});
const call = (to) => [{ call: { name: "pay", arguments: { to } } }];
const model = scripted([call(what === "pay" ? "alice" : "bob"), [{ text: "Paid." }]]);
const agent = createAgent({ store, model, tools: [pay], approvers: [() => "allowed-once"] });

let session;
if (what === "pay") {
  session = await agent.create();
} else {
  const { value: row } = await store.list()[Symbol.asyncIterator]().next();
  session = await agent.resume(row.id);
}
const { reason } = await session.send("pay");
console.log(JSON.stringify({ session: session.id, calls: session.resumed.calls, reason: reason.kind }));
await session.close();
await store.close();
