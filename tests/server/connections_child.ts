/**
 * A program: a server that says its port, and what it was told about its listener. Ends with 0 at SIGTERM when all was closed.
 *
 * Argument: the root.
 *
 * @module
 */
import { createAgent, demo } from "../../mod.ts";
import { serve } from "../../src/server/deno.ts";
import { TOKEN } from "./server_support.ts";

const serving = await serve({
  root: Deno.args[0]!,
  tokens: [TOKEN],
  agentWith: (store, approver) => createAgent({ store, model: demo(), approvers: [approver] }),
  report: (error) => console.log(`report ${error instanceof Error ? error.message : error}`),
});
Deno.addSignalListener("SIGTERM", async () => Deno.exit(await serving.shutdown(0) ? 0 : 1));
console.log(`port ${serving.port}`);
