import { connectWorker, followPageState, pageState } from "@holdfast/holdfast/client";

const agent = connectWorker(() => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
await agent.call("hello", { tabLabel: "Shop", state: pageState(document) }).then(() => followPageState(agent));
const { id } = await agent.call("list", {}).then(([old]) => old ? agent.call("attach", old) : agent.call("create", {}));
let asked = "";
agent.subscribe(async (news) => {
  if (news.kind !== "view") return;
  const { questions: [open], unknowns } = news.view;
  document.body.innerText = JSON.stringify({ unknowns, said: await agent.call("surface", { id }) }, null, 2);
  if (open === undefined || asked === (asked = open.question)) return;
  const decision = confirm(`${open.toolName} ${open.argumentsText}?`) ? "allowed-once" : "rejected";
  await agent.call("answer", { id, question: open.question, decision });
});
await agent.call("send", { id, inputId: "order 1", text: "pay 10 to alice" }); // the same id is the same input: once
