import { connectWorker, followPageState, pageState } from "@holdfast/holdfast/client";

const client = connectWorker(() => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
followPageState(client);
await client.call("hello", { tabLabel: document.title, state: pageState(document) });
const { id } = await client.call("create", {});
let asked = "";
client.subscribe((news) => {
  if (news.kind === "chunk" && news.chunk.type === "text-delta") document.body.append(news.chunk.text);
  const [open] = news.kind === "view" ? news.view.questions : [];
  if (open === undefined || open.question === asked) return;
  asked = open.question;
  void client.call("answer", { id, question: asked, decision: confirm(open.reason) ? "allowed-once" : "rejected" });
});
await client.call("send", { id, inputId: crypto.randomUUID(), text: "pay 10 to alice" });
