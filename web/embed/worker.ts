import { defineTool } from "@holdfast/holdfast";
import { openOpfsStore } from "@holdfast/holdfast/opfs";
import { serveWorker } from "@holdfast/holdfast/worker";

const pay = defineTool({
  name: "pay",
  description: "Pays somebody",
  parameters: { type: "object", properties: { to: { type: "string" }, amount: { type: "string" } } },
  effect: "keyed", // asks the person first; a payment service deduplicates by call.effectKey
  execute: (args, call) => `paid ${JSON.stringify(args)} under key ${call.effectKey}`,
});
serveWorker({ openStore: () => openOpfsStore(), tools: [pay] });
