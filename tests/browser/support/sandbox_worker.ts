/**
 * A worker for the real page whose only tool is a shell in the sandbox of a server. What a person writes is the command.
 *
 * @module
 */
import { type Model, scripted, type ScriptStep } from "../../../mod.ts";
import { openOpfsStorage, openOpfsStore } from "../../../src/entry/opfs.ts";
import { openRawLogs } from "../../../src/entry/raw_logs.ts";
import { sandboxTool } from "../../../src/tools/sandbox_exec.ts";
import { serveWorker } from "../../../web/worker/serve.ts";

/** Put before this code by whoever serves it. */
declare const SANDBOX: { readonly endpoint: string; readonly token: string };

/** Calls the shell with what a person said last, and when it has its result says so. */
const model: Model = {
  provider: "scripted",
  id: "scripted",
  stream(request, signal) {
    const last = request.messages.findLast(({ role }) => role !== "system")!;
    const said = last.content[0] as { readonly text?: string } | undefined;
    const isAnswered = last.source.kind !== "user";
    const id = `call_${request.messages.length}`;
    const step: ScriptStep = isAnswered
      ? [{ text: "That was it." }]
      : [{ call: { id, name: "shell", arguments: { command: said?.text ?? "" } } }];
    return scripted([step]).stream(request, signal);
  },
};

serveWorker({
  openStore: async () => ({ store: await openOpfsStore(), logs: openRawLogs(await openOpfsStorage()) }),
  tools: [sandboxTool({ ...SANDBOX, mode: "workspace-write", fetch: (input, init) => fetch(input, init) })],
  models: () => model,
});
