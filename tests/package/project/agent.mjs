// A stranger's program. `agent.mjs pay ROOT` kills itself in the middle of an effect; `agent.mjs resume ROOT` settles it and goes on.
import { appendFileSync, readFileSync } from "node:fs";
import { createAgent, defineTool, scripted } from "@holdfast/holdfast";
import { openFileStore } from "@holdfast/holdfast/file";

const [what, root] = process.argv.slice(2);
const store = openFileStore({ root });
// The pretend bank: one line per payment, under its key.
const bank = `${root}-bank.txt`;
const pay = defineTool({
  name: "pay",
  description: "Pays somebody",
  parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effect: "keyed",
  execute({ to }, { effectKey }) {
    appendFileSync(bank, `${effectKey} ${to}\n`);
    if (to === "alice") process.kill(process.pid, "SIGKILL"); // The money is gone and nobody has said so yet.
    return `paid ${to}`;
  },
  reconcile({ effectKey }) {
    const line = readFileSync(bank, "utf8").split("\n").find((line) => line.startsWith(effectKey));
    return line === undefined ? { verdict: "absent" } : { verdict: "happened", content: `found: ${line}` };
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
const { calls, verdicts, unresolved } = session.resumed;
console.log(JSON.stringify({
  session: session.id,
  calls: calls.map(({ name, class: found }) => [name, found]),
  verdicts: verdicts.filter(({ type }) => type === "effect/reconciled").map(({ data }) => data.verdict),
  unresolved: unresolved.length,
  reason: reason.kind,
}));
await session.close();
await store.close();
